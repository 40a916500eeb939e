"""Kaplan-Meier estimate of how long runs take, where some were stopped before their end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.trial_log import TrialRecord

_NORMAL: Final = 1.959964  # the 97.5 % quantile


@dataclass(frozen=True)
class Survival:
    r"""The share of runs without success by a time: the estimate of Kaplan and Meier (1958).

    .. math:: \hat S(t) = \prod_{t_j \le t} (1 - d_j / n_j)

    with :math:`d_j` runs that succeeded after :math:`t_j` seconds, of :math:`n_j` runs at risk. A
    run that reached its limit is censored there, and so is a failed run, which would never have
    succeeded. Intervals are Greenwood's, on the scale of :math:`\ln(-\ln S)`.

    Attributes
    ----------
    seconds : ndarray of float64
        The times at which some run succeeded, rising.
    share, low, high : ndarray of float64
        The share without success right after each time, with the ends of its 95 % interval.
    last_limit : float
        The largest limit of any run: the estimate ends there.
    """

    seconds: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    last_limit: float

    @classmethod
    def from_runs(cls, runs: Sequence[TrialRecord]) -> "Survival":
        """Estimate the curve from the runs of an arm."""
        done = np.array([run.outcome == "ok" for run in runs], dtype=bool)
        until = np.array([run.seconds if run.outcome == "ok" else run.limit for run in runs])
        times, events = np.unique(until[done], return_counts=True)
        # At risk at a time are all runs that had neither succeeded nor been censored before it.
        at_risk = len(until) - np.searchsorted(np.sort(until), times).astype(np.float64)
        share = np.cumprod(1.0 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.cumsum(events / (at_risk * (at_risk - events))))
            reach = _NORMAL * spread / -np.log(share)
            low, high = share ** np.exp(reach), share ** np.exp(-reach)
        none = share <= 0.0  # once all have succeeded, the formula is undefined
        low, high = np.where(none, 0.0, low), np.where(none, np.nan, high)
        share, low, high = (np.asarray(end, np.float64) for end in (share, low, high))
        return cls(times, share, low, high, max((run.limit for run in runs), default=0.0))
