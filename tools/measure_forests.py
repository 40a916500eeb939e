"""Measure the runs of random forests that are part of the package.

Every configuration is trained on the same tasks, on one processor; scikit-learn is needed. Rewards
depend on the seed and the version of scikit-learn, times also on the machine. Usage::

    python tools/measure_forests.py [--runs RUNS] [--seed SEED] [--out FOLDER]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from keyhole.data import measure_forests

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "ames"


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
    measure_forests(given.runs, seed=given.seed).save(given.out / "forests.csv")


if __name__ == "__main__":
    main()
