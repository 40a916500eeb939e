"""Text for messages on what a policy knows in advance, such as the number of rounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.text_formatting import count_text


def describe_facts(policy: Policy, facts: Mapping[str, Any], scale: Scale) -> list[str]:
    """Return each known quantity as a short text, and the units of rewards if not [0, 1]."""
    setting = policy.setting
    words = []
    for name, value in facts.items():
        if name == setting.mode:
            words.append(f"{setting.modes[value]} feedback")
        elif setting.facts[name].argument is not None:
            unit = setting.facts[name].unit
            words.append(_describe(name, scale.from_unit(value, unit) if unit else value))
    return words + describe_units(scale)


def describe_units(scale: Scale) -> list[str]:
    """Return the units of rewards if they are not [0, 1]."""
    low, high = scale
    return [f"rewards from {low:g} to {high:g}"] if scale != UNIT else []


def _describe(name: str, value: Any) -> str:
    if name == "arms":
        return count_text(value, "arm")
    if isinstance(value, np.ndarray):
        return f"{len(value)} {name}"
    return f"{name} {value:g}"
