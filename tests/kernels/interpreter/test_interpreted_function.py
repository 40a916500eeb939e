"""Interpreted functions."""

import numpy as np

from keyhole.contract.state_arrays import borrow_floats
from keyhole.kernels.interpreter import interpreted_arrays
from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction


def test_an_unreferenced_entry_keeps_no_views():
    entry = InterpretedFunction("Mine", lambda x: borrow_floats(x, 0, (1,))[0])
    before = set(interpreted_arrays._borrowed_by_buffer)
    assert entry(np.ones(1)) == 1.0
    assert set(interpreted_arrays._borrowed_by_buffer) > before
    del entry
    assert set(interpreted_arrays._borrowed_by_buffer) == before
