"""Interpreted functions."""

import numpy as np

from keyhole.kernels.interpreter import memory_views
from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction


def test_an_unreferenced_entry_keeps_no_views():
    entry = InterpretedFunction("Mine", lambda x: x[0])
    before = set(memory_views._borrowed)
    assert entry(np.ones(1)) == 1.0
    assert set(memory_views._borrowed) > before
    del entry
    assert set(memory_views._borrowed) == before
