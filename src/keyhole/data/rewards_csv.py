"""Reader of the user's files of recorded rewards, one list of numbers for each option (arm)."""

import math
from os import PathLike

from keyhole.data.csv_rows import read_rows
from keyhole.validate import ANY, Range, check_names, check_number


def read_rewards_csv(path: str | PathLike[str]) -> dict[str, list[float]]:
    r"""Read recorded rewards from a CSV file with one row for each reward.

    The first row names the columns: ``arm`` and ``reward``; other columns and blank lines are
    ignored. The problems' ``replay`` accepts the result.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "adverts.csv")
    ...     _ = path.write_text("arm,reward\nred,1\nblue,0.5\nred,0\n")
    ...     rewards = read_rewards_csv(path)
    >>> rewards
    {'red': [1.0, 0.0], 'blue': [0.5]}
    >>> from keyhole.stochastic import Problem
    >>> Problem.replay(rewards).means
    array([0.5, 0.5])
    """
    return read_rewards(path, ANY)


def read_rewards(path: str | PathLike[str], allowed: Range) -> dict[str, list[float]]:
    """Return recorded rewards in a range; errors name the file and the line."""
    arms: dict[str, list[float]] = {}

    def add(arm: str, reward: str) -> None:
        if not arm:
            raise ValueError("arm must not be empty, got ''")
        arms.setdefault(arm, []).append(check_number("reward", parse_reward(reward), allowed))

    read_rows(path, ("arm", "reward"), add)
    check_names("arms", arms)
    return arms


def parse_reward(text: str, column: str = "reward") -> float:
    """Return a reward that was written as a number; errors name its column."""
    try:
        value = math.nan if "_" in text else float(text)  # Python reads 1_0 as 10
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{column} must be a number, got {text!r}")
    return value
