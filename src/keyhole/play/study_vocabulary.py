"""The vocabulary of a setting: the words in which users ask for decisions and tell feedback."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, Final

import numpy as np

from keyhole.contract.arm_names import ArmNames
from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.pending_mode_inference import reason_against_off_policy_decisions
from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field
from keyhole.kernels.fingerprint import python_function
from keyhole.validation import Range, check_choice, check_integer, check_sequence, short_repr

FactReader = Callable[[str, Any, Path], Any]
Values = dict[str, Any]  # as kernels read them
Words = dict[str, Any]  # as users write and read them

RESERVED_WORDS: Final = frozenset(
    ["at", "decision", "event", "exclude", "excluded", "head", "id", "key", "metadata", "policy",
     "round", "seq", "stream", "until", "words"]
)  # fmt: skip
"""The words that name columns of the log or attributes of decisions; no setting may use them."""


class StudyVocabulary:
    """The conversion between the values of a setting and the words of `Study.ask` and `Study.tell`.

    A setting names its own class as `vocabulary_class` in the base class of its policies. *Values*
    are read by kernels, under the names of the setting. *Words* are written and read by users:
    names of arms instead of their numbers, and rewards in the units of the study. In this class a
    decision is an ``arm`` and its feedback a ``reward``; a setting with other words overrides the
    methods.

    Words are checked when they are parsed: a TypeError or ValueError names the word, the value and
    what is allowed. The keywords of `parse_context` become keywords of `Study.ask`. The parameters
    of `parse_feedback` after `decision` become parameters of `Study.tell`.

    Parameters
    ----------
    setting : Setting
        The setting.
    facts : mapping of str to value
        The known quantities of the study, as kernels read them.
    arms : sequence of str
        The names of all present and former arms, in the order of their numbers. In a learner, they
        are the numbers themselves, ``range(...)``, or names of any hashable type.
    scale : Scale
        The range of rewards, in the units in which they are told.

    Attributes
    ----------
    fact_readers : mapping of str to callable
        Functions that make a known quantity, such as a cost function, from its entry in the file of
        ``keyhole study create``. Each is called with the name of the entry, its value, and the
        folder of the file.
    arm_fields : tuple of str or None
        The fields of a decision that hold one or several arm numbers, which are renumbered when
        arms are added or retired. None, the default, means ``arm`` if no other field of a decision
        holds integers. Without such a field, arms can neither be added nor retired. Contexts are
        never renumbered, so a setting whose contexts hold arms declares ``()``.
    round_class : type of StudyRound or None
        The class that collects the feedback of a round (`Setting.by_round`); None if feedback
        belongs to its decision.

    Examples
    --------
    >>> from keyhole.stochastic import UCB1
    >>> vocabulary = StudyVocabulary(UCB1.setting, {"arms": 2}, ["red", "blue"])
    >>> vocabulary.format_decision({}, {"arm": 1})
    {'arm': 'blue'}
    >>> vocabulary.parse_feedback({}, {"arm": 1}, True)
    {'reward': 1.0}
    """

    fact_readers: ClassVar[Mapping[str, FactReader]] = MappingProxyType({})
    arm_fields: ClassVar[tuple[str, ...] | None] = None
    round_class: ClassVar["type[StudyRound] | None"] = None

    def __init__(
        self, setting: Setting, facts: Mapping[str, Any], arms: Sequence[Any], scale: Scale = UNIT
    ) -> None:
        if setting.by_round != (self.round_class is not None):
            requirement = "name a round_class" if setting.by_round else "have no round_class"
            raise TypeError(
                f"{type(self).__qualname__} must {requirement}, since the setting "
                f"{setting.name!r} has by_round={setting.by_round}"
            )
        for name in self.arm_fields or ():
            field_name = f"a field of {type(self).__qualname__}.arm_fields"
            check_choice(field_name, name, _integer_fields(setting))
        self.setting = setting
        self.facts = facts
        self.arms = arms
        self.scale = scale
        self._numbers: dict[str, int] = {}

    def check_study(self) -> None:
        """Refuse known quantities or units that are not possible in a study."""

    def find_arm_fields(self) -> tuple[str, ...]:
        """Return the fields of a decision that hold arms; none if they are not known."""
        if self.arm_fields is not None:
            return self.arm_fields
        return ("arm",) if _integer_fields(self.setting) == ["arm"] else ()

    def arm_number(self, name: str, arm: Any) -> int:
        """Return the number of an arm, given by its name; errors begin with `name`.

        If the arms have no names, they are given by their numbers.
        """
        if isinstance(self.arms, range):
            return check_integer(name, arm, Range(ge=0, lt=len(self.arms)))
        if isinstance(self.arms, ArmNames):
            return self.arms.find_number(name, arm)
        numbers = self._numbers
        # Arms are only ever appended, so the dict is extended and not built anew at each call.
        if len(numbers) < len(self.arms):
            new_numbers = range(len(numbers), len(self.arms))
            numbers.update({self.arms[number]: number for number in new_numbers})
        if not isinstance(arm, str) or arm not in numbers:
            check_choice(name, arm, self.arms)
        return numbers[arm]

    # Decisions.

    def parse_context(self) -> Values:
        """Return the context given to `Study.ask`, as values; by default there is none."""
        return {}

    def format_context(self, context: Values) -> Words:
        """Return a context in words, from which `parse_context` makes the same context."""
        return {}

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return context and decision in words; by default the name of the arm."""
        return self.format_context(context) | {"arm": self.arms[decision["arm"]]}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return context and decision as values: the inverse of `format_decision`."""
        context_words = {name: words[name] for name in signature(self.parse_context).parameters}
        return self.parse_context(**context_words), {"arm": self.arm_number("arm", words["arm"])}

    # Feedback of a decision.

    @property
    def feedback_fields(self) -> Mapping[str, Field]:
        """The values of one decision's feedback; by default the setting's feedback."""
        return self.setting.feedback

    @property
    def note_fields(self) -> Mapping[str, Field]:
        """Further values that are logged but not learnt; by default there are none.

        If `parse_feedback` does not return such a value, 0 is logged.
        """
        return {}

    @property
    def has_feedback(self) -> bool:
        """Whether each decision has feedback of its own, for which it is pending; by default yes.

        If feedback is anonymous, no decision is ever pending.
        """
        return True

    def parse_feedback(self, context: Values, decision: Values, reward: float) -> Values:
        """Return the feedback given to `Study.tell`, as values; by default a reward."""
        # The usual rewards are tested first, since every tell comes here.
        if self.scale == UNIT and type(reward) in (bool, int, float) and 0 <= reward <= 1:
            return {"reward": float(reward)}
        return {"reward": self.scale.check_reward("reward", reward)}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return feedback in words, from which `parse_feedback` makes the same feedback."""
        return {"reward": self.scale.from_unit(feedback["reward"])}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return the feedback of an expired decision in words; by default the least reward."""
        return {"reward": self.scale.low}

    # Anonymous feedback.

    @property
    def sum_fields(self) -> Mapping[str, Field]:
        """The values of anonymous sums of feedback; by default there are none."""
        return {}

    def parse_sum(self, *unnamed: Any, **words: Any) -> Values:
        """Return the sum given to `Study.tell_sum`, as values."""
        raise NotImplementedError

    def format_sum(self, values: Values) -> Words:
        """Return a sum in words, from which `parse_sum` makes the same sum."""
        raise NotImplementedError

    # Recommendations.

    @classmethod
    def has_recommendation(cls) -> bool:
        """Return whether there are words for a policy's recommendation."""
        return cls.format_report is not StudyVocabulary.format_report

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> Any:
        """Return the policy's recommendation in words.

        Parameters
        ----------
        report : mapping of str to array
            The values that the kernel `recommend` wrote.
        live : sequence of int
            The numbers of the arms in use; index i in `report` is the arm ``live[i]``.
        """
        raise TypeError(f"policies of {self.setting.name!r} recommend nothing")

    def describe_recommendation(self, recommendation: Any) -> str:
        """Return as a text the recommendation that `format_report` returned."""
        return recommendation if isinstance(recommendation, str) else short_repr(recommendation)


