"""Checks of a setting's vocabulary: its words for decisions and feedback in studies."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.state_arrays import Field
from keyhole.play.study_vocabulary import StudyVocabulary, check_words, declared_words
from keyhole.testing.setting_case import SettingCase

Values = dict[str, Any]


def decisions_round_trip(case: SettingCase) -> None:
    """Check that a decision in words can be stored as JSON, and is the same when parsed."""
    if (words := _words(case)) is None:
        return
    for context, decision in case.decisions:
        said = words.format_decision(context, decision)
        read = words.parse_decision(json.loads(json.dumps(said, allow_nan=False)))
        assert read == (context, decision), (
            f"{case}: parse_decision reads {said} as {read}, not as {(context, decision)}"
        )


def words_are_not_reserved(case: SettingCase) -> None:
    """Check that the vocabulary uses no reserved word."""
    if (words := _words(case)) is None:
        return
    check_words(declared_words(words))
    for taken in case.decisions:
        check_words(words.format_decision(*taken))
        if words.has_feedback:
            heard = _parse_default(case, words, taken)
            check_words(words.format_feedback(*taken, heard))


def arm_fields_hold_all_arms(case: SettingCase) -> None:
    """Check that a decision names arms in `arm_fields` only, if arms can be added and retired."""
    if (words := _words(case)) is None or not words.find_arm_fields():
        return
    # The same decision with the arms in reverse order, their numbers changed in `arm_fields` alone:
    # if the words differ, another field holds numbers of arms.
    backward = case.vocabulary_for(words.arms[::-1])
    last = len(words.arms) - 1
    for context, decision in case.decisions:
        other = dict(decision)
        for name in words.find_arm_fields():
            other[name] = (last - np.asarray(decision[name])).tolist()
        asked = words.format_context(context)  # may name arms: contexts are never renumbered
        said, again = (
            {word: value for word, value in found.items() if word not in asked}
            for found in (
                words.format_decision(context, decision),
                backward.format_decision(context, other),
            )
        )
        assert again == said, (
            f"{case}: a decision must name arms by {', '.join(words.find_arm_fields())} alone (its "
            f"arm_fields), and says {said}, or {again} with the arms in another order"
        )


def feedback_round_trips(case: SettingCase) -> None:
    """Check that feedback has the declared values, and is the same when formatted and parsed."""
    if (words := _words(case)) is None or not words.has_feedback:
        return
    fields = {**words.feedback_fields, **words.note_fields}
    for taken in case.decisions:
        heard = _parse_default(case, words, taken)
        _check_values(case, "parse_feedback", heard, fields, words.note_fields)
        said = words.format_feedback(*taken, heard)
        # Through JSON, as an export of a study stores it.
        read = words.parse_feedback(*taken, **json.loads(json.dumps(said, allow_nan=False)))
        assert read == heard, f"{case}: parse_feedback reads {said} as {read}, not as {heard}"


def numbered_arms_are_read(case: SettingCase) -> None:
    """Check that contexts and feedback are parsed in learners too, where arms are numbers."""
    if case.vocabulary is None:
        return
    words = case.vocabulary_for(range(int(case.checked_facts["arms"])))
    for context, decision in case.decisions:
        given = words.format_context(context)
        read = words.parse_context(**given)
        assert read == context, f"{case}: parse_context reads {given} as {read}, not as {context}"
        if words.has_feedback:
            heard = _parse_default(case, words, (context, decision))
            said = words.format_feedback(context, decision, heard)
            read = words.parse_feedback(context, decision, **said)
            assert read == heard, f"{case}: parse_feedback reads {said} as {read}, not as {heard}"


def bad_words_are_refused(case: SettingCase) -> None:
    """Check that unknown words, NaN and unknown arms are refused."""
    if (words := _words(case)) is None:
        return
    context, decision = case.decisions[0]
    told = words.default_feedback(context, decision) if words.has_feedback else {}
    numbers = [name for name, value in told.items() if type(value) in (int, float)]
    # NaN passes a range check that compares with < alone, and would stay in the log for ever.
    for other in ({"no such word": 1.0}, *({name: math.nan} for name in numbers)):
        _check_refused(case, words.parse_feedback, context, decision, **(told | other))
    said = words.format_decision(context, decision)
    if "arm" in said:
        _check_refused(case, words.parse_decision, said | {"arm": "no such arm"})


def rounds_survive_a_snapshot(case: SettingCase) -> None:
    """Check that a round that is written as JSON and restored is the same."""
    words = _words(case)
    if words is None or words.round_class is None:
        return
    policy: Any = None  # none is needed before the round ends
    # The second is only ever restored: it lacks whatever `to_json` leaves out.
    first, second = (words.round_class(words, policy) for _ in range(2))
    for context, decision in case.decisions:
        first.begin(context, decision)
        if words.has_feedback:
            told = words.default_feedback(context, decision)
            heard = words.parse_feedback(context, decision, **told)
            first.add_feedback(context, decision, heard)
        kept = json.dumps(first.to_json(), allow_nan=False)
        second.restore(json.loads(kept))
        again = json.dumps(second.to_json(), allow_nan=False)
        assert again == kept, f"{case}: a round of {kept} is restored as {again}"


VOCABULARY_CHECKS: Final[tuple[Callable[[Any], None], ...]] = (
    decisions_round_trip,
    words_are_not_reserved,
    arm_fields_hold_all_arms,
    feedback_round_trips,
    numbered_arms_are_read,
    bad_words_are_refused,
    rounds_survive_a_snapshot,
)
"""Those checks of a setting that are about its words in studies; without such there are none."""


def _words(case: SettingCase) -> StudyVocabulary | None:
    """Return the words of a study with arms called ``arm 0``, ``arm 1``, ..."""
    if case.vocabulary is None:
        return None
    return case.vocabulary_for([f"arm {arm}" for arm in range(int(case.checked_facts["arms"]))])


def _parse_default(
    case: SettingCase, words: StudyVocabulary, taken: tuple[Values, Values]
) -> Values:
    """Return the feedback of a decision that nothing came of, as values."""
    told = words.default_feedback(*taken)
    try:
        return words.parse_feedback(*taken, **told)
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"{case}: default_feedback has {told} for a decision that nothing came of, which "
            f"parse_feedback refuses: {error}"
        ) from error


def _check_refused(case: SettingCase, parse: Callable[..., Any], *given: Any, **words: Any) -> None:
    """Check that words that mean nothing are refused."""
    try:
        parse(*given, **words)
    except (TypeError, ValueError):
        return
    shown = words or given[-1]
    raise AssertionError(f"{case}: {parse.__name__} takes {shown}, which must be refused")


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
        found, wanted = np.shape(value), fields[name].extent(case.sizes)
        assert found == wanted, f"{case}: {method} returns {name} of shape {found}, not {wanted}"
        kind = np.asarray(value).dtype
        assert np.can_cast(kind, fields[name].dtype, "same_kind"), (
            f"{case}: {method} returns {name} as {kind}, not {fields[name].dtype}"
        )
