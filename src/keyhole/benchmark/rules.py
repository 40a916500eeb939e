"""The rules of the benchmark: scales, situations, and the policies of each setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.files import read_toml

SEED: Final = 29
LINEAR_SHARE: Final = 0.5
"""A run is linear if its regret a round is above this share of the regret of a wrong choice."""
MORE_LINEAR: Final = 0.05
"""A policy is not the best if its share of linear runs exceeds the smallest share by more."""
FLOOR_SHARE: Final = 1e-4
"""This share of the regret of wrong choices alone is added to both regrets of a ratio."""
MOST_LINEAR: Final = 0.5
"""Linear runs count on problems where some policy has at most this share of them."""


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

_LISTS: Final = read_toml(Path(__file__).with_name("rules.toml"))
SITUATIONS: Final[dict[str, dict[str, str]]] = _LISTS["situations"]
"""The situations of each setting, with what the guide calls them."""
YARDSTICKS: Final[list[str]] = _LISTS["yardsticks"]
"""Policies that know what is unknown in practice: shown, but neither ranked nor recommended."""
VARIANTS: Final[dict[str, dict[str, list[Mapping[str, Any]]]]] = _LISTS["variants"]
"""Policies that play with parameters other than their defaults, or are left out."""
ORDERS: Final[dict[str, str]] = _LISTS["orders"]
"""Policies of `threshold` that are made for one sequence of thresholds, and play no other."""