def _integer_fields(setting: Setting) -> list[str]:
    """Return the fields of a decision that hold integers."""
    return [name for name, field in setting.decision.items() if field.dtype == "int64"]


@dataclass(frozen=True)
class RoundFeedback:
    """The feedback of one round, as values for the kernel `update`.

    Attributes
    ----------
    context, decision, feedback : dict
        Values by name. A sequence that is shorter than its array fills the first entries.
    facts : dict
        Known quantities that change: the lengths of arrays that have to grow.
    """

    context: Values
    decision: Values
    feedback: Values
    facts: Values = field(default_factory=dict)


class StudyRound:
    """The current round of a study whose feedback belongs to the round in which it arrives.

    It is the `round_class` of a vocabulary. The study calls `begin` with each decision, then adds
    feedback until the next decision; `end` returns the feedback that the policy learns. Snapshots
    hold the content (`to_json`), which must depend on these calls alone.

    Parameters
    ----------
    vocabulary : StudyVocabulary
        The words of the study.
    policy : Policy
        The policy that learns.
    """

    def __init__(self, vocabulary: StudyVocabulary, policy: Policy) -> None:
        self.vocabulary = vocabulary
        self.policy = policy

    def begin(self, context: Values, decision: Values) -> None:
        """Begin the round of a decision."""
        raise NotImplementedError

    def add_feedback(self, context: Values, decision: Values, feedback: Values) -> None:
        """Add the feedback of a decision, which may be of this round or of an earlier round."""
        raise NotImplementedError

    def check_sum(self, values: Values, rounds: int) -> None:
        """Refuse an anonymous sum that is impossible when this number of rounds has begun."""

    def add_sum(self, values: Values) -> None:
        """Add an anonymous sum, if the vocabulary has `sum_fields`."""
        raise NotImplementedError

    def end(
        self, facts: Mapping[str, Any], state: Mapping[str, Any], feedback_count: int
    ) -> RoundFeedback | None:
        """End the round; return its feedback, or None if no round had begun.

        Parameters
        ----------
        facts : mapping of str to value
            The known quantities, with the present lengths of arrays.
        state : mapping of str to array
            The state of the policy.
        feedback_count : int
            The number of decisions whose feedback has been told, including this round's.
        """
        raise NotImplementedError

    def longest_arrays(self, feedback_count: int) -> dict[str, int]:
        """Return the greatest lengths that growing arrays can have now, by the names of facts.

        By default no array grows. `feedback_count` is as in `end`. A snapshot with longer arrays is
        discarded.
        """
        return {}

    def to_json(self) -> Any:
        """Return the content of the round as JSON values."""
        raise NotImplementedError

    def restore(self, content: Any) -> None:
        """Restore the content that `to_json` returned."""
        raise NotImplementedError


