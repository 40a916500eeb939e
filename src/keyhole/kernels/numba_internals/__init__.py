"""All use of Numba's internals, which may change with any release.

No other file imports `numba.core`, `llvmlite` or anything else that Numba's manual does not name.
`pyproject.toml` allows the releases that the tests have seen. `keyhole.kernels.kernel_decorators`
imports these modules. The loader (`machine_code`) imports only two C extension modules of Numba,
except on Windows and on 32-bit systems.
"""

from typing import Final

OPTIONS: Final[dict[str, object]] = {"_nrt": False}
"""Options of `numba.njit`: without reference counts, views need no atomic operations (59 -> 15 ns a
round, LSA, K = 10), but kernels cannot allocate memory."""
