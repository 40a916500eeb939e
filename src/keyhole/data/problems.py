"""Crowd labels as a bandit: an arm is an item, a pull one more of its labels."""

from os import PathLike

import numpy as np

from keyhole.data.labels import Labels, load_labels, read_labels_csv
from keyhole.thresholding import Problem


def crowd(name: str, threshold: float = 0.5) -> Problem:
    """Return a shipped set of crowd labels as a thresholding problem.

    A pull draws one of the item's labels with replacement, so an arm's mean is exactly the share
    of its labels that are 1. Items on the threshold are on neither side and never count as wrong.
    Where the set has gold labels, the metric ``gold_agreement`` is there too.

    Parameters
    ----------
    name : str
        One of bluebirds, ducks, adult_content_hcomp2010, hitspam_crowdflower,
        sentiment_polarity, sentiment_polarity_amt.
    threshold : float, default 0.5
        In (0, 1).

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ValueError
        If there is no such set; the nearest name is suggested.

    Examples
    --------
    >>> problem = crowd("bluebirds")
    >>> problem.arms, int(problem.labels.sum())
    (108, 32)
    """
    return as_problem(load_labels(name), threshold)


def read_crowd(path: str | PathLike[str], threshold: float = 0.5) -> Problem:
    """Return labels of your own as a thresholding problem; see `crowd`.

    Parameters
    ----------
    path : str or Path
        A CSV file of ``item,label[,worker,gold]`` rows: see `read_labels_csv`.
    threshold : float, default 0.5
        In (0, 1).

    Returns
    -------
    Problem
        The problem; arms in the order in which items first appear.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing, or a row is not allowed.
    """
    return as_problem(read_labels_csv(path), threshold)


def as_problem(labels: Labels, threshold: float = 0.5) -> Problem:
    """Return labels as a thresholding problem; see `crowd`."""
    samples = [
        np.arange(count) < ones for ones, count in zip(labels.ones, labels.counts, strict=True)
    ]
    gold = [None if g < 0 else bool(g) for g in labels.gold] if labels.has_gold else None
    return Problem.replay([s.astype(float) for s in samples], threshold, gold=gold)
