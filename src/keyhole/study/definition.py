"""The definition of a study: its policy, its arms, and its rules."""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Self, cast

import numpy as np

from keyhole import validation
from keyhole.contract.learner_arguments import resolve_facts
from keyhole.contract.pending_mode_inference import PENDING_MODES, check_mode_allowed
from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.former_names import find_new_name
from keyhole.play import study_vocabulary
from keyhole.play.saved_learner import find_policy
from keyhole.play.study_vocabulary import StudyVocabulary, Values, check_reserved_words
from keyhole.study.errors import StudyExistsError
from keyhole.study.events import EventError, SettingCodeError, convert_vocabulary_errors

# This number rises with every change of meaning, so that older versions refuse new definitions.
_FORMAT: Final = 2
_version: Final = cache(version)  # cached, since `version` reads a file
# At most 272 years, so that the time of expiry is a valid date.
_TIMEOUT_RANGE: Final = validation.Range(gt=0, le=2**33)
_NO_REWARD: Final = "no_reward"
_CONSEQUENCES: Final = ("forget", "ask_again", _NO_REWARD)

Policies = Iterable[type[Policy]]
"""Classes in which a policy is looked up by its name, before Keyhole's classes."""
JsonObject = dict[str, Any]
"""An object that was parsed from JSON."""


@dataclass(frozen=True)
class TimeoutRule:
    """The rule that says when a pending decision expires, and what happens then.

    Attributes
    ----------
    timeout : float or None
        Seconds after which a decision expires.
    timeout_decisions : int or None
        Number of later decisions after which a decision expires.
    on_timeout : {"forget", "ask_again", "no_reward"}
        "forget": the policy learns nothing from the decision unless feedback comes late; its round
        stays counted. "ask_again": the decision is handed out once more. "no_reward": the decision
        has a reward of 0; late feedback is recorded and not learnt.
    """

    timeout: float | None = None
    timeout_decisions: int | None = None
    on_timeout: str = "forget"

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.timeout is not None:
            validation.check_number("timeout", self.timeout, _TIMEOUT_RANGE)
        if self.timeout_decisions is not None:
            validation.check_integer(
                "timeout_decisions", self.timeout_decisions, validation.Range(ge=1)
            )
        validation.check_choice("on_timeout", self.on_timeout, _CONSEQUENCES)

    @property
    def assumes_no_reward(self) -> bool:
        """Whether a decision that expires counts as a decision with a reward of 0."""
        return self.on_timeout == _NO_REWARD

    def is_overdue(self, seconds_waited: float, later_decisions: int) -> bool:
        """Return whether a decision is past its timeout, in seconds or in later decisions."""
        if self.timeout is not None and seconds_waited > self.timeout:
            return True
        return self.timeout_decisions is not None and later_decisions >= self.timeout_decisions


