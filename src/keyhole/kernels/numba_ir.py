"""The first pass of Numba's compiler, which reads a function as operations on named variables.

It compiles nothing. It is separate from `numba_internals`, which compiles: only the analysis of
policies that do not declare `pending` imports it (see `keyhole.contract.pending_mode_inference`),
and a change of Numba in one place does not affect the other.
"""

from typing import Any, Final

from numba.core import compiler
from numba.core import ir as ir

run_frontend: Final[Any] = compiler.run_frontend
