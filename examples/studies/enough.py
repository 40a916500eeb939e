"""Label birds until it is enough: a study says when, with a guarantee.

Of each of 108 pictures 39 people said whether it shows an indigo bunting. Here a label of a picture
is one of theirs, drawn at random. A study settles a picture once its labels prove, at 5 %, that
more or fewer than half of the people see a bunting; shares within 0.05 of a half may be settled
either way. Beside it: the fixed number of labels a picture that gives the same guarantee.

    python examples/studies/enough.py [MOST LABELS]
"""

import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from keyhole.data import load_labels
from keyhole.study import Study
from keyhole.thresholding import PerArmStopping

DELTA, TOLERANCE = 0.05, 0.05


def wrong_majority(labels: int) -> float:
    """Return the chance that half of the labels or more are 1 where their mean is .5 - .05."""
    mean = 0.5 - TOLERANCE
    logs = [math.lgamma(labels + 1) - math.lgamma(k + 1) - math.lgamma(labels - k + 1)
            + k * math.log(mean) + (labels - k) * math.log1p(-mean)
            for k in range((labels + 1) // 2, labels + 1)]  # fmt: skip
    return math.fsum(map(math.exp, logs))


def fixed_labels() -> int:
    """Return the least number of labels from which on a majority is wrong at most at 5 %."""
    return 1 + max(n for n in range(1, 1000) if wrong_majority(n) > DELTA)


def main(most: int = 100_000, seed: int = 1) -> None:
    """Label until the study is done, and say what it took."""
    birds, rng = load_labels("bluebirds"), np.random.default_rng(seed)
    means = dict(zip(birds.items, birds.means, strict=True))
    policy = PerArmStopping(delta=DELTA, tolerance=TOLERANCE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "birds.db"
        given = {"threshold": 0.5, "durability": "process_crash"}
        with Study.create(file, "birds", policy, birds.items, **given) as study:
            labels = 0
            while labels < most and not study.is_done:
                decision = study.ask()
                study.tell(decision.id, bool(rng.random() < means[decision.arm]))
                labels += 1
            settled, left = study.settled, study.remaining
    wrong = [
        picture
        for picture, verdict in settled.items()
        if abs(means[picture] - 0.5) >= TOLERANCE and (verdict == "above") != (means[picture] > 0.5)
    ]
    each = labels / len(means)
    print(f"{labels} labels, {each:.0f} a picture; a fixed number: {fixed_labels()} a picture")
    print(f"settled: {len(settled)} of {len(means)} pictures, {len(left)} left")
    print(f"wrong by {TOLERANCE} or more: {len(wrong)}, at most {DELTA * len(means):.1f} expected")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
