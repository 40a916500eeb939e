"""CPU times of random forests of scikit-learn, recorded for benchmarks.spaces.

``python -m benchmarks.recorded_forests`` fits 80 configurations to 80 small data sets, and writes
``benchmarks/recorded/forests.jsonl``. A run succeeds if its forest is on other data at
most .02 less accurate than a default forest with another seed. It takes some ten minutes.
"""

import time
from functools import partial

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.recorded_times import record

CUTOFF = 0.2  # seconds of CPU
SETS = 80
MARGIN = 0.02  # of accuracy
TABLE = {
    "n_estimators": {"range": [3, 200], "integer": True, "log": True, "default": 100},
    "max_features": {"range": [0.05, 1.0], "default": 0.3},
    "min_samples_leaf": {"range": [1, 20], "integer": True, "log": True, "default": 1},
    "max_depth": {"range": [2, 20], "integer": True, "log": True, "default": 20},
    "criterion": {"categories": ["gini", "entropy"], "default": "gini"},
    "bootstrap": {"categories": [False, True], "default": True},
    "max_samples": {"range": [0.2, 0.99], "default": 0.99, "when": {"bootstrap": True}},
}


def make_sets():
    """Return data sets of five families, each with its split and the accuracy to be reached."""
    rng = np.random.default_rng(7)
    families = [
        lambda: load_digits(return_X_y=True),
        lambda: load_wine(return_X_y=True),
        lambda: load_breast_cancer(return_X_y=True),
        lambda: make_classification(
            400, 20, n_informative=int(rng.integers(3, 10)), flip_y=0.1, random_state=draw(rng)
        ),
        lambda: label_friedman(*make_friedman1(400, noise=1.0, random_state=draw(rng))),
    ]
    sets = []
    for number in range(SETS):
        features, labels = families[number % len(families)]()
        rows = rng.permutation(len(labels))[:400]
        split = train_test_split(
            features[rows], labels[rows], train_size=0.5, random_state=draw(rng)
        )
        forest = RandomForestClassifier(max_features=0.3, random_state=draw(rng))
        forest.fit(split[0], split[2])
        sets.append((split, forest.score(split[1], split[3]) - MARGIN))
    return sets


def draw(rng):
    """Return a seed for scikit-learn."""
    return int(rng.integers(2**31))


def label_friedman(features, numbers):
    """Return the features, and whether a number is above the median."""
    return features, numbers > np.median(numbers)


def fit_forests(sets, values):
    """Return the CPU seconds of a configuration on each data set, negative without success."""
    seconds = []
    for number, (split, accuracy) in enumerate(sets):
        train, test, train_labels, test_labels = split
        forest = RandomForestClassifier(**values, random_state=number)
        start = time.process_time()
        forest.fit(train, train_labels)
        score = forest.score(test, test_labels)
        duration = min(time.process_time() - start, CUTOFF)
        seconds.append(duration if score >= accuracy else -duration)
    return seconds


if __name__ == "__main__":
    record("forests", TABLE, CUTOFF, partial(fit_forests, make_sets()))
