"""A self-test of our use of Numba's internals, for releases newer than those it was tested with.

Numba compiles Python functions. Where the test fails, only what Numba documents is used.
"""

import math
from typing import Any

import numpy as np
from numba import uint64

from keyhole.kernels.numba_internals import OPTIONS
from keyhole.kernels.numba_internals.argmin_nodes import place_in_node, smallest_in_node
from keyhole.kernels.numba_internals.buffer_views import make_view
from keyhole.kernels.numba_internals.compiler import Part, compile_entry_point, thread_ident
from keyhole.kernels.numba_internals.machine_code import MachineCode, load
from keyhole.kernels.numba_internals.vector_beta_variates import make_four_betas

_OPTIONS = OPTIONS | {"error_model": "numpy", "nogil": True}
_COUNTER_STEP, _FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

# The keys of a node come first; then a table, four variates, and the two tables that they need.
_TABLE, _DRAWN, _STEPS, _ENDS, _CELLS = 16, 28, 32, 32 + 257, 32 + 2 * 257
_BETAS = [0.4451790019122929, 0.5833358819936253, 0.48696705930503814, 0.5032949894200092]
_BASE = 15.887261745319002  # its root and its power in the C library differ in the last bit
_EXPECTED = [3, 2.0, 6.0, 7.0, math.sqrt(_BASE), *_BETAS]


def check_internals() -> None:
    """Compile a function that uses all of this package, load it, and check its results.

    Raises
    ------
    RuntimeError
        If the results differ; or whatever Numba raises.
    """
    machine = compile_entry_point(_entry(), "int64(float64[::1], int64)", _OPTIONS)
    if not machine.lasting:
        raise RuntimeError("compiled code holds an address of this process")
    entry = load(MachineCode.from_bytes(machine.to_bytes()))
    cells = np.full(_CELLS, 2.0**-54)
    cells[:16] = [4.0, 3.0, 5.0, 2.0] + 12 * [7.0]
    cells[_TABLE + 3], cells[_ENDS:] = 0.5, 1.0
    found = [entry(cells, 3), *cells[_TABLE : _TABLE + 4].tolist(), *cells[_DRAWN:_STEPS].tolist()]
    if found != _EXPECTED:
        raise RuntimeError(f"compiled code must return {_EXPECTED}, got {found}")
    try:
        entry(cells, -1)
    except ValueError as error:
        if str(error) == "below zero":
            return
    raise RuntimeError("compiled code must raise an error below zero, got none")


def _entry() -> Any:
    """Return the function to compile, in plain Python."""

    def borrow(buffer, start, shape):  # type: ignore[no-untyped-def]
        """Give its name to the view."""

    view, four = make_view("float64", borrow), make_four_betas(_COUNTER_STEP, _FACTORS)

    def half(x, by):  # type: ignore[no-untyped-def]
        return math.sqrt(x * x) / by

    def checked(count):  # type: ignore[no-untyped-def]
        if count < 0:
            raise ValueError("below zero")
        return half_of(12.0, 2)

    half_of, checked_of = Part(half, _OPTIONS), Part(checked, _OPTIONS)

    def entry(cells, count):  # type: ignore[no-untyped-def]
        table = view(cells, _TABLE, (3, 4))
        table[0, 0] = smallest_in_node(cells, 0)
        table[0, 1] = checked_of(count)
        table[0, 2] = half_of(14.0, 2)
        table[0, 3] = _BASE ** table[0, 3]
        shapes, drawn = view(cells, 0, (4,)), view(cells, _DRAWN, (4,))
        steps, ends = view(cells, _STEPS, (257,)), view(cells, _ENDS, (257,))
        four(uint64(1), shapes, shapes, 0, 4, drawn, steps, ends)
        return place_in_node(cells, 0, table[0, 0]) if thread_ident() != uint64(0) else 0

    return entry
