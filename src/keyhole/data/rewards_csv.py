"""Reader of the user's files of recorded rewards, one list of numbers for each option (arm)."""

from os import PathLike

from keyhole.data.csv_rows import parse_number, read_rows
from keyhole.validate import ANY, Range, check_names, check_number


def read_rewards_csv(
    path: str | PathLike[str], *, delimiter: str = ",", decimal: str = "."
) -> dict[str, list[float]]:
    r"""Read recorded rewards from a CSV file with one row for each reward.

    The first row names the columns: ``arm`` and ``reward``; other columns and blank lines are
    ignored. The problems' ``replay`` accepts the result. Where outcomes take time, leave out rows
    that are too young to have theirs: nothing here tells "not yet" from "never".

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    delimiter : str, default ","
        The sign between columns.
    decimal : {".", ","}, default "."
        The decimal sign.

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
    return read_rewards(path, ANY, delimiter=delimiter, decimal=decimal)


def read_rewards(
    path: str | PathLike[str], allowed: Range, *, delimiter: str = ",", decimal: str = "."
) -> dict[str, list[float]]:
    """Return recorded rewards in a range; errors name the file and the line."""
    arms: dict[str, list[float]] = {}

    def add(arm: str, reward: str) -> None:
        if not arm:
            raise ValueError("arm must not be empty, got ''")
        value = parse_number("reward", reward, decimal)
        arms.setdefault(arm, []).append(check_number("reward", value, allowed))

    read_rows(path, ("arm", "reward"), add, delimiter=delimiter)
    check_names("arms", arms)
    return arms
