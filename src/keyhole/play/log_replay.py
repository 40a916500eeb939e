"""Replay of a log of decisions and feedback by a learner, after its columns were checked.

A learner is a policy (a rule that chooses among options) at work. It learns from the log as if it
had taken these decisions itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import compiled_policy
from keyhole.drivers.replay import DIFFERENT_DECISION, NOT_ALLOWED, compiled_replay
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.kernel_declaration import bounds_checked, is_bounds_checked

if TYPE_CHECKING:
    from keyhole.play.learner import Learner

# Rows per call of the compiled loop. It holds the interpreter's lock, so that other threads run
# only between calls.
_BLOCK: Final = 2**15

Columns = Mapping[str, NDArray[Any]]


def replay_rows(learner: Learner, columns: Columns) -> int:
    """Have a learner learn a log; return how many of its decisions the policy would have taken.

    If a row is refused, the learner keeps what it has learnt from the rows before: the caller
    restores its memory.
    """
    policy, begun, own = learner.policy, learner.rounds, 0
    checked = bounds_checked(learner._loaded or is_bounds_checked())
    with checked, interpreted(bool(learner._interpreted)):
        replay = compiled_replay(compiled_policy(type(policy)), policy.setting)
    # In the order in which they lie in the memory.
    names = (*learner._context, *learner._decision, *learner._feedback)
    rows = len(columns[names[0]])
    for first in range(0, rows, _BLOCK):
        # Every value is one word of 8 bytes, whatever its type: a row is a copy of the memory of a
        # round.
        cells = [
            np.ascontiguousarray(columns[name][first : first + _BLOCK])
            .reshape(min(_BLOCK, rows - first), -1)
            .view(np.uint64)
            for name in takewhile(columns.__contains__, names)
        ]
        try:
            code = replay(learner._words, np.hstack(cells), not policy.off_policy)
        except IndexError as error:
            learner.raise_kernel_error(error)
        if code < 0:
            _refuse(learner, code, learner.rounds - begun, columns)
        own += code
    return own


def _refuse(learner: Learner, code: int, row: int, columns: Columns) -> NoReturn:
    """Raise the error of a row that the compiled loop refused."""
    policy, where = learner.policy, f"row {row} of the log"
    logged = learner._decision_text({name: columns[name][row] for name in learner._decision})
    taken = learner._decision_text(learner._decision)
    if code == DIFFERENT_DECISION:
        raise ValueError(
            f"{where} must be what {policy} decides there ({taken}), got {logged}: it cannot learn "
            "from decisions of others"
        )
    if code == NOT_ALLOWED:
        raise ValueError(f"{where} must be a decision that the setting allows, got {logged}")
    raise ValueError(policy.refusal(where, taken))
