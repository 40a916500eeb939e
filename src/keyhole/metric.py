"""What is measured of a policy: a name, words, and which of two values is better."""

from dataclasses import dataclass, replace
from typing import Final, Literal, Self, get_args

from keyhole.validate import check_choice, check_line

Better = Literal["lower", "higher"]
Drawn = Literal["mean", "from 0", "share", "ln(mean / arms)"]

PER_ARM_LOGARITHM: Final = "ln(mean / arms)"


@dataclass(frozen=True)
class Metric:
    """One number that a world writes at a checkpoint, and what is to be known of it.

    Parameters
    ----------
    name : str
        What kernels, specs and tables call it.
    words : str, optional
        What figures and reports call it; by default the name, with spaces.
    unit : str, optional
        In what it is counted, where the words leave that open.
    better : {"lower", "higher"}
        Which of two means is the better one; "lower" also of what is neither.
    drawn : {"mean", "from 0", "share", "ln(mean / arms)"}
        How figures show it: as a mean; on an axis that begins at 0; as the mean of what is 0 or 1
        in every replication, with the exact interval of a share; or as the logarithm of the mean
        per arm.
    per_arm : bool, default False
        Whether there is one for each arm; that of arm 1 is called ``pulls[1]``.
    detail : bool, default False
        Whether it is kept on request alone.

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
        """Check what was given, and make words of the name where there are none."""
        check_line("name", self.name)
        words = check_line(f"words of {self.name}", self.words or self.name.replace("_", " "))
        object.__setattr__(self, "words", words)
        check_choice(f"better of {self.name}", self.better, get_args(Better))
        check_choice(f"drawn of {self.name}", self.drawn, get_args(Drawn))

    @property
    def title(self) -> str:
        """What figures and reports call it, with its unit."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def best(self) -> Literal["lowest", "highest"]:
        """Which mean is the best of many."""
        return "lowest" if self.better == "lower" else "highest"

    def of(self, arm: int) -> Self:
        """Return the metric of one arm."""
        words = f"{self.words}, arm {arm}"
        return replace(self, name=f"{self.name}[{arm}]", words=words, per_arm=False)


# What most worlds measure.
REGRET: Final = Metric("regret", "cumulative regret", drawn="from 0")
REWARD: Final = Metric(
    "cumulative_reward", "cumulative reward", better="higher", drawn="from 0", detail=True
)
CLOCK: Final = Metric("clock", "time until all feedback is back", drawn="from 0")
"""Where decisions take time: see the workers of `keyhole.simulate`."""
PULLS: Final = Metric("pulls", drawn="from 0", per_arm=True, detail=True)
