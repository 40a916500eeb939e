"""Counts of runs by arm (command) and interval between limits, from which gains are estimated."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord

_ROUNDING: Final = 1e-12


class CountsByLimit:
    """Sufficient statistics of runs, by arm and interval: counts of runs that entered and exited.

    `seconds` and `rewards` have sums and sums of squares.
    """

    def __init__(self, spec: Spec, runs: Sequence[TrialRecord]) -> None:
        limits = np.array(spec.limits)
        names = {arm.name: i for i, arm in enumerate(spec.arms)}
        shape = (len(names), len(limits))
        self.entered, self.ended, self.done = (np.zeros(shape) for _ in range(3))
        self.seconds, self.rewards = np.zeros((2, *shape)), np.zeros((2, *shape))
        self.run_counts = np.zeros(shape, np.int64)
        for run in runs:
            arm = names[run.arm]
            # With a tolerance: a limit above its grid point by a rounding error belongs to it.
            last = int(np.searchsorted(limits, run.limit * (1.0 - _ROUNDING)))
            # A run with a large limit informs all smaller limits as well: it shows how it would
            # have ended with each of them.
            self.run_counts[arm, : last + 1] += 1
            if run.outcome == "out of time":
                self.entered[arm, : last + 1] += 1
                continue
            # At most `last`: seconds of a run that failed may exceed its limit a little.
            at = min(int(np.searchsorted(limits, run.seconds)), last)
            self.entered[arm, : at + 1] += 1
            self.ended[arm, at] += 1
            self.seconds[:, arm, at] += run.seconds, run.seconds**2
            if run.reward is not None:
                self.done[arm, at] += 1
                self.rewards[:, arm, at] += run.reward, run.reward**2
