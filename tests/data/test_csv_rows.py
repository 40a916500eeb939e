"""Of a file with bad rows, an error names the first few by their lines, and counts the others."""

import re

import pytest

from keyhole.data import (
    csv_rows,
    read_conversions_csv,
    read_events_csv,
    read_labels_csv,
    read_measured_csv,
    read_rewards_csv,
)
from keyhole.data.csv_rows import read_rows

BAD = "label must be 0 or 1, got"


@pytest.fixture
def write(tmp_path):
    def write_rows(*rows):
        path = tmp_path / "labels.csv"
        path.write_text("\n".join(["item,label", *rows]))
        return path

    return write_rows


def refusal(path, read=read_labels_csv):
    with pytest.raises(ValueError, match=r"labels\.csv, line ") as caught:
        read(path)
    return str(caught.value).removeprefix(f"{path}, ")


def test_all_bad_rows_are_named_if_they_are_few(write):
    path = write("a,1", "a,x", "", "b,0", "b", ",1")
    expected = (
        f"line 3: {BAD} 'x'; line 6: the row must have 2 fields, got 1; "
        "line 7: item must not be empty, got ''"
    )
    assert refusal(path) == expected


@pytest.mark.parametrize(("count", "end"), [(5, "'6'"), (6, "1 more row"), (9, "4 more rows")])
def test_of_many_bad_rows_five_are_named(write, count, end):
    said = refusal(write(*(f"a,{label}" for label in range(count + 2)))).split("; ")
    assert said[:5] == [f"line {line}: {BAD} '{line - 2}'" for line in range(4, 9)]
    assert len(said) == (5 if count == 5 else 6)
    assert said[-1].endswith(end)


def test_a_file_of_many_bad_rows_is_not_read_to_its_end(write, monkeypatch):
    monkeypatch.setattr(csv_rows, "_MOST_READ", 7)
    assert refusal(write(*["a,x"] * 20)).endswith("; and at least 2 more rows")


def test_after_a_row_that_is_not_csv_nothing_is_read(write):
    said = refusal(write("a,x", '"a"b,1', "a,x"))
    start = f"line 2: {BAD} 'x'; line 3: the row must be valid CSV, got an error: "
    assert said.startswith(start)
    assert said.count("line") == 2


def test_of_long_messages_the_middle_is_left_out_where_there_are_several(write):
    long = "8" * 300
    assert refusal(write(f"a,{long}")) == f"line 2: {BAD} '{long}'"
    said = refusal(write(f"a,{long}", "b,x"))
    first = f"{BAD} '{long}'"
    assert said == f"line 2: {first[:100]} ... {first[-80:]}; line 3: {BAD} 'x'"


def test_all_readers_of_rows_name_several(write):
    def read(path):
        read_rows(path, ["item", "label"], add)

    def add(item, label):
        if item == label:
            raise ValueError("item and label must differ")

    path = write("a,a", "a,b", "b,b")
    words = "item and label must differ"
    assert refusal(path, read) == f"line 2: {words}; line 4: {words}"


def test_blank_lines_before_the_header_are_ignored_by_all(tmp_path):
    path = tmp_path / "rewards.csv"
    path.write_text("\n\narm,reward,item,label\na,1,b,0\n")
    assert read_rewards_csv(path) == {"a": [1.0]}
    assert read_labels_csv(path).items == ("b",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_in_words(tmp_path, encoding):
    path = tmp_path / "rewards.csv"
    path.write_bytes("arm,reward\na,1\n".encode(encoding))
    with pytest.raises(ValueError, match=r"rewards\.csv is UTF-16: save it as UTF-8"):
        read_rewards_csv(path)


LOOKALIKES = [
    ("red", "red\u200b"),
    ("red", "\ufeffred"),
    ("red", "\u202ered"),
    ("dark red", "dark\xa0red"),
    ("caf\xe9", "cafe\u0301"),
]


@pytest.mark.parametrize(("first", "second"), LOOKALIKES)
def test_names_that_look_alike_are_told_apart_with_a_warning(tmp_path, first, second):
    files = {
        read_rewards_csv: f"arm,reward\n{first},1\n{second},1\n",
        read_labels_csv: f"item,label\n{first},1\n{second},1\n",
        read_events_csv: f"day,place,events\n2024-05-01,{first},1\n2024-05-01,{second},1\n",
        read_conversions_csv: f"shown_at,converted_at,arm\n2024-05-01,,{first}\n"
        f"2024-05-01,,{second}\n",
        read_measured_csv: f"arm,reward,consumption\n{first},1,1\n{second},1,1\n",
    }
    names = f"{first!a} and {second!a} look alike, but are two names"
    for number, (read, text) in enumerate(files.items()):
        path = tmp_path / f"{number}.csv"
        path.write_text(text, "utf-8")
        with pytest.warns(UserWarning, match=re.escape(names)):
            read(path)
    rewards = tmp_path / "0.csv"
    with pytest.warns(UserWarning, match="look alike"):
        assert list(read_rewards_csv(rewards)) == [first, second]
