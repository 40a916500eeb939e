"""Print the table of speeds.

``python -m benchmarks [--quick] [--all | --only SETTING|study|command_runs|clusters]``
"""

import argparse
import importlib
import os

from rich.console import Console
from rich.table import Table

from benchmarks import measure, targets
from keyhole.experiment.setting_registry import BUILT_IN

PARTS = (*BUILT_IN, "study", "command_runs", "clusters")


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, as a test")
    parser.add_argument("--only", choices=PARTS, help="one setting's policies, or one part")
    parser.add_argument("--all", action="store_true", help="also the policies of all settings")
    options = parser.parse_args()
    size = measure.QUICK if options.quick else measure.Size()
    table = Table("what", "value", "unit", "target", "")
    for column in table.columns[1:2]:
        column.justify = "right"
    chosen = PARTS if options.all else [options.only] if options.only else []
    parts = [importlib.import_module(f"benchmarks.{part}").rows for part in chosen]
    for part in parts if options.only else [*targets.PARTS, *measure.PARTS, *parts]:
        for row in part(size):
            met = {None: "", True: "ok", False: "missed"}[row.met]
            table.add_row(row.what, f"{row.value:.3g}", row.unit, row.target, met)
    console = Console(width=None if os.isatty(1) else 120)
    console.print(table)
    print(
        f"One thread by default, T = {size.horizon}, {size.replications} replications; "
        "medians; the two sides of a ratio take turns. The files of benchmarks/ have the instances."
    )


if __name__ == "__main__":
    main()
