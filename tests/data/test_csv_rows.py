"""Of a file with bad rows, an error names the first few by their lines, and counts the others."""

import re

import pytest

from keyhole.data import (
    csv_rows,
    read_conversions_csv,
    read_daily_counts_csv,
    read_labels_csv,
    read_measured_runs_csv,
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
    monkeypatch.setattr(csv_rows, "_MAX_BAD_ROWS", 7)
    assert refusal(write(*["a,x"] * 20)).endswith("; and at least 2 more rows")


def test_after_a_row_that_is_not_csv_nothing_is_read(write):
    said = refusal(write("a,x", '"a"b,1', "a,x"))
    start = f"line 2: {BAD} 'x'; line 3: the row must be valid CSV, got an error: "
    assert said.startswith(start)
    assert said.count("line") == 2


def test_long_messages_are_shorter_where_there_are_several(write):
    long = "8" * 300
    assert refusal(write(f"a,{long}")) == f"line 2: {BAD} '{long}'"
    first = f"{BAD} '{long}'"
    shortened = f"{first[:180]}... ({len(first)} characters in all)"
    assert refusal(write(f"a,{long}", "b,x")) == f"line 2: {shortened}; line 3: {BAD} 'x'"


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
    ("north", "North"),
    ("B2", "b2"),
]


@pytest.mark.parametrize(("first", "second"), LOOKALIKES)
def test_names_that_look_alike_are_told_apart_with_a_warning(tmp_path, first, second):
    files = {
        read_rewards_csv: f"arm,reward\n{first},1\n{second},1\n",
        read_labels_csv: f"item,label\n{first},1\n{second},1\n",
        read_daily_counts_csv: f"day,place,events\n2024-05-01,{first},1\n2024-05-01,{second},1\n",
        read_conversions_csv: f"shown_at,converted_at,arm\n2024-05-01,,{first}\n"
        f"2024-05-01,,{second}\n",
        read_measured_runs_csv: f"arm,reward,consumption\n{first},1,1\n{second},1,1\n",
    }
    names = f"{first!a} and {second!a} look alike, but are two names"
    for number, (read, text) in enumerate(files.items()):
        path = tmp_path / f"{number}.csv"
        path.write_text(text, "utf-8")
        with pytest.warns(UserWarning, match=re.escape(names)):
            read(path)
    rewards = tmp_path / "0.csv"
    with pytest.warns(UserWarning, match="look alike") as caught:
        assert list(read_rewards_csv(rewards)) == [first, second]
    assert [warning.filename for warning in caught] == [__file__]


def test_a_row_of_totals_is_warned_of_and_ids_may_differ_in_capitals(tmp_path):
    path = tmp_path / "rewards.csv"
    path.write_text("arm,reward\naB3x,1\nab3X,0\n")
    assert list(read_rewards_csv(path)) == ["aB3x", "ab3X"]
    path.write_text("arm,reward\nTotal,1\nred,1\nblue,0\n")
    with pytest.warns(UserWarning, match="'Total' is one of the arms: leave out a row of totals"):
        read_rewards_csv(path)


LOG = "shown_at,converted_at,arm\n"
COUNTED = "rows with .* of an earlier one: {}, the first in line {};"


def read(folder, text, reader=read_conversions_csv, **options):
    path = folder / "log.csv"
    path.write_text(text)
    return reader(path, **options)


@pytest.mark.parametrize(
    "row",
    [
        "2024-05-31 18:30:07,,a\n",
        "2024-05-31T18:30:00+02:00,2024-05-31T18:31:00+02:00,a\n",
        "2024-05-31T00:00:00.250,,a\n",
    ],
)
def test_repeated_impressions_are_counted_with_a_warning(tmp_path, row):
    with pytest.warns(UserWarning, match=COUNTED.format(2, 3)) as caught:
        log = read(tmp_path, LOG + 3 * row)
    assert len(log.delays[0]) == 3
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "row", ["2024-05-31,,a\n", "2024-05-31 18:30,2024-06-01,a\n", "2024-05-31 00:00:00,,a\n"]
)
def test_equal_rows_are_usual_where_times_do_not_say_the_second(tmp_path, row):
    assert len(read(tmp_path, LOG + 3 * row).delays[0]) == 3  # a warning is an error here
    assert len(read(tmp_path, f"{LOG}5,7,a\n5,7,a\n", unit=1).delays[0]) == 2


def test_equal_numbers_are_usual_where_there_are_no_times(tmp_path):
    text = "arm,reward,consumption\na,1,1500000001\na,1,1500000001\n"
    runs = read(tmp_path, text, read_measured_runs_csv)  # a warning is an error
    assert len(runs.rewards[0]) == 2


