"""Checks that settings, and their vocabularies for studies, do what other code relies on."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field
from keyhole.play import study_vocabulary
from keyhole.play.study_vocabulary import StudyVocabulary
from keyhole.testing.policy_checks import Check, run_checks

Values = dict[str, Any]
# The contract's own arguments of kernels, which a value of the same name would hide.
_RESERVED_NAMES: Final = ("p", "e", "s", "t", "rng", "metrics")


@dataclass(frozen=True)
class SettingCase:
    """A setting to check, with sample values.

    Parameters
    ----------
    setting : Setting
        The setting to check.
    facts : mapping of str to value
        The quantities that every policy knows, in some problem.
    context : mapping of str to value
        A context of some round, if the setting has one.
    failing : mapping of str to str
        Checks that are known to fail, by name, each with the reason.
    vocabulary : type of StudyVocabulary, optional
        The vocabulary that studies use.
    decision : mapping of str to value, optional
        A decision that the setting allows. By default the decision of zeros, and the decision with
        the last arm, are used if they are allowed.
    """

    setting: Setting
    facts: Mapping[str, Any]
    context: Mapping[str, Any] = field(default_factory=dict)
    failing: Mapping[str, str] = field(default_factory=dict)
    vocabulary: type[StudyVocabulary] | None = None
    decision: Mapping[str, Any] | None = None

    @property
    def checked_facts(self) -> dict[str, Any]:
        """The facts, as kernels read them."""
        return self.setting.check((), self.facts)

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of array dimensions."""
        return {name: value for name, value in self.checked_facts.items() if isinstance(value, int)}

    def vocabulary_for(self, arms: Sequence[Any]) -> StudyVocabulary:
        """Return the vocabulary with these arms: names for a study, numbers for a learner."""
        assert self.vocabulary is not None
        return self.vocabulary(self.setting, self.checked_facts, arms)

    @property
    def decisions(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The decisions to try, each paired with the context, as plain Python values.

        Raises
        ------
        ValueError
            If the setting allows none of these decisions.
        """
        facts = self.checked_facts
        if self.decision is None:
            decisions = study_vocabulary.example_decisions(self.setting, facts, self.context)
        else:
            decision = _to_plain_values(self.decision)
            allowed = study_vocabulary.guard_allows(self.setting, facts, self.context, decision)
            decisions = [decision] if allowed else []
        if not decisions:
            got = "zeros and the last arm" if self.decision is None else self.decision
            raise ValueError(
                f"decision must be a decision that {self.setting.name} allows, to test its "
                f"vocabulary; got {got}"
            )
        return [(_to_plain_values(self.context), decision) for decision in decisions]

    def __repr__(self) -> str:
        """Return the name of the setting."""
        return self.setting.name


def _to_plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in values.items()}


def names_are_distinct(case: SettingCase) -> None:
    """Check that names of values are distinct, and none is reserved by the contract."""
    setting = case.setting
    groups = (setting.context, setting.decision, setting.feedback, setting.report)
    names = [*_RESERVED_NAMES, *(name for group in groups for name in group)]
    ambiguous_names = sorted({name for name in names if names.count(name) > 1})
    assert not ambiguous_names, f"{setting.name}: {', '.join(ambiguous_names)} means two things"


def facts_are_documented(case: SettingCase) -> None:
    """Check that every fact has a description."""
    for name, fact in case.setting.facts.items():
        assert fact.doc, f"{case.setting.name}: the fact {name} has no doc"


def facts_pass(case: SettingCase) -> None:
    """Check that the facts are those that every policy knows, and have allowed values."""
    case.setting.check((), case.facts)


def guard_refuses_what_is_out_of_range(case: SettingCase) -> None:
    """Check that the guard refuses a negative index, an index beyond all arms, and NaN."""
    setting = case.setting
    sizes = case.sizes
    for name, declaration in setting.decision.items():
        # 2**62 is beyond any array, but still an int64: only the guard can refuse it.
        bad_values = (-1, 2**62) if declaration.dtype == "int64" else (np.nan,)
        for value in bad_values:
            # Only this field is out of range. The others are 0, which is no reason for a refusal.
            decision: dict[str, Any] = {
                n: np.zeros(f.extent(sizes)) if f.shape else 0 for n, f in setting.decision.items()
            }
            decision[name] = decision[name] + value
            is_allowed = study_vocabulary.guard_allows(
                setting, case.checked_facts, case.context, decision
            )
            assert not is_allowed, f"{setting.name}: the guard lets {name} = {value} pass"


def decisions_round_trip(case: SettingCase) -> None:
    """Check that a decision is unchanged after it is formatted, stored as JSON, and parsed."""
    if (vocabulary := _make_vocabulary(case)) is None:
        return
    for context, decision in case.decisions:
        named_values = vocabulary.format_decision(context, decision)
        result = vocabulary.parse_decision(json.loads(json.dumps(named_values, allow_nan=False)))
        _check_parsed(case, "parse_decision", named_values, result, (context, decision))


def words_are_not_reserved(case: SettingCase) -> None:
    """Check that the vocabulary uses no word that studies use themselves."""
    if (vocabulary := _make_vocabulary(case)) is None:
        return
    study_vocabulary.check_reserved_words(study_vocabulary.declared_words(vocabulary))
    for pair in case.decisions:
        study_vocabulary.check_reserved_words(vocabulary.format_decision(*pair))
        if vocabulary.has_feedback:
            feedback = _parse_default_feedback(case, vocabulary, pair)
            study_vocabulary.check_reserved_words(vocabulary.format_feedback(*pair, feedback))


def arm_fields_hold_all_arms(case: SettingCase) -> None:
    """Check that a decision names arms in `arm_fields` only, if arms can be added and retired."""
    if (vocabulary := _make_vocabulary(case)) is None or not vocabulary.find_arm_fields():
        return
    # The arms are put in reverse order, and their numbers are changed in `arm_fields` only. If the
    # formatted decision then differs, another field holds numbers of arms.
    reversed_vocabulary = case.vocabulary_for(vocabulary.arms[::-1])
    last = len(vocabulary.arms) - 1
    for context, decision in case.decisions:
        reversed_decision = dict(decision)
        for name in vocabulary.find_arm_fields():
            reversed_decision[name] = (last - np.asarray(decision[name])).tolist()
        context_words = vocabulary.format_context(context)  # its arms are never renumbered
        named_values, reversed_values = (
            {word: value for word, value in all_words.items() if word not in context_words}
            for all_words in (
                vocabulary.format_decision(context, decision),
                reversed_vocabulary.format_decision(context, reversed_decision),
            )
        )
        fields = ", ".join(vocabulary.find_arm_fields())
        assert reversed_values == named_values, (
            f"{case}: a decision must name arms by {fields} alone (its arm_fields), but says "
            f"{named_values}, or {reversed_values} with the arms in another order"
        )


def feedback_round_trips(case: SettingCase) -> None:
    """Check that feedback has the declared values, and is unchanged when formatted and parsed."""
    if (vocabulary := _make_vocabulary(case)) is None or not vocabulary.has_feedback:
        return
    fields = {**vocabulary.feedback_fields, **vocabulary.note_fields}
    for pair in case.decisions:
        feedback = _parse_default_feedback(case, vocabulary, pair)
        _check_values(case, "parse_feedback", feedback, fields, vocabulary.note_fields)
        named_values = vocabulary.format_feedback(*pair, feedback)
        # The words go through JSON, in which an export of a study stores them.
        result = vocabulary.parse_feedback(
            *pair, **json.loads(json.dumps(named_values, allow_nan=False))
        )
        _check_parsed(case, "parse_feedback", named_values, result, feedback)


def numbered_arms_are_read(case: SettingCase) -> None:
    """Check that contexts and feedback are parsed back in a learner, where arms are numbers."""
    if case.vocabulary is None:
        return
    vocabulary = case.vocabulary_for(range(int(case.checked_facts["arms"])))
    for context, decision in case.decisions:
        context_words = vocabulary.format_context(context)
        result = vocabulary.parse_context(**context_words)
        _check_parsed(case, "parse_context", context_words, result, context)
        if vocabulary.has_feedback:
            feedback = _parse_default_feedback(case, vocabulary, (context, decision))
            named_values = vocabulary.format_feedback(context, decision, feedback)
            result = vocabulary.parse_feedback(context, decision, **named_values)
            _check_parsed(case, "parse_feedback", named_values, result, feedback)


def bad_words_are_refused(case: SettingCase) -> None:
    """Check that unknown words, NaN and unknown arms are refused."""
    if (vocabulary := _make_vocabulary(case)) is None:
        return
    context, decision = case.decisions[0]
    feedback = vocabulary.default_feedback(context, decision) if vocabulary.has_feedback else {}
    number_names = [name for name, value in feedback.items() if type(value) in (int, float)]
    # NaN passes a range check that compares with < alone, and would stay in the log for ever.
    for bad_words in ({"no such word": 1.0}, *({name: math.nan} for name in number_names)):
        _check_refused(case, vocabulary.parse_feedback, context, decision, **(feedback | bad_words))
    named_values = vocabulary.format_decision(context, decision)
    if "arm" in named_values:
        _check_refused(case, vocabulary.parse_decision, named_values | {"arm": "no such arm"})


def rounds_survive_a_snapshot(case: SettingCase) -> None:
    """Check that a round is unchanged after it is written as JSON and restored."""
    vocabulary = _make_vocabulary(case)
    if vocabulary is None or vocabulary.round_class is None:
        return
    policy: Any = None  # a round needs no policy before it ends
    # Only `restore` fills the second round, which thus lacks whatever `to_json` leaves out.
    played_round, restored_round = (vocabulary.round_class(vocabulary, policy) for _ in range(2))
    for context, decision in case.decisions:
        played_round.begin(context, decision)
        if vocabulary.has_feedback:
            feedback = _parse_default_feedback(case, vocabulary, (context, decision))
            played_round.add_feedback(context, decision, feedback)
        text = json.dumps(played_round.to_json(), allow_nan=False)
        restored_round.restore(json.loads(text))
        text_after = json.dumps(restored_round.to_json(), allow_nan=False)
        assert text_after == text, f"{case}: a round of {text} is restored as {text_after}"


def _make_vocabulary(case: SettingCase) -> StudyVocabulary | None:
    """Return the vocabulary of a study with arms called ``arm 0``, ``arm 1``, ..."""
    if case.vocabulary is None:
        return None
    return case.vocabulary_for([f"arm {arm}" for arm in range(int(case.checked_facts["arms"]))])


def _check_parsed(
    case: SettingCase, method: str, words: object, result: object, expected: object
) -> None:
    """Check that words are parsed as the values from which they were formatted."""
    assert result == expected, f"{case}: {method} reads {words} as {result}, not as {expected}"


def _parse_default_feedback(
    case: SettingCase, vocabulary: StudyVocabulary, pair: tuple[Values, Values]
) -> Values:
    """Return the default feedback to a decision, parsed to values."""
    named_values = vocabulary.default_feedback(*pair)
    try:
        return vocabulary.parse_feedback(*pair, **named_values)
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"{case}: default_feedback returns {named_values} for a decision without an outcome, "
            f"but parse_feedback refuses it: {error}"
        ) from error


def _check_refused(case: SettingCase, parse: Callable[..., Any], *args: Any, **words: Any) -> None:
    """Check that `parse` refuses `words`; if there are none, the last of `args`."""
    try:
        parse(*args, **words)
    except (TypeError, ValueError):
        return
    parsed_words = words or args[-1]
    raise AssertionError(f"{case}: {parse.__name__} takes {parsed_words}, which must be refused")


def _check_values(
    case: SettingCase,
    method: str,
    values: Values,
    fields: Mapping[str, Field],
    optional: Mapping[str, Field],
) -> None:
    """Refuse values that do not fit their declaration."""
    missing = [name for name in fields if name not in values and name not in optional]
    assert not missing, f"{case}: {method} returns no {', '.join(missing)}"
    for name, value in values.items():
        assert name in fields, f"{case}: {method} returns {name}, which is no field of feedback"
        shape = np.shape(value)
        extent = fields[name].extent(case.sizes)
        assert shape == extent, f"{case}: {method} returns {name} of shape {shape}, not {extent}"
        dtype = np.asarray(value).dtype
        assert np.can_cast(dtype, fields[name].dtype, "same_kind"), (
            f"{case}: {method} returns {name} as {dtype}, not {fields[name].dtype}"
        )


SETTING_CHECKS: Final[tuple[Check, ...]] = (
    names_are_distinct,
    facts_are_documented,
    facts_pass,
    guard_refuses_what_is_out_of_range,
    decisions_round_trip,
    words_are_not_reserved,
    arm_fields_hold_all_arms,
    feedback_round_trips,
    numbered_arms_are_read,
    bad_words_are_refused,
    rounds_survive_a_snapshot,
)
"""All checks of a setting; each takes a `SettingCase`."""


def check_setting(
    setting: Setting,
    facts: Mapping[str, Any],
    *,
    context: Mapping[str, Any] | None = None,
    decision: Mapping[str, Any] | None = None,
    vocabulary: type[StudyVocabulary] | None = None,
    failing: Mapping[str, str] | None = None,
) -> None:
    """Check that a setting keeps the contract.

    `facts`, `context` and `decision` come from some problem and round; studies use `vocabulary`:
    see `SettingCase`.

    Examples
    --------
    >>> from keyhole.thresholding.setting import SETTING
    >>> from keyhole.thresholding.learner import StudyVocabulary
    >>> check_setting(SETTING, {"arms": 3, "threshold": 0.5}, vocabulary=StudyVocabulary)
    """
    case = SettingCase(setting, facts, context or {}, failing or {}, vocabulary, decision)
    run_checks(SETTING_CHECKS, case, case.failing)
