"""The API of `numba_internals`: what the rest of Keyhole imports to compile. It imports Numba."""

from keyhole.kernels.numba_internals.argmin_nodes import place_in_node, smallest_in_node
from keyhole.kernels.numba_internals.buffer_views import make_view
from keyhole.kernels.numba_internals.compiler import (
    Part,
    compile_entry_point,
    thread_ident,
    type_of,
)
from keyhole.kernels.numba_internals.vector_beta_variates import make_four_betas

__all__ = [
    "Part",
    "compile_entry_point",
    "make_four_betas",
    "make_view",
    "place_in_node",
    "smallest_in_node",
    "thread_ident",
    "type_of",
]
