import math

import numpy as np

from keyhole.kernels.fingerprint import compiled_copy
from keyhole.kernels.kernel_decorators import kernel
from keyhole.thresholding.policies.lsa import log_count

looked_up = compiled_copy(log_count)


@kernel
def compare(last):
    """Return how many counts have a logarithm of other bits than the compiled one."""
    different = 0
    for count in range(1, last + 1):
        different += looked_up(float(count)) != math.log(float(count))
    return different


def test_the_table_has_the_bits_of_compiled_code():
    assert compare(10_000) == 0


def test_a_count_beyond_the_table_is_computed():
    assert [log_count(n) for n in (4095.0, 4096.0, 1e300)] == [*map(math.log, (4095, 4096, 1e300))]


def test_a_count_of_0_is_not_read_from_the_table():
    assert math.isnan(looked_up(-1.0))
    assert np.isneginf(looked_up(0.0))