@pytest.mark.parametrize("worker", ["worker", "Annotator", "rater_id", "WorkerId"])
def test_a_second_label_of_an_item_by_one_worker_is_counted_with_a_warning(tmp_path, worker):
    rows = "x,1,ann\nx,1,bob\nx,1,ann\ny,1,ann\nx,0,ann\n"
    words = COUNTED.format(2, 4).replace(".*", "the item and the worker")
    with pytest.warns(UserWarning, match=words):
        labels = read(tmp_path, f"item,label,{worker}\n{rows}", read_labels_csv)
    assert labels.counts.tolist() == [4, 1]
    read(tmp_path, f"item,label,country\n{rows}", read_labels_csv)  # a warning is an error here
    read(tmp_path, f"{worker},label\nann,1\nann,1\n", read_labels_csv, item=worker)


EPOCHS = [
    ("1710061200", "unix", "seconds"),
    ("1710061200.5", "unix", "seconds"),
    ("1710061200000", "unix_ms", "milliseconds"),  # which Python reads as of 1710
    ("1710061200000000", "unix_us", "microseconds"),
]


@pytest.mark.parametrize(("text", "form", "unit"), EPOCHS)
def test_a_time_since_1970_is_recognised_and_read_as_one_says(tmp_path, text, form, unit):
    log = f"{LOG}{text},{text},a\n{text},,a\n"
    words = f"got '{text}': it looks like {unit} since 1970; give date_format='{form}'"
    for options in ({}, {"date_format": "unix_ms" if form != "unix_ms" else "unix"}):
        with pytest.raises(ValueError, match=re.escape(words)):
            read(tmp_path, log, **options)
    conversions = read(tmp_path, log, date_format=form, unit="second", until=text)
    assert conversions.delays[0].tolist() == [0, float("inf")]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1970-01-01", None),
        ("0000-00-00 00:00:00", None),
        ("9999-12-31T23:59:59", None),
        ("1970-01-01T01:00:00+01:00", None),
        ("0", "unix"),
        ("31.12.9999", "%d.%m.%Y"),
    ],
)
def test_a_default_time_is_refused_with_what_to_write(tmp_path, text, form):
    shown = {None: "2024-05-31", "unix": "1710061200"}.get(form, "31.05.2024")
    words = f"converted_at must not be a .*, got '{re.escape(text)}': leave the field empty where"
    with pytest.raises(ValueError, match=words):
        read(tmp_path, f"{LOG}{shown},{text},a\n", date_format=form)


def test_names_of_time_zones_are_refused_and_offsets_read(tmp_path):
    # In the night of 2013-03-31 Rome had no 02:30, and on 2013-10-27 two.
    with pytest.raises(ValueError, match=r"must have %z, .*, and not %Z, for names of time zones"):
        read(tmp_path, f"{LOG}2013-03-31 01:30 UTC,,a\n", date_format="%Y-%m-%d %H:%M %Z")
    log = f"{LOG}2013-10-27 02:30 +0200,2013-10-27 02:30 +0100,a\n"
    conversions = read(tmp_path, log, date_format="%Y-%m-%d %H:%M %z", unit="minute")
    assert conversions.delays[0].tolist() == [60]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("1,234", {}, r"decimal comma, give decimal=',' .*; if ',' separates thousands, leave it"),
        ("1,234.5", {}, "got '1,234.5'; if ',' separates thousands"),
        ("1,234,567", {}, "got '1,234,567'; if ',' separates thousands"),
        ("1.234,5", {"decimal": ","}, "got '1.234,5'; if '.' separates thousands"),
        ("1,2", {}, r"\(in a shell --decimal ,\)$"),
    ],
)
def test_separators_of_thousands_are_named(tmp_path, text, options, words):
    with pytest.raises(ValueError, match=words):
        read(tmp_path, f'arm,reward\na,"{text}"\n', read_rewards_csv, **options)


@pytest.mark.parametrize("text", ["2999-12-31", "2099-12-31 00:00"])
def test_a_time_in_the_future_is_refused(tmp_path, text):
    words = f"converted_at must not lie in the future, got '{text}': leave the field empty where"
    with pytest.raises(ValueError, match=words):
        read(tmp_path, f"{LOG}2024-05-31,{text},a\n")


@pytest.mark.parametrize("text", ["nan", "NULL", ""])
def test_a_row_without_a_reward_is_to_be_left_out(tmp_path, text):
    path = tmp_path / "rewards.csv"
    path.write_text(f"arm,reward\nred,1\nred,{text}\n")
    words = f"line 3: reward must be a number, got '{text}': leave the row out where there is none"
    with pytest.raises(ValueError, match=words):
        read_rewards_csv(path)


def test_runs_that_a_limit_may_have_ended_are_counted(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("arm,reward,consumption\nslow,0.0,60\nslow,0,60.0\ngood,0.5,60\ngood,0,20\n")
    with pytest.warns(UserWarning, match=r"exactly their limit: 2; they count as completed"):
        read_measured_runs_csv(path, limit=60)


def test_events_may_be_separated_by_other_signs(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("day;place;events\n2024-05-31;north;1\n")
    assert read_daily_counts_csv(path, delimiter=";").places == ("north",)
