"""Measure the runs of random forests that are part of the package.

Every configuration is trained on the same tasks, on one processor; scikit-learn is needed. Rewards
depend on the seed and the version of scikit-learn, times also on the machine. Usage::

    python tools/measure_forests.py [--runs RUNS] [--seed SEED] [--out FOLDER]
"""

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Final

from keyhole.data.random_forest_training import CONFIGURATIONS, load_houses, train_and_score
from keyhole.validation import Range, check_integer

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "ames"


def measure_forests(runs: int, seed: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield arm, reward, CPU seconds and limit ("" for none) of each run of each configuration.

    The configurations take turns, so that other load on the machine affects all alike.
    """
    load_houses()
    # The seeds are those of the runs of `ForestTrainer`, whose numbers begin with 1.
    for task, configuration in product(range(seed + 1, seed + 1 + runs), CONFIGURATIONS):
        began = time.process_time()  # other programs on the machine do not lengthen it
        reward = train_and_score((configuration, task))
        yield str(configuration), f"{reward:.6g}", f"{time.process_time() - began:.6g}", ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the table.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Measure the shipped runs of random forests.")
    parser.add_argument("--runs", type=int, default=40, help="of each configuration")
    parser.add_argument("--seed", type=int, default=0, help="of tasks and forests")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    given = parser.parse_args(arguments)
    check_integer("runs", given.runs, Range(ge=1))
    # Arm by arm, in the order of the configurations.
    order = {str(configuration): i for i, configuration in enumerate(CONFIGURATIONS)}
    runs = sorted(measure_forests(given.runs, given.seed), key=lambda run: order[run[0]])
    # Opened after measuring, which may be broken off: by default it is the file that ships.
    with (given.out / "forests.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("arm", "reward", "consumption", "limit"))
        rows.writerows(runs)


if __name__ == "__main__":
    main()