@dataclass(frozen=True)
class Definition:
    """The policy, arms and rules of a study.

    Attributes
    ----------
    policy : Policy
        The policy.
    facts : dict
        The known quantities, as kernels read them.
    arms : tuple of str
        The names of the first arms.
    pending : {"impute", "ignore", "wait"}
        What the policy does while decisions are pending.
    rule : TimeoutRule
        The rule for decisions without feedback.
    seed : int
        The seed of the policy's random numbers.
    time_unit : float
        The length of a second in the unit of the limits. With 0 the policy knows no ages of pending
        decisions.
    scale : Scale
        The range of rewards, in the units in which they are told.
    """

    policy: Policy
    facts: Values
    arms: tuple[str, ...]
    pending: str
    rule: TimeoutRule = field(default_factory=TimeoutRule)
    seed: int = validation.DEFAULT_SEED
    time_unit: float = 0.0
    scale: Scale = UNIT

    @classmethod
    def create(
        cls, policy: Policy, arms: Iterable[str], facts: Mapping[str, object], **options: Any
    ) -> Self:
        """Return the definition of a new study.

        `facts` are the arguments of `Policy.learner` without the number of arms; `options` may have
        `pending`, `rule`, `seed` and `time_unit`.
        """
        _check_policy(policy)
        if policy.vocabulary_class is None:
            raise TypeError(
                f"studies need a vocabulary for the setting {policy.setting.name!r}: in the base "
                "class of its policies, set vocabulary_class to a keyhole.policy.StudyVocabulary"
            )
        names = _check_arm_names(arms)
        all_facts = {**facts, "arms": len(names)}
        caller = f"a study of {policy}"
        user_facts, scale = resolve_facts(policy.setting, type(policy), all_facts, caller=caller)
        checked_facts = policy.check_facts(policy.setting.to_unit(user_facts, scale))
        if caution := policy.caution(checked_facts, None):  # no problem is known
            warnings.warn(caution, stacklevel=3)
        chosen_mode = options.pop("pending", None)
        pending = resolve_mode(policy, chosen_mode)
        if chosen_mode is None and pending == "wait" and (reason := policy.explain_waiting()):
            warnings.warn(reason, stacklevel=3)
        definition = cls(policy, checked_facts, names, pending, scale=scale, **options)
        vocabulary = definition.vocabulary(names)
        vocabulary.check_study()
        _check_reserved_words(vocabulary)
        return definition

    def __post_init__(self) -> None:
        """Check the fields, and that they fit together."""
        if len(_check_arm_names(self.arms)) != self.facts["arms"]:
            raise ValueError(f"arms must be {self.facts['arms']} names, got {len(self.arms)}")
        resolve_mode(self.policy, self.pending)  # refuses a mode that is not allowed
        validation.check_seed(self.seed)
        validation.check_number("time_unit", self.time_unit, validation.Range(ge=0))

    def with_policy(self, policy: Policy, facts: Mapping[str, object]) -> Self:
        """Return the definition with another policy and the facts that it needs in addition.

        If the pending mode is the default of the present policy, it becomes the default of the new
        policy. Otherwise it stays.
        """
        fact_names = [name for name in self.policy.setting.facts if name != "arms"]
        for name in facts:
            validation.check_choice("a fact", name, fact_names)
        self._check_new_policy(policy)
        unit_facts = policy.setting.to_unit(facts, self.scale)
        self._check_new_facts(unit_facts)
        new_facts = policy.check_facts({**self.facts, **unit_facts})
        mode = None if self.pending == resolve_mode(self.policy, None) else self.pending
        return replace(self, policy=policy, facts=new_facts, pending=resolve_mode(policy, mode))

    def _check_new_policy(self, policy: Policy) -> None:
        """Refuse a policy of another setting."""
        _check_policy(policy)
        if policy.setting.name != self.policy.setting.name:
            raise ValueError(
                f"policy must be of the setting {self.policy.setting.name!r}, got {policy!r}"
            )

    def _check_new_facts(self, facts: Mapping[str, Any]) -> None:
        """Refuse facts, in the units of policies, that differ from the present facts."""
        for name, value in facts.items():
            present_value = self.facts.get(name)
            # The log was written with the present facts; with others its decisions may be invalid.
            if present_value is not None and not np.array_equal(present_value, value):
                if unit := self.policy.setting.facts[name].unit:
                    present_value = self.scale.from_unit(present_value, unit)
                    with suppress(TypeError):  # None, for example, was not converted
                        value = self.scale.from_unit(value, unit)
                raise ValueError(
                    f"{name} must be {present_value} as before, got {validation.short_repr(value)}"
                )

    def check_successor(self, successor: "Definition") -> None:
        """Refuse a definition that differs in anything that `with_policy` leaves as it is."""
        self._check_new_policy(successor.policy)
        self._check_new_facts(successor.facts)
        reverted = replace(successor, policy=self.policy, pending=self.pending, facts=self.facts)
        if reverted != self:
            raise ValueError("a change of policy must leave arms, rule, seed and units as they are")

    def read_change(self, data: bytes, policies: Policies, seq: int) -> Self:
        """Return the definition in the body of event `seq`, a change of policy.

        A definition that `check_successor` refuses is an `EventError`.
        """
        definition = self.from_bytes(data, policies)
        try:
            self.check_successor(definition)
        except ValueError as error:
            raise EventError(seq, str(error)) from error
        return definition

    def refuse_different_study(self, field: str, name: str, data: bytes) -> None:
        """Refuse the existing study `name` if its definition, `data`, differs from this one."""
        existing = _parse_json(data)
        # The classes of the policy and its base may have other names now than in the study.
        saved_names = str(existing.get("module")), str(existing.get("policy"))
        existing["module"], existing["policy"] = find_new_name(*saved_names)
        content = _parse_json(self.to_bytes())
        if existing["policy"] == content["policy"]:
            with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # they differ
                policy = type(self.policy).from_parameters(existing["parameters"])
                existing["parameters"] = policy.parameters()
        content["keyhole"] = existing.get("keyhole")  # the version that wrote it
        shorten = validation.short_repr
        differences = [
            f"{entry} is {shorten(existing.get(entry))}, not {shorten(value)}"
            for entry, value in content.items()
            if existing.get(entry) != value
        ]
        if differences:
            raise StudyExistsError(
                f"{field} must be new, or that of a study with the same arguments, got "
                f"{shorten(name)}: in that study {'; '.join(differences)}"
            )

    def check_arms_change(self) -> None:
        """Refuse a change of arms if the policy or the setting does not support it."""
        setting = self.policy.setting
        fields = (*setting.context.values(), *setting.decision.values())
        has_fixed_arms = any("arms" in field.shape for field in fields) or setting.by_round
        if has_fixed_arms or not self.policy.arms_change:
            raise TypeError(f"{self.policy} does not support adding or retiring arms")
        if not (vocabulary := self.vocabulary(self.arms)).find_arm_fields():
            raise TypeError(
                f"arms cannot be added or retired in the setting {setting.name!r}: "
                f"{type(vocabulary).__name__} must name the fields that hold arms, as `arm_fields`"
            )

    def vocabulary(self, arms: Sequence[str]) -> StudyVocabulary:
        """Return the study's vocabulary, for arms of these names."""
        vocabulary_class = cast(type[StudyVocabulary], self.policy.vocabulary_class)
        return vocabulary_class(self.policy.setting, self.facts, arms, self.scale)

    def setting_as_json(self) -> JsonObject:
        """Return the setting's name, version and fields, which say what the log's bytes mean."""
        setting = self.policy.setting
        vocabulary = self.vocabulary(self.arms)
        groups = {
            "context": setting.context,
            "decision": setting.decision,
            "feedback": vocabulary.feedback_fields,
            "notes": vocabulary.note_fields,
        }
        fields = {
            group: [[name, field.dtype, list(field.shape)] for name, field in group_fields.items()]
            for group, group_fields in groups.items()
        }
        return {"name": setting.name, "version": setting.version, "fields": fields}

    def _check_setting(self, written: JsonObject, ordered: bool) -> None:
        """Refuse a log of another setting or version, or with other fields than the setting has."""
        setting = self.setting_as_json()
        title = f"the setting {setting['name']!r}"
        for name in ("name", "version"):
            if written[name] != setting[name]:
                raise ValueError(
                    f"the study is of the setting {validation.short_repr(written['name'])}, "
                    f"version {validation.short_repr(written['version'])}, "
                    f"but this is {title}, version {setting['version']}: "
                    "use the package that wrote it"
                )
        # An export names each value, so the order of its fields does not matter.
        arrange = list if ordered else sorted
        for group, fields in setting["fields"].items():
            written_fields = written["fields"][group]
            if arrange(fields) != arrange(written_fields):
                raise ValueError(
                    f"{group} must have the fields {_format_fields(fields)} of {title}, got "
                    f"{_format_fields(written_fields)} in the log: export it with the package that "
                    "wrote it"
                )

    def to_bytes(self) -> bytes:
        """Return the definition as JSON."""
        policy_class = type(self.policy)
        arrays = {name: v for name, v in self.facts.items() if isinstance(v, np.ndarray)}
        content = {
            "format": _FORMAT,
            "keyhole": _version("keyhole"),
            "policy": policy_class.__name__,
            "module": policy_class.__module__,
            "setting": self.setting_as_json(),
            "parameters": self.policy.parameters(),
            "facts": {**self.facts, **{name: array.tolist() for name, array in arrays.items()}},
            "arms": list(self.arms),
            "pending": self.pending,
            "rule": asdict(self.rule),
            "seed": self.seed,
            "time_unit": self.time_unit,
            "scale": list(self.scale),
        }
        return json.dumps(content, allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, policies: Policies = (), *, ordered: bool = True) -> Self:
        """Return the definition that `to_bytes` wrote; find the policy's class by `find_policy`.

        With `ordered`, the fields must have the order that they have in the setting today. Rows
        that are stored as bytes need this.
        """
        content = _parse_json(data)
        if content["format"] != _FORMAT:
            raise ValueError(
                f"the study was made by keyhole {content.get('keyhole')}, in a format that keyhole "
                f"{_version('keyhole')} does not know"
            )
        try:
            policy_class = find_policy(content["policy"], content["module"], policies)
            policy = policy_class.from_parameters(content["parameters"])
            definition = cls(
                policy,
                policy.check_facts(content["facts"]),
                tuple(content["arms"]),
                content["pending"],
                TimeoutRule(**content["rule"]),
                content["seed"],
                content["time_unit"],
                Scale.of(content["scale"]),
            )
            definition._check_setting(content["setting"], ordered)
            return definition
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"the definition of the study is damaged: {error!r}") from error


