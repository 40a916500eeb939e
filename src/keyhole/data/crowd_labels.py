"""Crowdsourced yes/no labels, as the problem of finding items that most workers label yes."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.data.csv_rows import check_column_names, check_whole_numbers, read_rows
from keyhole.data.recorded_deadline_times import read_bundled_table
from keyhole.text_formatting import count_text
from keyhole.thresholding import Problem
from keyhole.validation import check_choice, check_each, check_names

BUNDLED: Final = (
    "bluebirds",
    "ducks",
    "adult_content_hcomp2010",
    "hitspam_crowdflower",
    "sentiment_polarity",
    "sentiment_polarity_amt",
)
_UNKNOWN: Final = -1
_BITS: Final = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
_GOLD_COLUMN: Final = "gold"
_WORKERS: Final = ("worker", "annotator", "labeler", "rater", "user")
_WORKER_COLUMNS: Final = (*_WORKERS, *(f"{name}_id" for name in _WORKERS), "workerid")
_COLUMNS_HINT: Final = (
    "; other names: read_labels_csv(..., item=..., label=...), "
    "or labels = { file = ..., item = ..., label = ... } in a spec"
)


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Counts of crowdsourced binary labels of items.

    Parameters
    ----------
    name : str
        Name of the data set.
    items : tuple of str, shape (arms,)
        The items, each once; at least one.
    ones : ndarray of int64, shape (arms,)
        How many labels of each item are 1. The arrays are copied and made read-only.
    counts : ndarray of int64, shape (arms,)
        How many labels each item has; at least 1.
    gold : ndarray of int8, shape (arms,)
        Gold label of each item, 0 or 1; -1 where it is unknown.
    source, licence : str, default ""
        Source and licence of the labels.

    Examples
    --------
    >>> labels = Labels(
    ...     "cats",
    ...     items=("a.png", "b.png"),
    ...     ones=np.array([2, 1]),
    ...     counts=np.array([3, 1]),
    ...     gold=np.array([0, -1]),
    ... )
    >>> labels
    Labels(cats: 2 items, 4 labels, mean label 0.750, gold for 1 item)
    >>> labels.means.round(2)
    array([0.67, 1.  ])
    """

    name: str
    items: tuple[str, ...]
    ones: NDArray[np.int64]
    counts: NDArray[np.int64]
    gold: NDArray[np.int8]
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        """Check the values, and copy the arrays."""
        check_names("items", self.items)
        for name, dtype in (("ones", np.int64), ("counts", np.int64), ("gold", np.int8)):
            object.__setattr__(self, name, self._check_column(name, dtype))
        check_each("counts", self.counts, self.counts >= 1, "be at least 1")
        is_within = (self.ones >= 0) & (self.ones <= self.counts)
        check_each("ones", self.ones, is_within, "lie between 0 and the number of labels")
        is_gold = (self.gold >= _UNKNOWN) & (self.gold <= 1)
        check_each("gold", self.gold, is_gold, "be 0, 1 or -1")

    def _check_column(self, name: str, dtype: type[np.integer[Any]]) -> NDArray[Any]:
        values = check_whole_numbers(name, getattr(self, name))
        if values.shape != (self.arms,):
            raise ValueError(f"{name} must have shape ({self.arms},), got {values.shape}")
        column = values.astype(dtype)
        # `astype` wraps without an error: 300 as int8 is 44.
        check_each(name, values, column == values, f"fit into {column.dtype}")
        column.setflags(write=False)
        return column

    def __repr__(self) -> str:
        """Return the name, the sizes, the mean, and the number of gold labels."""
        total = int(self.counts.sum())
        gold_count = int((self.gold != _UNKNOWN).sum())
        mean = f"mean label {self.ones.sum() / total:.3f}"
        gold = f"gold for {count_text(gold_count, 'item')}" if gold_count else "no gold"
        sizes = f"{count_text(self.arms, 'item')}, {count_text(total, 'label')}"
        return f"Labels({self.name}: {sizes}, {mean}, {gold})"

    @property
    def arms(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def means(self) -> NDArray[np.float64]:
        """Share of each item's labels that are 1, shape (arms,)."""
        return self.ones / self.counts

    @property
    def has_gold(self) -> bool:
        """Whether any item has a gold label."""
        return bool((self.gold != _UNKNOWN).any())


def crowd_problem(
    labels: str | Labels, threshold: float = 0.5, *, replacement: bool = True
) -> Problem:
    """Make a problem in which an arm is an item, and a pull buys one of the item's labels.

    A pull draws one of the item's recorded labels, so that an arm's mean is exactly the share of
    its labels that are 1. An item is classified correctly if it is put on the side of the threshold
    where its mean is; if the mean equals the threshold, both sides are correct. If there are gold
    labels, the metric ``gold_agreement`` is added.

    Parameters
    ----------
    labels : str or Labels
        Name of a data set in the package (see `load_labels`), or the user's labels (see
        `read_labels_csv`).
    threshold : float, default 0.5
        In (0, 1).
    replacement : bool, default True
        Whether labels are drawn with replacement, which simulates a crowd of any size. If not, each
        label is bought once, and the budget is at most the number of labels. A further pull of an
        item without labels left costs a round and returns the share of its labels that are 1.

    Examples
    --------
    >>> problem = crowd_problem("bluebirds")
    >>> problem.arms, int(problem.labels.sum())
    (108, 32)
    >>> problem.environment.metrics[-1].title
    'share of gold labels met'
    >>> crowd_problem("bluebirds", replacement=False).rounds
    4212
    """
    if not isinstance(labels, Labels):
        labels = load_labels(check_choice("labels", labels, BUNDLED))
    # A replay draws single labels, so the counts are turned into lists of labels.
    samples = [
        np.repeat([1.0, 0.0], [ones, count - ones])
        for ones, count in zip(labels.ones, labels.counts, strict=True)
    ]
    gold = [None if label < 0 else bool(label) for label in labels.gold]
    return Problem.replay(
        samples, threshold, replacement=replacement, gold=gold if labels.has_gold else None
    )


def load_labels(name: str) -> Labels:
    """Return one of the data sets in the package.

    Parameters
    ----------
    name : {"bluebirds", "ducks", "adult_content_hcomp2010", "hitspam_crowdflower", \
"sentiment_polarity", "sentiment_polarity_amt"}
        Name of the data set.

    Examples
    --------
    >>> birds = load_labels("bluebirds")
    >>> birds
    Labels(bluebirds: 108 items, 4,212 labels, mean label 0.379, gold for 108 items)
    >>> birds.items[0], birds.means[0].round(3), birds.gold[0]
    ('11573', np.float64(0.692), np.int8(1))
    """
    check_choice("name", name, BUNDLED)
    notes, rows = read_bundled_table("crowd", f"{name}.csv")
    items, *columns = zip(*rows, strict=True)
    # Only a gold label may be empty.
    ones, counts, gold = (
        np.array([int(text or _UNKNOWN) for text in column]) for column in columns
    )
    return Labels(name, items, ones, counts, gold, notes["source"], notes["licence"])


def read_labels_csv(
    path: str | PathLike[str],
    *,
    item: str = "item",
    label: str = "label",
    gold: str = _GOLD_COLUMN,
    delimiter: str = ",",
) -> Labels:
    r"""Read labels from a CSV file with one row per label.

    The first row names the columns, in any order. A label is 0, 1, 0.0, 1.0, false or true. Gold is
    a label or empty, and rows of one item must not have different gold labels. The case of labels
    and of column names, blank lines, and spaces around a value are ignored. Items keep the order of
    their first appearance. An error names up to five bad rows.

    A column ``worker``, ``annotator``, ``labeler``, ``rater`` or ``user``, or one of these names
    with ``_id``, or ``workerid``, may say who gave the labels. Then a warning counts the rows that
    repeat the item and the worker of an earlier row, and names the line of the first repetition.
    Repetitions count as labels, too. Without such a column, equal rows are usual, and there is no
    warning.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    item, label, gold : str
        The names of the columns; other columns are ignored. The column of gold labels may be
        missing, unless `gold` is given a name other than the default.
    delimiter : str, default ","
        The sign between columns.

    Examples
    --------
    >>> import tempfile
    >>> rows = ["item,worker,label,gold", "cat,ann,1,1", "dog,ann,1,0", "cat,bob,1,", "dog,bob,0,"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     labels = read_labels_csv(path)
    >>> labels
    Labels(pets: 2 items, 4 labels, mean label 0.750, gold for 2 items)
    >>> labels.items, labels.means
    (('cat', 'dog'), array([1. , 0.5]))
    """
    columns = check_column_names(item=item, label=label, gold=gold)
    required_count = 2 if columns[-1] == _GOLD_COLUMN else 3
    tallies: dict[str, list[int]] = {}  # by item: labels that are 1, all labels, gold label

    def add(item: str, label: str, gold: str, *_: str) -> None:
        label_bit = _parse_label_bit(columns[1], label, "0 or 1")
        tally = tallies.setdefault(item, [0, 0, _UNKNOWN])
        tally[0] += label_bit
        tally[1] += 1
        if not gold:
            return
        gold_bit = _parse_label_bit(columns[2], gold, "0, 1 or empty")
        # Contradictory rows are refused: if one gold label were kept, the mistake would be hidden.
        if tally[2] not in (_UNKNOWN, gold_bit):
            raise ValueError(
                f"{columns[2]} of {columns[0]} {item!r} must be {tally[2]} as before, got {gold!r}"
            )
        tally[2] = gold_bit

    read_rows(
        path,
        columns[:required_count],
        add,
        (*columns[required_count:], *(name for name in _WORKER_COLUMNS if name not in columns)),
        delimiter=delimiter,
        hint=_COLUMNS_HINT,
        nonempty=columns[:1],
        identity_name="the item and the worker",
        identify=lambda item, label, gold, *workers: any(workers) and (item, *workers),
    )
    ones, counts, gold_labels = np.array([*tallies.values()]).T
    return Labels(Path(path).stem, tuple(tallies), ones, counts, gold_labels, source=str(path))


def _parse_label_bit(name: str, text: str, allowed: str) -> int:
    """Return a label as 0 or 1; errors begin with the name of its column."""
    if text.lower() not in _BITS:
        raise ValueError(f"{name} must be {allowed}, got {text!r}")
    return _BITS[text.lower()]
