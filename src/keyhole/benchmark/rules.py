"""The rules of the benchmark: scales, situations, and the policies of each setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

SEED: Final = 29
LINEAR_SHARE: Final = 0.5
"""A run is linear if it loses more than this share of a wrong choice in every round."""
MORE_LINEAR: Final = 0.05
"""A policy whose share of linear runs is larger than the smallest one by more is not the best."""
FLOOR_SHARE: Final = 1e-4
"""Added to both means of a ratio: this share of a wrong choice in every round."""
MOST_LINEAR: Final = 0.5
"""Linear runs count on problems where some policy has no larger share of them."""


@dataclass(frozen=True)
class Scale:
    """How many replications are simulated, and which part of the rounds."""

    replications: int
    divisor: int = 1
    fewest_rounds: int = 1000
    """No horizon is cut below this."""
    timed_seconds: float = 0.02

    def horizon(self, rounds: int) -> int:
        """Return the rounds of a problem that has `rounds` at paper scale."""
        return max(rounds // self.divisor, min(rounds, self.fewest_rounds))


SCALES: Final = {
    "quick": Scale(replications=20, divisor=10, timed_seconds=0.005),
    "paper": Scale(replications=200),
}

SITUATIONS: Final[dict[str, dict[str, str]]] = {
    "stochastic": {
        "few arms": "Rewards of 0 or 1, up to ten arms",
        "many arms": "Rewards of 0 or 1, dozens of arms or few rounds",
        "rewards in [0, 1]": "Rewards between 0 and 1",
    },
    "delayed": {
        "sums": "Only sums arrive, and the delay is known about",
        "told wrongly": "Only sums arrive, and what is told of the delay is wrong by up to ten",
        "nothing told": "Only sums arrive, and nothing is told of the delay",
        "delays differ by arm": "Only sums arrive, and delays depend on the arm or the reward",
        "named": "Each reward arrives with its arm",
    },
    "threshold": {
        "censored": "Only samples below the bar are seen",
        "falling thresholds": "Only samples below the bar are seen, and the bar never rises",
        "uncensored": "Every sample is seen",
        "uncensored, crossing": "Every sample is seen, which arm is best depends on the bar, and "
        "arms differ by a fifth at most",
    },
    "resource": {
        "hundreds of runs": "Hundreds of runs",
        "thousands of runs": "Thousands of runs, rewards of 0 or 1",
        "rewards that vary": "Thousands of runs whose rewards vary with the time they take",
    },
    "semibandit": {
        "thresholds differ": "Each arm has a threshold of its own",
        "common threshold": "All arms share one threshold, up to eleven arms",
        "common threshold, many arms": "All arms share one threshold, twelve arms or more",
    },
    "thresholding": {
        "arms differ": "Arms differ",
        "clusters": "Two kinds of arms, one near the threshold",
        "many arms alike": "Many arms that are alike, or one that is not",
        "crowd labels": "Recorded labels, each as often as wanted",
        "labels bought once": "Recorded labels, each bought once",
    },
}
"""The situations of each setting, with what the guide calls them."""

YARDSTICKS: Final = frozenset({"CTS", "SDCB", "MPTS", "ESCB", "UCBE", "KnownGaps"})
"""Policies that know what is unknown in practice: shown, but neither ranked nor recommended."""

VARIANTS: Final[dict[str, dict[str, list[Mapping[str, Any]]]]] = {
    "stochastic": {
        "BernsteinUCB": [{"variance": 0.25}],
        # These look for the best arm, and do not mind what that costs.
        "BestArmStopping": [],
        "TopTwoThompson": [],
    },
    "thresholding": {
        # It looks for one good arm.
        "APGAI": [],
        # These stop by themselves: what counts is how many labels they need.
        "FalseDiscoveryStopping": [],
        "FamilywiseStopping": [],
        "HDoC": [],
        "LUCBG": [],
        "PerArmStopping": [],
    },
    "delayed": {"QPMD": [{}, {"base": "ThompsonSampling"}, {"base": "KLUCB"}]},
    "resource": {
        "RCUCB": [{}, {"alpha": 0.1}],
        "FixedLimit": [{"base": "KLUCB"}],
        # These search a continuum of limits; the benchmark's problems have lists.
        "ZoomingRCUCB": [],
        "AnytimeZoomingRCUCB": [],
        "StoOO": [],
    },
    "semibandit": {"CSBDT": [{}, {"as_printed": 0}]},
}
"""Policies that play with other parameters than their defaults, or not at all."""

ORDERS: Final = {"KMUCB": "cyclic", "OPTIM": "optimistic", "AnytimeOPTIM": "optimistic"}
"""Policies of `threshold` that are made for one sequence of thresholds, and play no other."""
