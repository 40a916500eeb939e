"""Make the package's files of crowdsourced labels from the raw labels.

The raw files have one row per label: ``NAME.parquet`` with the columns ``item``, ``label`` and, if
there are gold labels, ``gold``. The output has counts per item. Usage::

    python tools/reduce_crowd_labels.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "crowd"


@dataclass(frozen=True)
class Repository:
    """Repository in which labels were published, with its licence."""

    address: str
    commit: str
    licence: str
    notice: str


CUBAM: Final = Repository(
    "github.com/welinder/cubam",
    "fe5ba700f1adbb489c69af311558d64370d73d36",
    "BSD-3-Clause-Clear",
    "LICENSE-cubam-Clear-BSD.txt",
)
GET_ANOTHER_LABEL: Final = Repository(
    "github.com/ipeirotis/Get-Another-Label",
    "9fe6c56a7a157dba1a12018f696bad56806125b7",
    "Apache-2.0",
    "LICENSE-Apache-2.0.txt",
)
ACTIVE_CROWD_TOOLKIT: Final = Repository(
    "github.com/orchidproject/active-crowd-toolkit",
    "2c0c194e85ca126545bd830d811ec39151bdd448",
    "Apache-2.0",
    "LICENSE-Apache-2.0.txt",
)

SETS: Final = {
    "bluebirds": (CUBAM, "demo/bluebirds/{labels,gt}.yaml", ""),
    "ducks": (
        CUBAM,
        "demo/ducks/{labels.txt,classes.yaml}",
        "gold derived from the species (1 for ducks)",
    ),
    "adult_content_hcomp2010": (
        GET_ANOTHER_LABEL,
        "data/AdultContent3-HCOMP2010/labels.txt",
        "labels derived from the ratings (0 for G, 1 for every other)",
    ),
    "hitspam_crowdflower": (
        GET_ANOTHER_LABEL,
        "data/HITspam-UsingCrowdflower/{labels,gold}.txt",
        "",
    ),
    "sentiment_polarity": (ACTIVE_CROWD_TOOLKIT, "Data/SP.csv", ""),
    "sentiment_polarity_amt": (ACTIVE_CROWD_TOOLKIT, "Data/SP_amt.csv", ""),
}
"""For each set: its repository, its files, and derivations beyond counting."""


def header(name: str) -> list[str]:
    """Return the lines at the top of a file: origin, licence, changes, column names.

    Parameters
    ----------
    name : str
        The set.

    Returns
    -------
    list of str
        The lines.
    """
    home, files, derived = SETS[name]
    changes = "reduced from one row per label to counts per item"
    return [
        f"# name: {name}",
        f"# source: {home.address}, commit {home.commit}, {files}",
        f"# licence: {home.licence}, see {home.notice}",
        f"# changes: {changes}; {derived}" if derived else f"# changes: {changes}",
        "item,ones,labels,gold",
    ]


def reduce(table: pa.Table) -> list[str]:
    """Count the labels of each item.

    Parameters
    ----------
    table : pyarrow.Table
        One row per label.

    Returns
    -------
    list of str
        For each item, in the order of first appearance: its code, the number of its labels 1, the
        number of all its labels, and its gold value or nothing; separated by commas.

    Raises
    ------
    ValueError
        If a label is neither 0 nor 1, or an item has two gold values.
    """
    items = table["item"].to_pylist()
    labels = table["label"].to_pylist()
    golds = table["gold"].to_pylist() if "gold" in table.column_names else [None] * len(items)
    gold_of = dict(zip(items, golds, strict=True))
    ones, counts = dict.fromkeys(items, 0), dict.fromkeys(items, 0)
    for item, label, gold in zip(items, labels, golds, strict=True):
        if label not in (0, 1):
            raise ValueError(f"label of item {item} must be 0 or 1, got {label}")
        if gold != gold_of[item]:
            raise ValueError(f"gold of item {item} must be one value, got {gold} and others")
        ones[item] += label
        counts[item] += 1
    return [
        f"{item},{ones[item]},{counts[item]},{'' if gold is None else gold}"
        for item, gold in gold_of.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the reduced file of every set.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped crowd label files.")
    parser.add_argument("raw", type=Path, help="folder with NAME.parquet for each set")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    for name in SETS:
        lines = header(name) + reduce(pq.read_table(folders.raw / f"{name}.parquet"))
        text = "".join(f"{line}\n" for line in lines)
        (folders.out / f"{name}.csv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
