"""Print the table of speeds: ``python -m benchmarks [--quick]``."""

import argparse
import os

from rich.console import Console
from rich.table import Table

from benchmarks.measure import PARTS, QUICK, Size


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: numbers mean little")
    size = QUICK if parser.parse_args().quick else Size()
    table = Table("what", "value", "unit", "target", "")
    for column in table.columns[1:2]:
        column.justify = "right"
    for part in PARTS:
        for row in part(size):
            met = {None: "", True: "met", False: "MISSED"}[row.met]
            table.add_row(row.what, f"{row.value:.3g}", row.unit, row.target, met)
    console = Console(width=None if os.isatty(1) else 120)
    console.print(table)
    print(
        f"One thread unless said otherwise, K = 10, Set-up 1, T = {size.horizon}, "
        f"{size.replications} replications; medians, ratios taken in turn."
    )


if __name__ == "__main__":
    main()
