"""Compiled functions about policies that can say *enough*: whether one is done, and its metrics.

A policy is a rule that chooses among options (arms). Once it has settled every arm, simulations
play no further round.
"""

from typing import Any

from keyhole.contract.compiled_class import CompiledClass
from keyhole.contract.state_arrays import FloatArray
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import kernel


@kernel
def _is_stopped(s: Any) -> bool:
    return bool(s.stopped[0] != 0)


@kernel
def _never_stops(s: Any) -> bool:
    return False


@kernel
def _rounds_until_stop(s: Any, t: int) -> int:
    return s.stopped[0] if s.stopped[0] != 0 else t


@kernel
def _all_rounds(s: Any, t: int) -> int:
    return t


@kernel
def _write_metrics(
    s: Any, wrong: FloatArray, rounds: int, out: Any, c: int, m: int, column: int
) -> None:
    arms = len(s.settled)
    verdicts = len(wrong) // arms
    settled, mistakes = 0.0, 0.0
    for arm in range(arms):
        code = s.settled[arm]
        if not 0 <= code <= verdicts:
            raise ValueError("settled must be 0 or the number of a verdict, from 1")
        if code > 0:
            settled += 1.0
            mistakes += wrong[arm * verdicts + code - 1]
    out[c, m, column] = rounds
    out[c, m + 1, column] = 0.0 if s.stopped[0] != 0 else 1.0
    out[c, m + 2, column] = settled / arms
    out[c, m + 3, column] = mistakes / arms
    out[c, m + 4, column] = 1.0 if mistakes > 0.0 else 0.0


@kernel
def _write_nothing(
    s: Any, wrong: FloatArray, rounds: int, out: Any, c: int, m: int, column: int
) -> None:
    pass


def compile_is_stopped(policy: CompiledClass) -> Kernel:
    """Return the compiled function of the state that tells whether a policy is done."""
    return _is_stopped if policy.can_stop else _never_stops


def compile_rounds_used(policy: CompiledClass) -> Kernel:
    """Return the compiled function of state and round: the rounds played by that round."""
    return _rounds_until_stop if policy.can_stop else _all_rounds


def compile_stop_metrics(policy: CompiledClass) -> Kernel:
    """Return the compiled function that writes the `keyhole.metric.STOP_METRICS` of a policy.

    Its arguments are the state, which verdicts are wrong (arm by arm), the rounds used, and the
    place: the array, checkpoint, first metric and column. Where the policy cannot stop, it writes
    nothing.
    """
    return _write_metrics if policy.can_stop else _write_nothing
