"""Checks of the words in which studies speak of a setting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.contract.memory import Field
from keyhole.play.study_vocabulary import StudyVocabulary

if TYPE_CHECKING:
    from keyhole.testing.problems import Vocabulary

Values = dict[str, Any]


def decisions_round_trip(case: Vocabulary) -> None:
    """Check that a decision in words is JSON, and read back is the same decision."""
    if (words := _words(case)) is None:
        return
    for context, decision in _decisions(case):
        said = words.format_decision(context, decision)
        read = words.parse_decision(json.loads(json.dumps(said, allow_nan=False)))
        assert read == (context, decision), (
            f"{case}: parse_decision reads {said} as {read}, not as {(context, decision)}"
        )


def feedback_round_trips(case: Vocabulary) -> None:
    """Check that feedback has the declared values, and is the same after formatting and parsing."""
    if (words := _words(case)) is None or not words.has_feedback:
        return
    fields = {**words.feedback_fields, **words.note_fields}
    for taken in _decisions(case):
        heard = words.parse_feedback(*taken, **words.default_feedback())
        _check_values(case, "parse_feedback", heard, fields, words.note_fields)
        said = words.format_feedback(*taken, heard)
        read = words.parse_feedback(*taken, **json.loads(json.dumps(said, allow_nan=False)))
        assert read == heard, f"{case}: parse_feedback reads {said} as {read}, not as {heard}"


def bad_words_are_refused(case: Vocabulary) -> None:
    """Check that no feedback passes with an unknown word or NaN, and no decision of no arm."""
    if (words := _words(case)) is None:
        return
    context, decision = _decisions(case)[0]
    told = words.default_feedback() if words.has_feedback else {}
    numbers = [name for name, value in told.items() if type(value) in (int, float)]
    for other in ({"no such word": 1.0}, *({name: math.nan} for name in numbers)):
        _check_refused(case, words.parse_feedback, context, decision, **(told | other))
    said = words.format_decision(context, decision)
    if "arm" in said:
        _check_refused(case, words.parse_decision, said | {"arm": "no such arm"})


def rounds_survive_a_snapshot(case: Vocabulary) -> None:
    """Check that a round that is written as JSON and restored is the same."""
    words = _words(case)
    if words is None or words.round_class is None:
        return
    policy: Any = None  # none is needed before the round ends
    first, second = (words.round_class(words, policy) for _ in range(2))
    for context, decision in _decisions(case):
        first.begin(context, decision)
        if words.has_feedback:
            heard = words.parse_feedback(context, decision, **words.default_feedback())
            first.add_feedback(context, decision, heard)
        kept = json.dumps(first.to_json(), allow_nan=False)
        second.restore(json.loads(kept))
        again = json.dumps(second.to_json(), allow_nan=False)
        assert again == kept, f"{case}: a round of {kept} is restored as {again}"


VOCABULARY_CHECKS: Final[tuple[Callable[[Any], None], ...]] = (
    decisions_round_trip,
    feedback_round_trips,
    bad_words_are_refused,
    rounds_survive_a_snapshot,
)
"""Those checks of a setting that are about its words in studies; without such there are none."""


def _words(case: Vocabulary) -> StudyVocabulary | None:
    """Return the words of a study with arms called ``arm 0``, ``arm 1``, ..."""
    if case.vocabulary is None:
        return None
    names = [f"arm {arm}" for arm in range(int(case.told["arms"]))]
    return case.vocabulary(case.setting, case.told, names)


def _decisions(case: Vocabulary) -> list[tuple[Values, Values]]:
    """Return the context with the decisions of zeros, for the first arm and for the last."""
    context = {name: np.asarray(value).tolist() for name, value in case.context.items()}
    zeros: Values = {
        name: np.zeros(declared.extent(case.sizes), declared.dtype).tolist()
        for name, declared in case.setting.decision.items()
    }
    last = {"arm": int(case.told["arms"]) - 1} if "arm" in zeros else {}
    return [(context, zeros), (context, zeros | last)]


def _check_refused(case: Vocabulary, parse: Callable[..., Any], *given: Any, **words: Any) -> None:
    """Check that words that mean nothing are refused."""
    try:
        parse(*given, **words)
    except (TypeError, ValueError):
        return
    shown = words or given[-1]
    raise AssertionError(f"{case}: {parse.__name__} takes {shown}, which must be refused")


def _check_values(
    case: Vocabulary,
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
