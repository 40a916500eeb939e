"""A self-test of the analysis of which stored numbers a policy's functions read and write.

The analysis depends on how Numba, the compiler, reads functions, which later releases may change.
If it is wrong about functions whose answer is known, it is not used.
"""

from typing import Any

from keyhole.contract.state_access_analysis import StateAccess, analyse_state_access
from keyhole.contract.state_arrays import float_array, int_array


def check_state_access_analysis() -> None:
    """Analyse kernels whose reads and writes are known.

    Raises
    ------
    RuntimeError
        If the analysis finds others; or whatever Numba raises.
    """
    for name, expected in _EXPECTED.items():
        found = analyse_state_access(_Trial, name)
        if found != expected:
            raise RuntimeError(f"the analysis of `{name}` must find {expected}, got {found}")


def _store(into: Any, value: float) -> None:
    into[0] = value


def _return_tables(s: Any) -> Any:
    return s.tables, 1.0


class _Trial:
    """Kernels with every construct that Numba's first pass distinguishes."""

    helpers = ()

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        passed = float_array("arms")
        tables = float_array("arms", 2)
        untouched = int_array()

    def select(p: Any, s: Any, t: int) -> int:
        """Write all but two arrays, in several ways."""
        tables, weight = _return_tables(s)
        row = tables[0]
        row[1:2][0] = -weight
        first = True
        for arm in range(p.arms):
            if first and not s.pulls[arm] > t:
                s.totals[arm] += 1.0
                first = False
        _store(value=2.0, into=s.passed)
        return int(first)

    def update(p: Any, s: Any) -> float:
        """Read two arrays and write nothing."""
        total = 0.0
        for arm, pulls in enumerate(s.pulls):
            pair = (s.totals, arm)
            total += -pulls * pair[0][arm]
        while total > len(s.passed):
            total -= s.tables.shape[0]
        return total


_EXPECTED = {
    "select": StateAccess(
        reads={"pulls", "totals", "tables"}, writes={"totals", "passed", "tables"}
    ),
    "update": StateAccess(reads={"pulls", "totals"}),
}
