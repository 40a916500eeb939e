"""Everything that leans on the insides of Numba: they may change with any of its releases.

No other file imports `numba.core`, `llvmlite` or anything else that Numba's manual does not name.
`keyhole.kernels.jit` imports this package if it works with the Numba that is installed; where it
does not, Keyhole uses what the manual names alone: slower, with the same results.
"""

from keyhole.kernels.numba_internals.beta_variates import make_four_betas
from keyhole.kernels.numba_internals.buffer_views import make_view
from keyhole.kernels.numba_internals.check import check_internals
from keyhole.kernels.numba_internals.compiler import (
    OPTIONS,
    MachineCode,
    Part,
    compile_entry,
    load,
    processor,
    thread_ident,
)
from keyhole.kernels.numba_internals.key_nodes import place_in_node, smallest_in_node

__all__ = [
    "OPTIONS",
    "MachineCode",
    "Part",
    "check_internals",
    "compile_entry",
    "load",
    "make_four_betas",
    "make_view",
    "place_in_node",
    "processor",
    "smallest_in_node",
    "thread_ident",
]
