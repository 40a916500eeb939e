"""Example decisions of a setting (a kind of decision problem), to test how studies write them.

Studies keep decisions and feedback in a database, in words that each setting defines: its
vocabulary. A decision that is written and read must be the same.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.kernels.fingerprint import python_function

Values = dict[str, Any]


def is_allowed(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any], decision: Values
) -> bool:
    """Return whether the guard of a setting allows a decision."""
    guard = python_function(setting.allowed)
    names = guard.__code__.co_varnames[: guard.__code__.co_argcount]
    arrays = {name: np.asarray(value) for name, value in decision.items()}
    given = {"p": SimpleNamespace(**facts), **context, **decision}
    given |= {name: array for name, array in arrays.items() if array.shape}
    return bool(guard(*(given[name] for name in names)))


def example_decisions(
    setting: Setting, facts: Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> list[Values]:
    """Return the decision of zeros, and that with the last arm, as far as they are allowed.

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
    last = zeros | ({"arm": facts["arms"] - 1} if "arm" in zeros else {})
    both = [zeros] if last == zeros else [zeros, last]
    return [one for one in both if is_allowed(setting, facts, context or {}, one)]
