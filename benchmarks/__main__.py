"""Print the table of speeds: ``python -m benchmarks [--quick] [--only ROOM|study]``."""

import argparse
import importlib
import os

from rich.console import Console
from rich.table import Table

from benchmarks import measure
from keyhole.experiment.rooms import OURS

PARTS = (*OURS, "study")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: numbers mean little")
    parser.add_argument("--only", choices=PARTS, help="the policies of one room, or studies")
    options = parser.parse_args()
    size = measure.QUICK if options.quick else measure.Size()
    table = Table("what", "value", "unit", "target", "")
    for column in table.columns[1:2]:
        column.justify = "right"
    names = PARTS if options.only is None else [options.only]
    parts = [importlib.import_module(f"benchmarks.{name}").rows for name in names]
    for part in parts if options.only else [*parts, *measure.PARTS]:
        for row in part(size):
            met = {None: "", True: "met", False: "MISSED"}[row.met]
            table.add_row(row.what, f"{row.value:.3g}", row.unit, row.target, met)
    console = Console(width=None if os.isatty(1) else 120)
    console.print(table)
    print(
        f"One thread unless said otherwise, T = {size.horizon}, {size.replications} replications; "
        "medians, ratios taken in turn. The instances stand in the files of benchmarks/."
    )


if __name__ == "__main__":
    main()
