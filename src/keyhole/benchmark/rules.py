"""The rules of the benchmark: scales, situations, and the policies of each setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.files import read_toml

SEED: Final = 29
LINEAR_REGRET_SHARE: Final = 0.5
"""A run is linear if its regret exceeds this share of the regret of wrong choices in all rounds."""
TOLERATED_LINEAR: Final = 0.05
"""A policy is not the best if its share of linear runs is above the smallest share plus this."""
FLOOR_SHARE: Final = 1e-4
"""The regret of a wrong choice in every round, times this, is added to both regrets of a ratio."""
COUNTED_LINEAR: Final = 0.5
"""Linear runs count only on problems where some policy has at most this share of linear runs."""


@dataclass(frozen=True)
class Scale:
    """The size of the simulations."""

    replications: int
    divisor: int = 1  # by which horizons are divided
    fewest_rounds: int = 1000  # the division leaves at least this number of rounds
    timed_seconds: float = 0.02  # about how long a policy is simulated to time its rounds

    def horizon(self, rounds: int) -> int:
        """Return the horizon of a problem that has this number of rounds at paper scale."""
        return max(rounds // self.divisor, min(rounds, self.fewest_rounds))


SCALES: Final = {
    "quick": Scale(replications=20, divisor=10, timed_seconds=0.005),
    "paper": Scale(replications=200),
}

_LISTS: Final = read_toml(Path(__file__).with_name("rules.toml"))
SITUATIONS: Final[dict[str, dict[str, str]]] = _LISTS["situations"]
"""The situations of each setting, with what the guide calls them."""
YARDSTICKS: Final[list[str]] = _LISTS["yardsticks"]
"""Policies that know what is unknown in practice: shown, but neither ranked nor recommended."""
VARIANTS: Final[dict[str, dict[str, list[Mapping[str, Any]]]]] = _LISTS["variants"]
"""The parameters of each variant of a policy, by setting and policy; [] leaves the policy out."""
ORDERS: Final[dict[str, str]] = _LISTS["orders"]
"""Policies of `threshold` that are made for one sequence of thresholds, and play no other."""