def _parse_json(data: bytes) -> JsonObject:
    try:
        content: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the definition of the study is not JSON: {error}") from error
    if isinstance(content, dict) and "format" in content:
        return content
    raise ValueError("the definition of the study is damaged: it does not say its format")


def _format_fields(fields: Iterable[tuple[str, str, Sequence[object]]]) -> str:
    texts = (f"{name} ({' by '.join(map(str, [dtype, *shape]))})" for name, dtype, shape in fields)
    return ", ".join(texts) or "none"


def _check_reserved_words(vocabulary: StudyVocabulary) -> None:
    """Refuse a vocabulary with reserved words.

    In a setting without context, the words of example decisions are checked too. With a context
    there are no examples, since the contexts of decisions are not known here.
    """
    check_reserved_words(study_vocabulary.declared_words(vocabulary))
    if vocabulary.setting.context:
        return
    for decision in study_vocabulary.example_decisions(vocabulary.setting, vocabulary.facts):
        # An error in the vocabulary's code is left to `ask`, which names the decision.
        with suppress(SettingCodeError), convert_vocabulary_errors(vocabulary):
            check_reserved_words(vocabulary.format_decision({}, decision))


def resolve_mode(policy: Policy, pending: str | None) -> str:
    """Return the chosen pending mode, or the policy's default if it is None; refuse other modes."""
    # In settings by round the policy's own state takes account of pending decisions.
    modes = ("ignore",) if policy.setting.by_round else policy.pending
    if pending is None:
        return modes[0]
    validation.check_choice("pending", pending, PENDING_MODES)
    check_mode_allowed(policy, pending, modes)
    return pending


def _check_policy(policy: object) -> None:
    if not isinstance(policy, Policy):
        raise TypeError(
            f"policy must be a policy such as LSA(), got {validation.short_repr(policy)}"
        )
    if type(policy).abstract:
        name = type(policy).__name__
        raise TypeError(f"policy must be one that decides, got {name}(), a base class of others")


def _check_arm_names(arms: Iterable[str]) -> tuple[str, ...]:
    names = validation.check_sequence("arms", arms)
    lines = [validation.check_line(f"arms[{i}]", name) for i, name in enumerate(names)]
    return validation.check_distinct("arms", lines)
