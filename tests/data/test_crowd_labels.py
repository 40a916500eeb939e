import csv
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.data import Labels, load_labels, read_labels_csv
from keyhole.data.crowd_labels import BUNDLED

CROWD = Path(str(resources.files("keyhole.data"))) / "crowd"
DATA_FILES = sorted(path for path in CROWD.iterdir() if path.suffix == ".csv")


class Summary(NamedTuple):
    """What the raw labels' own summary table says of a set."""

    rows: int
    items: int
    mean_label: float
    fewest: int
    median: float
    most: int
    mean_gt_half: int
    mean_eq_half: int
    within_a_tenth_of_half: int
    gold_items: int
    gold_mean: float | None
    majority_right: int | None


SUMMARIES = {
    "bluebirds": Summary(4212, 108, 0.379155, 39, 39, 39, 32, 0, 22, 108, 0.444444, 82),
    "ducks": Summary(9600, 240, 0.551146, 40, 40, 40, 158, 6, 70, 240, 0.416667, 162),
    "adult_content_hcomp2010": Summary(44373, 496, 0.714038, 86, 90, 90, 370, 3, 56, 0, None, None),
    "hitspam_crowdflower": Summary(42762, 5380, 0.379005, 2, 7, 66, 2198, 0, 0, 100, 0.31, 66),
    "sentiment_polarity": Summary(
        27746, 4999, 0.534419, 4, 5, 10, 2526, 181, 772, 4999, 0.5005, 4338
    ),
    "sentiment_polarity_amt": Summary(10000, 500, 0.5011, 20, 20, 20, 251, 5, 18, 500, 0.51, 469),
}


def summary(labels: Labels) -> Summary:
    """Summarise as the table does, comparing twice the ones with the counts to stay exact."""
    twice, counts, known = 2 * labels.ones, labels.counts, labels.gold >= 0
    right = np.where(labels.gold == 1, twice > counts, twice < counts) & known
    return Summary(
        rows=int(counts.sum()),
        items=labels.arms,
        mean_label=round(float(labels.ones.sum() / counts.sum()), 6),
        fewest=int(counts.min()),
        median=float(np.median(counts)),
        most=int(counts.max()),
        mean_gt_half=int((twice > counts).sum()),
        mean_eq_half=int((twice == counts).sum()),
        within_a_tenth_of_half=int((5 * np.abs(twice - counts) <= counts).sum()),
        gold_items=int(known.sum()),
        gold_mean=round(float(labels.gold[known].mean()), 6) if known.any() else None,
        majority_right=int(right.sum()) if known.any() else None,
    )


# the shipped sets


@pytest.mark.parametrize("name", BUNDLED)
def test_shipped_set_agrees_with_the_summary_of_the_raw_labels(name: str) -> None:
    assert summary(load_labels(name)) == SUMMARIES[name]


def test_every_shipped_file_has_a_name_and_every_name_a_file() -> None:
    assert {path.stem for path in DATA_FILES} == set(BUNDLED) == set(SUMMARIES)


def test_mean_is_the_share_of_ones_of_each_item() -> None:
    ducks = load_labels("ducks")
    np.testing.assert_array_equal(ducks.means * ducks.counts, ducks.ones)
    assert ducks.means.shape == (ducks.arms,) == (240,)


def test_all_labels_of_a_hitspam_item_agree() -> None:
    assert set(load_labels("hitspam_crowdflower").means) == {0.0, 1.0}


def test_set_without_gold_says_so() -> None:
    labels = load_labels("adult_content_hcomp2010")
    assert not labels.has_gold
    assert repr(labels).endswith("mean label 0.714, no gold)")
    assert load_labels("hitspam_crowdflower").has_gold


def test_unknown_name_is_refused_with_the_nearest_and_all_names() -> None:
    with pytest.raises(ValueError, match=r"got 'blubirds' \(did you mean 'bluebirds'\?\)") as error:
        load_labels("blubirds")
    assert all(name in str(error.value) for name in BUNDLED)


def test_name_must_be_a_name_and_not_a_path() -> None:
    with pytest.raises(ValueError, match="must be one of"):
        load_labels("../crowd/ducks")


@pytest.mark.parametrize("path", DATA_FILES, ids=lambda path: path.stem)
def test_source_licence_and_change_are_stated_in_file_object_and_readme(path: Path) -> None:
    labels = load_labels(path.stem)
    readme = (CROWD / "README.md").read_text(encoding="utf-8")
    top = path.read_text(encoding="utf-8").splitlines()[:4]
    assert top[0] == f"# name: {path.stem}"
    assert top[1] == f"# source: {labels.source}"
    assert top[2] == f"# licence: {labels.licence}"
    assert top[3].startswith("# changes: reduced from one row per label")
    address, commit = re.findall(r"^(\S+), commit (\w{40}), ", labels.source)[0]
    spdx, notice = re.findall(r"^(\S+), see (\S+)$", labels.licence)[0]
    assert spdx in ("BSD-3-Clause-Clear", "Apache-2.0")
    assert (CROWD / notice).is_file()
    for named in (path.name, f"https://{address}", commit, notice):
        assert named in readme


