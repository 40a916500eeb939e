"""A power of floats depends only on the numbers."""

import numpy as np

from keyhole.kernels import kernel_decorators
from keyhole.kernels.numba_internals.machine_code import load_machine_code

parts = kernel_decorators.import_internals()
SIGNATURE = "int64(float64[:, ::1], float64[::1])"
KNOWN = [2.0, 0.5, -1.0, 3.0, -0.5]


def powers(table, known):
    """Write powers with constants, and the same with numbers that the compiler cannot know."""
    for i in range(len(table)):
        x = table[i, 0]
        table[i, 1] = x**2.0
        table[i, 2] = x**0.5
        table[i, 3] = x**-1.0
        table[i, 4] = x**3.0
        table[i, 5] = x**-0.5
        table[i, 6] = 2.0**x
        table[i, 7] = 0.5**x
        for k in range(5):
            table[i, 8 + k] = x ** known[k]
        for k in range(2):
            table[i, 13 + k] = known[k] ** x
    return len(table)


def test_powers_do_not_depend_on_constants():
    rng = np.random.default_rng(3)
    table = np.zeros((20_000, 15))
    table[:, 0] = rng.lognormal(0.0, 3.0, len(table))
    table[:6, 0] = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0]
    entry = load_machine_code(
        parts.compile_entry_point(
            powers, SIGNATURE, kernel_decorators.njit_options() | {"nogil": True}
        )
    )
    assert entry(table, np.array(KNOWN)) == len(table)
    written, unknown = table[:, 1:8].copy(), table[:, 8:].copy()
    same = written.view(np.uint64) == unknown.view(np.uint64)
    assert (same | np.isnan(written) & np.isnan(unknown)).all()
    x = table[6:, 0]
    assert (written[6:, :3] == np.column_stack([x * x, np.sqrt(x), 1.0 / x])).all()
    # Of -0.0 and -inf: what the standard of C says of a power, and not of a root.
    assert str(written[[1, 3], 1].tolist()) == "[0.0, inf]"
