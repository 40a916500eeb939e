"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source
from keyhole.thresholding.problem import Problem
from keyhole.thresholding.watched import Watched

SOURCES: Final = {
    "means": Source("the mean reward of each arm, in [0, 1]", Problem),
    "watched": Source(
        "the mean reward of each arm; means are held against Lemma 19 of Tao et al. (2019)",
        Watched,
    ),
    "samples": Source("recorded rewards: a list for each arm", Problem.replay, without=("gold",)),
}
