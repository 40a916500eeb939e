"""Crowd labels as a thresholding bandit: an arm is an item, a pull one of its labels."""

import numpy as np

from keyhole.data.labels import Labels, load_labels
from keyhole.thresholding import Problem


def crowd(labels: str | Labels, threshold: float = 0.5, *, replacement: bool = True) -> Problem:
    """Make a problem in which an arm is an item, and a pull buys one label of it.

    A pull draws one of the item's recorded labels: an arm's mean is the share of its labels that
    are 1, known exactly. A policy spends the budget; an item is right if it lands on the crowd's
    side of the threshold. Items on the threshold itself count as right either way. Where right
    answers are known, the metric ``gold_agreement`` is added.

    Parameters
    ----------
    labels : str or Labels
        The name of a set that ships with the package (see `load_labels`), or labels of your own
        (see `read_labels_csv`).
    threshold : float, default 0.5
        In (0, 1).
    replacement : bool, default True
        Whether a recorded label can be drawn again: then the crowd is as large as the budget asks
        for, with the shares recorded. If not, a label can be bought once, and the budget is at
        most the number of labels. Asking once more for an item whose labels are all bought spends
        a round; it shows the share of them that are 1.

    Examples
    --------
    >>> problem = crowd("bluebirds")
    >>> problem.arms, int(problem.labels.sum())
    (108, 32)
    >>> problem.world.metrics[-1].title
    'share of gold labels met'
    >>> crowd("bluebirds", replacement=False).rounds
    4212
    """
    if isinstance(labels, str):
        labels = load_labels(labels)
    samples = [
        np.repeat([1.0, 0.0], [ones, count - ones])
        for ones, count in zip(labels.ones, labels.counts, strict=True)
    ]
    gold = [None if label < 0 else bool(label) for label in labels.gold]
    return Problem.replay(
        samples, threshold, replacement=replacement, gold=gold if labels.has_gold else None
    )