def list_excluded_arms(exclude: object) -> Sequence[Any]:
    """Return the arms of the argument `exclude`, a sequence, a set or None, as a sequence."""
    if exclude is None:
        return []
    return list(exclude) if isinstance(exclude, Set) else check_sequence("exclude", exclude)


def check_exclusion(policy: Policy, vocabulary: StudyVocabulary) -> None:
    """Refuse to leave arms out of a decision if the policy or its setting does not support it."""
    setting = policy.setting
    fields = (*setting.context.values(), *setting.decision.values())
    fields += tuple(policy.input_fields().values())
    if any("arms" in field.shape for field in fields):
        raise TypeError(
            f"exclude must be empty: what {policy} sees, decides or knows in advance, is about all "
            "arms"
        )
    if not vocabulary.find_arm_fields():
        raise TypeError(
            f"exclude must be empty in the setting {setting.name!r}: {type(vocabulary).__name__} "
            "must name the fields that hold arms, as `arm_fields`"
        )
    if reason := reason_against_off_policy_decisions(type(policy)):  # type: ignore[arg-type]
        raise TypeError(f"exclude must be empty: {policy} relies on its own decisions: {reason}")


def check_reserved_words(words: Iterable[str]) -> None:
    """Refuse a vocabulary with reserved words."""
    if not RESERVED_WORDS.isdisjoint(words):
        reserved = sorted(RESERVED_WORDS.intersection(words))
        raise ValueError(
            f"a vocabulary must not use the word {reserved[0]!r}: studies reserve "
            f"{', '.join(sorted(RESERVED_WORDS))} for events and decisions"
        )


def declared_words(vocabulary: StudyVocabulary) -> list[str]:
    """Return the words that a vocabulary declares: the parameters of its parsing methods."""
    names = _parameter_names(vocabulary.parse_context)
    names += _parameter_names(vocabulary.parse_feedback)[2:]  # after context and decision
    return names + _parameter_names(vocabulary.parse_sum)


def _parameter_names(method: Callable[..., Any]) -> list[str]:
    variadic_kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)  # *args and **kwargs
    parameters = signature(method).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind not in variadic_kinds]


def guard_allows(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any], decision: Values
) -> bool:
    """Return whether the guard of a setting allows a decision."""
    arguments = {"p": SimpleNamespace(**facts), **context}
    arguments |= {n: np.asarray(v) if np.ndim(v) else v for n, v in decision.items()}
    names = kernel_argument_names(setting.allowed)
    return bool(python_function(setting.allowed)(*(arguments[name] for name in names)))


def example_decisions(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> list[Values]:
    """Return up to two decisions that the setting allows: all zeros, and zeros with the last arm.

    Parameters
    ----------
    setting : Setting
        The setting.
    facts : mapping of str to value
        The quantities that every policy knows, as kernels read them.
    context : mapping of str to value, optional
        The context of the round, if the setting has one.
    """
    sizes = {name: value for name, value in facts.items() if isinstance(value, int)}
    zeros: Values = {
        name: np.zeros(declared.extent(sizes), declared.dtype).tolist()
        for name, declared in setting.decision.items()
    }
    last_arm_decision = dict(zeros)
    if "arm" in zeros:
        last_arm_decision["arm"] = facts["arms"] - 1
    decisions = [zeros] if last_arm_decision == zeros else [zeros, last_arm_decision]
    return [
        decision for decision in decisions if guard_allows(setting, facts, context or {}, decision)
    ]
