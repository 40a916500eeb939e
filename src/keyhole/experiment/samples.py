"""Recorded rewards, from a list or a CSV file."""

from pathlib import Path
from typing import Any

from keyhole.data import read_rewards_csv
from keyhole.experiment.sources import a_file


def samples(value: Any, folder: Path) -> Any:
    """Return the rewards of every arm that an entry holds, or that its file holds.

    Parameters
    ----------
    value : list of list of float, or str
        The rewards, or the name of a file for `keyhole.data.read_rewards_csv`.
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
    return list(read_rewards_csv(a_file("entry", value, folder)).values())
