"""The thresholding bandit's vocabulary, and what its policies have in common."""

from typing import ClassVar, Final, Protocol

import numpy as np

from keyhole.contract.index import IndexPolicy as CoreIndexPolicy
from keyhole.contract.memory import Field, FloatArray
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.policy import known
from keyhole.contract.setting import Fact, Setting
from keyhole.play.learner import learner_for
from keyhole.thresholding.learner import Learner
from keyhole.validate import Range

# The largest relative error of rounding a number.
_ROUNDING: Final = 2.0**-53


def _arm_exists(p: "Policy", arm: int) -> bool:
    return 0 <= arm < p.arms


SETTING: Final = Setting(
    name="thresholding",
    facts={
        "arms": Fact("number of arms", Field("int64"), Range(ge=1, lt=2**24), always=True),
        "threshold": Fact("the threshold", Field("float64"), Range(gt=0, lt=1), always=True),
        "horizon": Fact("the budget: rounds in all", Field("int64"), Range(ge=1)),
        "gaps": Fact("true gaps of the arms", Field("float64", ("arms",)), Range(ge=0, le=1)),
        "hardness": Fact("sum of the true gaps to the power -2", Field("float64"), Range(gt=0)),
    },
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    report={"labels": Field("float64", ("arms",))},
    allowed=_arm_exists,
    budgeted=True,
)
"""Pull an arm, see its reward; at the end say which means are at least the threshold."""


class _Tally(Protocol):
    pulls: FloatArray
    totals: FloatArray


class Policy(CorePolicy, abstract=True):
    """Base of the policies of this room.

    Kernels read `p.arms` and `p.threshold`, and those of `p.horizon`, `p.gaps` and `p.hardness`
    that the class lists in `needs`. `select` returns an ``arm``, `update` may name ``arm`` and
    ``reward``, and `recommend` fills ``labels``: 1 for an arm whose mean is taken to be at least
    the threshold, else 0.

    A policy whose state keeps `pulls` and `totals` need not write `recommend`: an arm is labelled
    1 if its empirical mean is at least the threshold (Tao et al. 2019, Algorithm 1, line 5), where
    a mean that falls short by no more than rounding can explain counts as equal: 11 of 20 reaches
    0.55, and any number of rewards of 0.1 reaches 0.1. An arm that was never pulled gets 1.
    """

    setting = SETTING
    learner_class = Learner
    arms: ClassVar[int] = known()
    threshold: ClassVar[float] = known()
    horizon: ClassVar[int] = known()
    gaps: ClassVar[FloatArray] = known()
    hardness: ClassVar[float] = known()

    def recommend(p, s: _Tally, labels: FloatArray) -> None:
        """Label the arms by their empirical means."""
        for arm in range(p.arms):
            pulls = s.pulls[arm]
            # The sum of n rewards is off by at most n - 1 roundings; their decimals, the division
            # and the threshold add three.
            slack = (pulls + 2.0) * _ROUNDING
            labels[arm] = pulls == 0.0 or s.totals[arm] / pulls >= p.threshold - slack

    def learner(
        self,
        *,
        arms: int,
        threshold: float,
        horizon: int | None = None,
        gaps: FloatArray | None = None,
        hardness: float | None = None,
        seed: int = 0,
    ) -> Learner:
        """Return a learner: the policy at work, one decision at a time.

        Parameters
        ----------
        arms : int
            Number of arms, at least 1.
        threshold : float
            In (0, 1).
        horizon, gaps, hardness : optional
            For the policies that need them (see `needs`).
        seed : int, default 0
            Of the policy's own randomness.

        Returns
        -------
        Learner
            With `ask`, `tell`, `recommend` and `save`.

        Raises
        ------
        TypeError, ValueError
            If a fact that the policy needs is missing, or one is not allowed.

        Examples
        --------
        >>> from keyhole.thresholding import LSA
        >>> learner = LSA().learner(arms=2, threshold=0.5)
        >>> for reward in (1, 0, 1, 0):
        ...     arm = learner.ask()
        ...     learner.tell(reward)
        >>> learner.recommend()
        array([ True, False])
        """
        facts = {
            "arms": arms,
            "threshold": threshold,
            "horizon": horizon,
            "gaps": gaps,
            "hardness": hardness,
        }
        learner: Learner = learner_for(self, facts, seed=seed)
        return learner


class IndexPolicy(CoreIndexPolicy, Policy, abstract=True):
    """Base of the policies that are a formula: see `keyhole.contract.index.IndexPolicy`.

    Examples
    --------
    >>> import math
    >>> class Simple(IndexPolicy):
    ...     def index(p, pulls, total):
    ...         return abs(total - p.threshold * pulls) / math.sqrt(pulls)
    >>> from keyhole import simulate
    >>> from keyhole.thresholding import Problem
    >>> problem = Problem(means=[0.2, 0.4, 0.7], threshold=0.5)
    >>> simulate(problem, [Simple()], horizon=50, replications=10).labels
    ('Simple()',)
    """


LabelArray = np.ndarray[tuple[int], np.dtype[np.bool_]]
