"""The summary of a learner, for `print` and notebooks: its policy, and what it has learnt."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.text_formatting import count_text
from keyhole.validate import escape_controls, short_repr

if TYPE_CHECKING:
    from keyhole.play.learner import Learner

_SHOWN_LINES: Final = 10


def describe_learner(learner: "Learner", *, in_full: bool = False) -> str:
    """Return the policy, its known quantities, and what it says that it has learnt.

    Of the latter these are the first ten lines and how many there are more, or all lines.
    """
    facts = ", ".join(learner._known())
    head = f"{learner.policy} after {count_text(learner.rounds_told, 'round')}, {facts}"
    if learner._pending:
        head += ", waiting for feedback"
    elif learner.is_done:
        head += ", done"
    lines = _describe_by_number(learner, in_full=in_full)
    return escape_controls("\n  ".join([head, *map(learner._name_arms, lines)]), "\n")


def _describe_by_number(learner: "Learner", *, in_full: bool = False) -> list[str]:
    """Return what the policy says that it has learnt, with numbers of arms.

    An error in the code of a policy becomes the only line: printing must not fail.
    """
    try:
        # A policy knows no names: it reads numbers of arms, and writes them.
        lines = learner.policy.describe(learner._without_names())
    except Exception as error:
        return [_describe_error(f"{type(learner.policy).__name__}.describe", error)]
    if len(lines) > _SHOWN_LINES and not in_full:
        return [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
    return lines


def _describe_error(source: str, error: Exception) -> str:
    return f"({source} failed: {type(error).__name__}: {' '.join(str(error).split())})"


def learner_html(learner: "Learner", facts: Sequence[str], decision: Mapping[str, Any]) -> str:
    """Return the tables that notebooks show.

    Parameters
    ----------
    learner : Learner
        The learner, which stays as it is.
    facts : sequence of str
        Its known quantities.
    decision : mapping of str to array
        The decision that waits for its feedback; empty if there is none.
    """
    from keyhole.pages.notebook_html import notebook_html
    from keyhole.pages.page import Table

    rows = [
        ["setting", learner.policy.setting.name],
        ["known", ", ".join(facts)],
        ["rounds", f"{learner.rounds_told:,}"],
    ]
    if decision:
        rows.append(["waiting for the feedback of", learner._decision_text(decision)])
    if (recommended := _recommendation(learner)) is not None:
        rows.append(["recommended", recommended])
    # A line such as "arm 0: 2 pulls, mean 1" has its name before the colon. Names of arms may have
    # colons themselves, and are put in afterwards.
    lines = [line.partition(": ") for line in _describe_by_number(learner)]
    state = [
        [*map(learner._name_arms, [name, value] if value else ["", name])]
        for name, _, value in lines
    ]
    tables = [Table(repr(learner.policy), ["", ""], rows)]
    if state:
        after = count_text(learner.rounds_told, "round")
        tables.append(Table(f"What it has learnt after {after}.", ["", ""], state))
    return notebook_html(tables)


def _recommendation(learner: "Learner") -> str | None:
    """Return what the learner recommends; None if its setting has no recommendation."""
    if not hasattr(learner, "recommend"):
        return None
    try:
        recommendation = learner.recommend()
    except (TypeError, NotImplementedError):  # the setting's vocabulary has no words for it
        return None
    except Exception as error:
        return _describe_error("recommend", error)
    if hasattr(recommendation, "tolist"):
        recommendation = recommendation.tolist()
    return short_repr(recommendation)


def describe_facts(policy: Policy, facts: Mapping[str, Any], scale: Scale) -> list[str]:
    """Return each known quantity as a short text, and the units of rewards if not [0, 1]."""
    setting = policy.setting
    texts = []
    for name, value in facts.items():
        if name == setting.mode:
            texts.append(f"{setting.modes[value]} feedback")
        elif setting.facts[name].argument is not None:
            if unit := setting.facts[name].unit:
                value = scale.from_unit(value, unit)
            texts.append(_describe_fact(name, value))
    return texts + describe_units(scale)


def describe_units(scale: Scale) -> list[str]:
    """Return the units of rewards if they are not [0, 1]."""
    low, high = scale
    return [] if scale == UNIT else [f"rewards from {low:g} to {high:g}"]


def _describe_fact(name: str, value: Any) -> str:
    if name == "arms":
        return count_text(value, "arm")
    if isinstance(value, np.ndarray):
        return f"{len(value)} {name}"
    return f"{name} {value:g}"