@pytest.mark.parametrize(
    ("notice", "phrase"),
    [
        ("LICENSE-cubam-Clear-BSD.txt", "Copyright (c) 2011-2012 Peter Welinder, Caltech."),
        ("LICENSE-Apache-2.0.txt", "Version 2.0, January 2004"),
    ],
)
def test_licence_notice_is_shipped_in_full(notice: str, phrase: str) -> None:
    text = (CROWD / notice).read_text(encoding="utf-8")
    assert phrase in text
    assert "WARRANTIES" in text.upper()


def test_importing_the_data_package_does_not_import_pyarrow() -> None:
    code = "import sys, keyhole.data; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Labels


def make(**changes: Any) -> Labels:
    fields: dict[str, Any] = {
        "name": "few",
        "items": ("a", "b"),
        "ones": np.array([1, 0]),
        "counts": np.array([2, 1]),
        "gold": np.array([1, -1]),
    }
    return Labels(**(fields | changes))


def test_arrays_are_read_only_copies_of_fixed_type() -> None:
    ones = np.array([1, 0], dtype=np.uint8)
    labels = make(ones=ones)
    ones[0] = 0
    assert labels.ones.tolist() == [1, 0]
    assert [a.dtype for a in (labels.ones, labels.counts, labels.gold)] == ["i8", "i8", "i1"]
    with pytest.raises(ValueError, match="read-only"):
        labels.ones[0] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": ()}, "items must have at least one entry, got none"),
        ({"items": ("a", "a")}, "items must differ, got 'a' twice"),
        ({"ones": np.array([1])}, r"ones must have shape \(2,\), got \(1,\)"),
        ({"ones": np.array([3, 0])}, r"ones\[0\] must lie between 0 and .*, got 3"),
        ({"ones": np.array([1, -1])}, r"ones\[1\] must lie between 0 and .*, got -1"),
        ({"counts": np.array([2, 0])}, r"counts\[1\] must be at least 1, got 0"),
        ({"gold": np.array([1, 2])}, r"gold\[1\] must be 0, 1 or -1, got 2"),
        ({"gold": np.array([257, 0])}, r"gold\[0\] must fit into int8, got"),
    ],
)
def test_labels_refuse_values_that_are_not_allowed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        make(**changes)


def test_labels_refuse_numbers_that_are_not_whole() -> None:
    with pytest.raises(TypeError, match="ones must hold whole numbers, got float64"):
        make(ones=np.array([0.5, 0.0]))


# CSV files


