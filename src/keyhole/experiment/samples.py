"""Recorded rewards, from a list or a CSV file."""

import math
from pathlib import Path
from typing import Any

from keyhole.data.rows import read_rows
from keyhole.experiment.sources import a_file


def samples(value: Any, folder: Path) -> Any:
    """Return the rewards of every arm that an entry holds, or that its file holds.

    Parameters
    ----------
    value : list of list of float, or str
        The rewards, or the name of a file for `read_samples_csv`.
    folder : Path
        What the name is relative to.

    Returns
    -------
    list of list of float
        By arm; a list is returned as it is, to be checked by whoever makes the problem.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise TypeError(f"entry must be a list for each arm, or the name of a file, got {value!r}")
    return read_samples_csv(a_file("entry", value, folder))


def read_samples_csv(path: Path) -> list[list[float]]:
    r"""Read recorded rewards from a CSV file with one row per reward.

    The first row names the columns: ``arm`` and ``reward``; others are ignored, and so are blank
    lines. Arms keep the order of their first appearance: the first is arm 0.

    Parameters
    ----------
    path : Path
        The file, in UTF-8, separated by commas.

    Returns
    -------
    list of list of float
        The rewards of each arm, in the order of the rows.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not as above; the message names the line and the field.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "adverts.csv")
    ...     _ = path.write_text("arm,reward\nred,1\nblue,0.5\nred,0\n")
    ...     read_samples_csv(path)
    [[1.0, 0.0], [0.5]]
    """
    arms: dict[str, list[float]] = {}

    def add(arm: str, reward: str) -> None:
        if not arm:
            raise ValueError("arm must not be empty, got ''")
        arms.setdefault(arm, []).append(_number(reward))

    read_rows(path, ("arm", "reward"), add)
    return list(arms.values())


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"reward must be a number, got {text!r}")
    return value
