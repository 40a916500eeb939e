"""A kernel (compiled function) that finds the first option that was never chosen.

Many policies choose each option (arm) once before they compare estimates of its reward.
"""

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.kernel_declaration import kernel


@kernel
def first_unpulled(pulls: NDArray[np.float64], begin: NDArray[np.float64]) -> int:
    """Return the first arm without pulls; -1 if there is none.

    The round does not tell: a first feedback may come late, or never, and arms may be added.

    Parameters
    ----------
    pulls : ndarray of float64
        Pulls of each arm.
    begin : ndarray of float64, shape (1,)
        All arms before this one have pulls: a `scratch_array`, so that most rounds need no search.

    Examples
    --------
    >>> begin = np.zeros(1)
    >>> first_unpulled(np.array([1.0, 0.0, 2.0]), begin), begin
    (1, array([1.]))
    >>> first_unpulled(np.array([1.0, 3.0, 2.0]), begin), begin
    (-1, array([3.]))
    """
    arm = int(begin[0])
    if arm == len(pulls):
        return -1
    while arm < len(pulls) and pulls[arm] > 0.0:
        arm += 1
    begin[0] = arm
    return arm if arm < len(pulls) else -1
