"""Decisions with which to try the words of a setting."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.kernels.fingerprint import source_of

Values = dict[str, Any]


def is_allowed(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any], decision: Values
) -> bool:
    """Return whether the guard of a setting lets a decision pass."""
    guard = source_of(setting.allowed)
    names = guard.__code__.co_varnames[: guard.__code__.co_argcount]
    arrays = {name: np.asarray(value) for name, value in decision.items()}
    given = {"p": SimpleNamespace(**facts), **context, **decision}
    given |= {name: array for name, array in arrays.items() if array.shape}
    return bool(guard(*(given[name] for name in names)))


def sample_decisions(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> list[Values]:
    """Return decisions of zeros, with the first arm and with the last, of those that are allowed.

    Parameters
    ----------
    setting : Setting
        The setting.
    facts : mapping of str to value
        What every policy of it is told, as kernels read it.
    context : mapping of str to value, optional
        What the world shows, where it shows something.
    """
    sizes = {name: value for name, value in facts.items() if isinstance(value, int)}
    zeros: Values = {
        name: np.zeros(declared.extent(sizes), declared.dtype).tolist()
        for name, declared in setting.decision.items()
    }
    last = zeros | ({"arm": facts["arms"] - 1} if "arm" in zeros else {})
    both = [zeros] if last == zeros else [zeros, last]
    return [one for one in both if is_allowed(setting, facts, context or {}, one)]
