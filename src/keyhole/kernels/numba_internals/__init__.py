"""Everything that leans on the insides of Numba: they may change with any of its releases.

No other file imports `numba.core`, `llvmlite` or anything else that Numba's manual does not name.
`keyhole.kernels.jit` imports what compiles (`interface`) if it works with the Numba that is
installed; where it does not, Keyhole uses what the manual names alone: slower, with the same
results. What loads (`machine_code`) imports nothing of Numba but two of its modules in C.
"""

from typing import Any, Final

OPTIONS: Final[dict[str, Any]] = {"_nrt": False}
"""Options of `numba.njit`: no references are counted, so nothing can be allocated and no atomic
operation is spent on views (59 -> 15 ns a round, LSA, K = 10)."""
