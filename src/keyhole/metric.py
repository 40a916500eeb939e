"""Metrics, such as the regret: their names, titles, units, and whether lower is better."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Self, get_args

from keyhole.validation import check_choice, check_line

Better = Literal["lower", "higher"]
Drawn = Literal["mean", "from 0", "share", "ln(mean / arms)"]


@dataclass(frozen=True)
class Metric:
    """A number that an environment writes at a checkpoint, with its title and unit.

    Parameters
    ----------
    name : str
        The name in kernels, specs and tables.
    words : str, optional
        The name in figures and reports; by default `name` with spaces.
    unit : str, optional
        The unit, if the words do not name it.
    better : {"lower", "higher"}
        Which of two means is better; "lower" also if neither is better.
    drawn : {"mean", "from 0", "share", "ln(mean / arms)"}
        How figures show the metric: as a mean; on an axis that begins at 0; as a share with an
        exact interval, for a metric that is 0 or 1 in every replication; or as the logarithm of the
        mean per arm.
    per_arm : bool, default False
        Whether each arm has its own value. The value of arm 1 has the name ``pulls[1]``, or
        ``pulls[red]`` if the arm's name is red.
    detail : bool, default False
        Whether the metric is kept only on request.

    Examples
    --------
    >>> pulls = Metric("pulls", "rounds with the arm", better="higher", per_arm=True)
    >>> pulls.of(1).name, pulls.of(1).title
    ('pulls[1]', 'rounds with the arm, arm 1')
    """

    name: str
    words: str = ""
    unit: str = ""
    better: Better = "lower"
    drawn: Drawn = "mean"
    per_arm: bool = False
    detail: bool = False

    def __post_init__(self) -> None:
        """Check the values, and make default words from the name."""
        check_line("name", self.name)
        name_in_words = self.words or self.name.replace("_", " ")
        object.__setattr__(self, "words", check_line(f"words of {self.name}", name_in_words))
        check_choice(f"better of {self.name}", self.better, get_args(Better))
        check_choice(f"drawn of {self.name}", self.drawn, get_args(Drawn))

    @property
    def title(self) -> str:
        """The name in figures and reports, with the unit."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def best(self) -> Literal["lowest", "highest"]:
        """Whether the lowest or the highest mean is the best."""
        return "lowest" if self.better == "lower" else "highest"

    def rank(self, means: Mapping[str, float]) -> list[str]:
        """Return the names of means, the name of the best mean first.

        Examples
        --------
        >>> Metric("reward", better="higher").rank({"A": 1.0, "B": 2.0, "C": 1.0})
        ['B', 'A', 'C']
        """
        return sorted(means, key=lambda name: means[name], reverse=self.better == "higher")

    def of(self, arm: int | str) -> Self:
        """Return the metric of one arm, given by its number or by its name as text."""
        name_in_words = f"{self.words}, arm {arm}"
        return replace(self, name=f"{self.name}[{arm}]", words=name_in_words, per_arm=False)


REGRET: Final = Metric("regret", "cumulative regret", drawn="from 0")
REWARD: Final = Metric(
    "cumulative_reward", "cumulative reward", better="higher", drawn="from 0", detail=True
)
LAST_FEEDBACK_TIME: Final = Metric("clock", "time until all feedback is back", drawn="from 0")
"""The metric of simulations with workers: see `keyhole.simulate`."""
STOP_METRICS: Final = (
    Metric("rounds_used", "rounds used", drawn="from 0"),
    Metric("unfinished", "share of runs with arms left to settle", drawn="share"),
    Metric("settled", "share of arms settled", better="higher"),
    Metric("wrong_settled", "share of all arms settled wrongly"),
    Metric("any_wrong_settled", "chance of any arm settled wrongly", drawn="share"),
    Metric("wrong_of_settled", "share of the settled arms that are wrong"),
)
"""The metrics of simulations with a policy that can stop: see `keyhole.policy.Policy.verdicts`.

An arm is settled wrongly if its verdict breaks the guarantee, which may allow a tolerance.
"""
ADDED_METRICS: Final = {metric.name: metric for metric in (*STOP_METRICS, LAST_FEEDBACK_TIME)}
"""The metrics that simulations add to the metrics of environments, by name."""
PULLS: Final = Metric("pulls", drawn="from 0", per_arm=True, detail=True)
