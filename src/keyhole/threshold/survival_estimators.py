"""Estimators of the chance that an arm's sample reaches a level: its survival function."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.threshold.policy_base import add_observation
from keyhole.validate import Range, check_each, check_integer, check_number, check_vector

_UNIT_OPEN = Range(gt=0, lt=1)


class ModifiedKaplanMeierEstimator:
    r"""Estimator of the survival function of one arm, from pulls at known thresholds.

    For each level j,

    .. math:: \hat F(j) = \frac{D(j)}{N(j)}, \qquad D(j) = \sum_s 1[\min(X_s, c_s) \ge j], \qquad
        N(j) = \sum_s 1[c_s \ge j]

    the share of the pulls at thresholds of at least j that reached j. None of them is censored at
    j, so that it is a mean of independent terms, and unbiased. The policies of the threshold bandit
    count in the same way.

    Parameters
    ----------
    thresholds : sequence of int, shape (n,)
        The threshold of each pull, from 1 to `levels`.
    values : sequence of int, shape (n,)
        The sample, or the threshold of one that is censored. A sample above its threshold counts
        as the threshold.
    levels : int
        m, at least 1.

    Attributes
    ----------
    reached, support : ndarray of float64, shape (levels,)
        D and N.
    survival : ndarray of float64, shape (levels,)
        D / N, and 0 where N is 0.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; eq. (8) and Lemma 4.

    Examples
    --------
    >>> thresholds, values = [3, 2, 3, 1], [3, 0, 1, 1]
    >>> estimate = ModifiedKaplanMeierEstimator(thresholds, values, levels=3)
    >>> estimate.support, estimate.survival.round(2)
    (array([4., 3., 2.]), array([0.75, 0.33, 0.5 ]))
    """

    def __init__(self, thresholds: ArrayLike, values: ArrayLike, levels: int) -> None:
        m = check_integer("levels", levels, Range(ge=1))
        cuts = whole_numbers("thresholds", thresholds, Range(ge=1, le=m))
        samples = whole_numbers("values", values, Range(ge=0, le=m))
        if len(cuts) != len(samples):
            raise ValueError(
                f"values must have one entry for each threshold, {len(cuts)}; got {len(samples)}"
            )
        # The policies' own kernel counts, in Python here: estimator and policies cannot differ.
        tally: Any = SimpleNamespace(reached=np.zeros((1, m)), tried=np.zeros((1, m)))
        for threshold, value in zip(cuts, samples, strict=True):
            add_observation(tally, 0, int(threshold), int(value))
        self.reached: FloatArray = tally.reached[0]
        self.support: FloatArray = tally.tried[0]
        self.survival: FloatArray = self.reached / np.maximum(self.support, 1.0)

    def width(self, delta: float) -> FloatArray:
        r"""Return the error of each estimate that is exceeded with probability `delta` at most.

        It is :math:`\sqrt{2 \ln(2 / \delta) / N(j)}` (Lemma 4), infinite where N is 0.

        Examples
        --------
        >>> estimate = ModifiedKaplanMeierEstimator([2] * 100, values=[1] * 100, levels=2)
        >>> estimate.width(0.05).round(3)
        array([0.272, 0.272])
        """
        log = math.log(2.0 / check_number("delta", delta, _UNIT_OPEN))
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(2.0 * log / self.support))


@dataclass(frozen=True, eq=False)
class KaplanMeierEstimator:
    r"""Product-limit estimator of a survival function from right-censored durations.

    .. math:: \hat S(t) = \prod_{t_k \le t} \Big( 1 - \frac{d_k}{n_k} \Big)

    over the distinct times :math:`t_k` of events, with :math:`d_k` events at :math:`t_k` among
    :math:`n_k` at risk. It needs no thresholds, and assumes that censoring does not depend on the
    durations.

    Parameters
    ----------
    durations : sequence of float, shape (n,)
        The observed durations, at least 0.
    events : sequence of bool, shape (n,)
        Whether a duration ended with the event; False for a censored one.

    Attributes
    ----------
    times : ndarray of float64, shape (k,)
        The distinct durations with an event, rising.
    at_risk, deaths : ndarray of float64, shape (k,)
        :math:`n_k` and :math:`d_k`.
    survival : ndarray of float64, shape (k,)
        :math:`\hat S(t_k)`, the chance to last longer than :math:`t_k`.

    References
    ----------
    Kaplan and Meier (1958), "Nonparametric Estimation from Incomplete Observations", JASA 53.
    Greenwood (1926), for the variance.

    Examples
    --------
    >>> estimate = KaplanMeierEstimator(durations=[3, 5, 5, 8], events=[True, True, False, True])
    >>> estimate.times, estimate.survival
    (array([3., 5., 8.]), array([0.75, 0.5 , 0.  ]))
    >>> estimate.at(6), estimate.median
    (0.5, 5.0)
    """

    durations: ArrayLike
    events: ArrayLike
    times: FloatArray = field(init=False)
    at_risk: FloatArray = field(init=False)
    deaths: FloatArray = field(init=False)
    survival: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Check the observations, and count events and durations at risk."""
        durations = check_vector("durations", self.durations, Range(ge=0))
        flags = [int(e) if isinstance(e, bool | np.bool_) else e for e in np.asarray(self.events)]
        events = check_vector("events", flags, Range(ge=0, le=1))
        if len(events) != len(durations):
            raise ValueError(
                f"events must have one entry for each duration, {len(durations)}; got {len(events)}"
            )
        check_each("events", events, np.isin(events, (0.0, 1.0)), "be True or False")
        times, deaths = np.unique(durations[events == 1.0], return_counts=True)
        # At risk at a time: all durations that are not shorter, with those that end there.
        at_risk = len(durations) - np.searchsorted(np.sort(durations), times, side="left")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "deaths", deaths.astype(float))
        object.__setattr__(self, "at_risk", at_risk.astype(float))
        object.__setattr__(self, "survival", np.cumprod(1.0 - deaths / at_risk))

    def at(self, time: float) -> float:
        """Return the estimated chance to last longer than a time, in the unit of the durations."""
        # The last event up to the time; before the first one all survive.
        events = int(
            np.searchsorted(self.times, check_number("time", time, Range(ge=0)), side="right")
        )
        return float(self.survival[events - 1]) if events else 1.0

    @property
    def variance(self) -> FloatArray:
        """Greenwood's estimate of the variance of `survival`, shape (k,); 0 where that is 0."""
        denominators = self.at_risk * (self.at_risk - self.deaths)
        # Where all at risk die the term is infinite, but the survival, and so the variance, is 0.
        terms = np.divide(
            self.deaths, denominators, out=np.zeros_like(denominators), where=denominators > 0
        )
        return np.asarray(self.survival**2 * np.cumsum(terms))

    @property
    def median(self) -> float:
        """The first time at which the survival is at most 1/2; infinite if there is none."""
        half = np.flatnonzero(self.survival <= 0.5)
        return float(self.times[half[0]]) if len(half) else math.inf


def whole_numbers(name: str, values: ArrayLike, allowed: Range) -> IntArray:
    """Return a vector of whole numbers; raise an error that names an entry that is not."""
    checked = check_vector(name, values, allowed)
    check_each(name, checked, checked == np.floor(checked), "be a whole number")
    return checked.astype(np.int64)
