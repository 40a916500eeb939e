"""The names of this package that the rest of Keyhole uses to compile; it imports all of Numba."""

from keyhole.kernels.numba_internals.argmin_nodes import place_in_node, smallest_in_node
from keyhole.kernels.numba_internals.beta_variates import make_four_betas
from keyhole.kernels.numba_internals.buffer_views import make_view
from keyhole.kernels.numba_internals.check import check_internals
from keyhole.kernels.numba_internals.compiler import Part, compile_entry, thread_ident, type_of

__all__ = [
    "Part",
    "check_internals",
    "compile_entry",
    "make_four_betas",
    "make_view",
    "place_in_node",
    "smallest_in_node",
    "thread_ident",
    "type_of",
]