def write(folder: Path, *lines: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_bytes("\n".join(lines).encode())
    return path


def test_items_keep_the_order_of_first_appearance(tmp_path: Path) -> None:
    labels = read_labels_csv(write(tmp_path, "item,label", "b,1", "a,0", "b,0", "", "c,1", ""))
    assert labels.items == ("b", "a", "c")
    assert labels.ones.tolist() == [1, 0, 1]
    assert labels.counts.tolist() == [2, 1, 1]
    assert labels.gold.tolist() == [-1, -1, -1]
    assert (labels.name, labels.licence) == ("labels", "")
    assert labels.source == str(tmp_path / "labels.csv")


def test_columns_may_come_in_any_order_and_others_are_ignored(tmp_path: Path) -> None:
    lines = ["gold,seconds,Label,worker, ITEM", "1,3,1,ann, x", ",4,0,bob,x", "0,,0,ann,y"]
    labels = read_labels_csv(write(tmp_path, *lines))
    assert labels.items == ("x", "y")
    assert labels.means.tolist() == [0.5, 0.0]
    assert labels.gold.tolist() == [1, 0]


def test_true_and_false_spaces_and_byte_order_mark_are_understood(tmp_path: Path) -> None:
    lines = ["\ufeffitem,label,gold", "a,TRUE,False", "a, false ,0", 'a, "1", ']
    labels = read_labels_csv(write(tmp_path, *lines))
    assert (labels.ones.tolist(), labels.counts.tolist(), labels.gold.tolist()) == ([2], [3], [0])


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = write(tmp_path, "Picture,is duck,truth,label", "a,1.0,0,x", "b,0.0,,x")
    labels = read_labels_csv(path, item="picture", label="Is duck ", gold="truth")
    assert labels.items == ("a", "b")
    assert (labels.ones.tolist(), labels.gold.tolist()) == ([1, 0], [0, -1])
    assert not read_labels_csv(path, item="picture", label="is duck").has_gold


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"item": "picture"},
            "the header must have one column picture, got ['item', 'label']; other names: ",
        ),
        ({"gold": "truth"}, "the header must have one column truth, got ['item', 'label']"),
        ({"label": "ITEM"}, "item, label and gold must differ, got 'item' twice"),
        ({"item": 3}, "item must be a text, got 3"),
    ],
)
def test_other_names_are_checked(tmp_path: Path, names: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        read_labels_csv(write(tmp_path, "item,label", "a,1"), **names)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,0.5,1"], "line 2: duck must be 0 or 1, got '0.5'"),
        ([" ,1,1"], "line 2: picture must not be empty, got ''"),
        (["a,1,2"], "line 2: truth must be 0, 1 or empty, got '2'"),
        (["a,1,1", "a,1,0"], "line 3: truth of picture 'a' must be 1 as before, got '0'"),
    ],
)
def test_bad_values_are_named_as_their_columns(
    tmp_path: Path, rows: list[str], message: str
) -> None:
    path = write(tmp_path, "picture,duck,truth", *rows)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_labels_csv(path, item="picture", label="duck", gold="truth")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ending_is_understood_and_counted(tmp_path: Path, end: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(end.join(["item,label", "a,1", "", "b,x"]).encode())
    with pytest.raises(ValueError, match="line 4: label must be 0 or 1, got 'x'"):
        read_labels_csv(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["item,label", "a,1", "a,maybe"], ", line 3: label must be 0 or 1, got 'maybe'"),
        (["item,label", "a,"], ", line 2: label must be 0 or 1, got ''"),
        (["item,label", "a,2"], ", line 2: label must be 0 or 1, got '2'"),
        (["item,label", " ,1"], ", line 2: item must not be empty, got ''"),
        (["item,label", "a,1,0"], ", line 2: the row must have 2 fields, got 3"),
        (["item,label,gold", "a,1"], ", line 2: the row must have 3 fields, got 2"),
        (["item,label,gold", "a,1,?"], ", line 2: gold must be 0, 1 or empty, got '?'"),
        (
            ["item,label,gold", "a,1,1", "b,0,0", "a,1,", "a,0,0"],
            ", line 5: gold of item 'a' must be 1 as before, got '0'",
        ),
        (
            ["a,1", "b,0"],
            ", line 1: the header must have one column item, got ['a', '1']; other names: "
            "read_labels_csv(..., item=..., label=...), or labels = { file = ..., item = ..., "
            "label = ... } in a spec",
        ),
        (
            ["item;label", "a;1"],
            ", line 1: the header must have one column item, got ['item;label']"
            ": columns are separated by semicolons: give delimiter=';' "
            "(in a shell --delimiter ';')",
        ),
        (
            ["", "item,label,Label", "a,1,0"],
            ", line 2: the header must have one column label, got ['item', 'label', 'label']; "
            "other names: read_labels_csv(..., item=..., label=...), or labels = { file = ..., "
            "item = ..., label = ... } in a spec",
        ),
        (["item,label"], ": at least one row must follow the header, got none"),
        ([], ": the file must start with a header, got an empty file"),
        (["", " "], ": the file must start with a header, got an empty file"),
        (
            ["item,label", '"a,1', "b,0"],
            ", line 3: the row must be valid CSV, got an error: unexpected end of data",
        ),
    ],
)
def test_bad_file_is_refused_by_line_and_field(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path) + message)}$"):
        read_labels_csv(path)


def test_bytes_that_are_not_utf8_are_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes("item,label\ncafé,1\n".encode("latin-1"))
    with pytest.raises(
        ValueError, match=r"labels.csv, line 2: the text must be UTF-8, got byte 0xe9"
    ):
        read_labels_csv(path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"none\.csv must be a text file; there is no such file"
    ):
        read_labels_csv(tmp_path / "none.csv")


def test_path_may_be_a_string(tmp_path: Path) -> None:
    assert read_labels_csv(str(write(tmp_path, "item,label", "a,1"))).arms == 1


ITEMS = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip())
BITS = {"0": 0, "1": 1, "1.0": 1, " 0.0": 0, "true": 1, "False": 0, "TRUE": 1}


@settings(deadline=None)
@given(
    rows=st.lists(ITEMS, min_size=1, max_size=4, unique_by=str.strip).flatmap(
        lambda items: st.lists(
            st.tuples(st.sampled_from(items), st.sampled_from(sorted(BITS))), min_size=1
        )
    ),
    golds=st.lists(st.sampled_from(["0", "1", ""]), min_size=4, max_size=4),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    golds: list[str],
    quoting: Any,
) -> None:
    items = list(dict.fromkeys(item.strip() for item, _ in rows))
    gold = dict(zip(items, golds, strict=False))
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=quoting)
        writer.writerow(["country", "item", "label", "gold"])
        writer.writerows([["w", item, label, gold[item.strip()]] for item, label in rows])
    labels = read_labels_csv(path)
    bits = {item: [BITS[label] for name, label in rows if name.strip() == item] for item in items}
    assert labels.items == tuple(items)
    assert labels.ones.tolist() == [sum(bits[item]) for item in items]
    assert labels.counts.tolist() == [len(bits[item]) for item in items]
    assert labels.gold.tolist() == [int(gold[item] or -1) for item in items]
