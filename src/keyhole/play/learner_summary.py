"""The summary of a learner, for `print`: its policy, and what it has learnt."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.text_formatting import count_text
from keyhole.validation import escape_controls

if TYPE_CHECKING:
    from keyhole.play.learner import Learner

_SHOWN_LINES: Final = 10


def describe_learner(learner: "Learner", *, in_full: bool = False) -> str:
    """Return the policy, its known quantities, and what the policy says of its state.

    The description is cut after ten lines, unless `in_full`.
    """
    facts = ", ".join(learner._format_facts())
    head = f"{learner.policy} after {count_text(learner.rounds_told, 'round')}, {facts}"
    if learner._has_pending_decision:
        head += ", waiting for feedback"
    elif learner.is_done:
        head += ", done"
    lines = _describe_state(learner)
    if len(lines) > _SHOWN_LINES and not in_full:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
    return escape_controls("\n  ".join([head, *map(learner._insert_arm_names, lines)]), "\n")


def _describe_state(learner: "Learner") -> list[str]:
    """Return the policy's own description of its state, with arm numbers in place of names."""
    try:
        # A policy knows no names, so it reads and writes arm numbers.
        return learner.policy.describe(learner._learner_without_arm_names())
    except Exception as error:  # of a user's code: printing must not fail
        source = f"{type(learner.policy).__name__}.describe"
        return [f"({source} failed: {type(error).__name__}: {' '.join(str(error).split())})"]


def describe_facts(policy: Policy, facts: Mapping[str, Any], scale: Scale) -> list[str]:
    """Return a text for each fact that `Policy.learner` takes, and for rewards not in [0, 1]."""
    setting = policy.setting
    texts = []
    for name, value in facts.items():
        if name == setting.mode:
            texts.append(f"{setting.modes[value]} feedback")
        elif setting.facts[name].argument is not None:
            if unit := setting.facts[name].unit:
                value = scale.from_unit(value, unit)
            texts.append(_describe_fact(name, value))
    return texts + describe_reward_range(scale)


def describe_reward_range(scale: Scale) -> list[str]:
    """Return the range of rewards in a list, which is empty if the range is [0, 1]."""
    low, high = scale
    return [] if scale == UNIT else [f"rewards from {low:g} to {high:g}"]


def _describe_fact(name: str, value: Any) -> str:
    if name == "arms":
        return count_text(value, "arm")
    if isinstance(value, np.ndarray):
        return f"{len(value)} {name}"
    return f"{name} {value:g}"
