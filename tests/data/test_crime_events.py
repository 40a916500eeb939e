from datetime import date, timedelta

import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import DailyCounts, load_crimes, patrols_problem, read_daily_counts_csv
from keyhole.data.problem_factories import PROBLEM_FACTORIES
from keyhole.semibandit import CSBST


def test_the_shipped_sets_have_the_totals_of_the_source():
    tracts, cities = load_crimes("tracts"), load_crimes("cities")
    shares = tracts.losses.mean(axis=0)
    assert tracts.places[:4] == ("36081032900", "36081028400", "36081035700", "36005046201")
    assert tracts.counts.sum(axis=0)[:4].tolist() == [240, 196, 132, 121]
    assert shares[:4].round(6).tolist() == [0.140999, 0.112936, 0.085558, 0.080082]
    assert tracts.first == cities.first.replace(year=2014) == date(2014, 1, 1)
    assert dict(zip(cities.places, cities.counts.sum(axis=0).tolist(), strict=True)) == {
        "Chicago": 499, "Detroit": 307, "Fort Worth": 44, "Kansas City": 204, "Los Angeles": 411,
        "Louisville": 63, "New York": 345, "Tucson": 30, "Virginia Beach": 19,
    }  # fmt: skip
    assert round(float(cities.losses[:, 0].mean()), 6) == 0.706849
    boroughs = load_crimes("boroughs")
    assert boroughs.places[:2] == ("Bronx 0-6", "Bronx 6-12")
    assert boroughs.counts.shape == (1461, 20)
    assert all(one.licence.startswith("MIT") for one in (tracts, boroughs, cities))


@pytest.mark.interpreted
@pytest.mark.parametrize("places", ["tracts", "boroughs", "cities"])
@pytest.mark.parametrize("order", ["drawn", "recorded"])
def test_every_set_can_be_played_in_both_orders(places, order):
    events = load_crimes(places)
    problem = patrols_problem(places, thresholds=0.5, resource=2, order=order)
    assert problem.mean_losses.tolist() == events.losses.mean(axis=0).tolist()
    assert problem.rounds == (len(events.losses) if order == "recorded" else None)
    curves = simulate(problem, {"it": CSBST(epsilon=0.04)}, horizon=365, replications=4)
    assert np.isfinite(curves.values("it", "regret")).all()


def write(folder, text):
    path = folder / "town.csv"
    path.write_text(text)
    return path


def test_a_file_of_ones_own(tmp_path):
    path = write(
        tmp_path,
        "Place, day, officer, events\nnorth,2024-02-28,ann,2\n\nsouth,2024-02-28,bob,1\n"
        "north,2024-03-01,ann,0\n",
    )
    events = read_daily_counts_csv(path, since="2024-02-28", until="2024-03-01")
    assert events.places == ("north", "south")
    assert events.first == date(2024, 2, 28)
    assert events.counts.tolist() == [[2, 1], [0, 0], [0, 0]]  # 2024 has a 29th of February
    assert events.losses.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert patrols_problem(events, thresholds=[0.5, 0.6], resource=0.7).arms == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "csv: the file must start with a header, got an empty file"),
        ("day,place\n2024-01-01,a\n", "the header must have one column events"),
        ("day,place,events\n", "at least one row must follow the header"),
        ("day,place,events\n1.5.2024,a,1\n", "line 2: day must be a date such as .* '1.5.2024'"),
        ("day,place,events\n2024-01-01,,1\n", "line 2: place must not be empty"),
        ("day,place,events\n2024-01-01,a,-1\n", "events must be a whole number, .* got '-1'"),
        ("day,place,events\n2024-01-01,a,x\n", "events must be a whole number, .* got 'x'"),
        ("day,place,events\n2024-01-01,a\n", "the row must have 3 fields, got 2"),
        ("day,place,events\n2024-01-01,a,1\n2024-01-01,a,1\n", "line 3: day and place must differ"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_daily_counts_csv(write(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        read_daily_counts_csv(tmp_path / "none.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes("day,place,events\n2024-01-01,K\xf6ln,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="the text must be UTF-8"):
        read_daily_counts_csv(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load_crimes("city"), "places must be one of .*did you mean 'cities'"),
        (lambda: patrols_problem("cities", thresholds=0, resource=1), "thresholds must lie in"),
        (
            lambda: patrols_problem("cities", thresholds=[0.5], resource=1),
            "thresholds must have 9 entries",
        ),
        (lambda: patrols_problem("cities", thresholds=0.5, resource=0), "resource must lie in"),
        (
            lambda: patrols_problem("cities", thresholds=0.5, resource=1, order="x"),
            "order must be one of",
        ),
        (lambda: patrols_problem([[0, 1]], thresholds=0.5, resource=1), "places must be one of"),
        (lambda: DailyCounts("x", ("a",), date(2024, 1, 1), np.array([[0.5]])), "whole numbers"),
        (
            lambda: DailyCounts("x", ("a",), date(2024, 1, 1), np.array([[-1]])),
            "at least 0, got -1",
        ),
        (
            lambda: DailyCounts("x", ("a", "a"), date(2024, 1, 1), np.array([[1, 1]])),
            "places must dif",
        ),
        (lambda: DailyCounts("x", ("a",), date(2024, 1, 1), np.array([[1, 1]])), "1 columns"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def days_of(dates):
    return "day,place,events\n" + "".join(f"{day},a,1\n" for day in dates)


DAILY = [date(2024, 1, 1) + timedelta(days=n) for n in range(59) if n % 3 < 2]
EVERY_DAY = [date(2024, 1, 1) + timedelta(days=n) for n in range(40)]


@pytest.mark.parametrize(
    ("dates", "gap"),
    [
        ([*EVERY_DAY, "2051-02-03"], "got 2051-02-03 after 2024-02-09"),
        ([*EVERY_DAY, "0015-02-03"], "got 2024-01-01 after 0015-02-03"),
        ([date(2024, 1, 1) + timedelta(weeks=n) for n in range(12)], "2024-01-08 after 2024-01-01"),
    ],
)
def test_days_without_a_row_need_a_named_calendar(tmp_path, dates, gap):
    path = write(tmp_path, days_of(dates))
    for calendar in ({}, {"since": "0001-01-01"}, {"until": "2060-12-31"}):
        with pytest.raises(ValueError, match=rf"town\.csv: .*{gap}; .*by since= and until="):
            read_daily_counts_csv(path, **calendar)
    first = min(map(str, dates))
    events = read_daily_counts_csv(path, since=first, until="2060-12-31")
    assert events.counts.sum() == len(dates)
    assert len(events.counts) == (date(2060, 12, 31) - date.fromisoformat(first)).days + 1


@pytest.mark.parametrize(
    ("day", "message"),
    [
        ("24-02-03", "four digits of the year.* got '24-02-03'"),
        ("45443", "not a spreadsheet's serial number; got '45443'"),
    ],
)
def test_what_is_no_date_is_named_with_the_line(tmp_path, day, message):
    path = write(tmp_path, days_of([*DAILY[:5], day, *DAILY[5:]]))
    with pytest.raises(ValueError, match=rf"town\.csv, line 7: .*{message}"):
        read_daily_counts_csv(path)


def test_the_calendar_may_be_named(tmp_path):
    path = write(tmp_path, days_of([*DAILY, date(2027, 1, 1)]))
    events = read_daily_counts_csv(path, since="2023-12-31", until=date(2027, 1, 2))
    assert events.first == date(2023, 12, 31)
    assert events.counts[[0, 1, -2, -1], 0].tolist() == [0, 1, 1, 0]
    with pytest.raises(
        ValueError, match="line 42: day must not be after until, 2024-12-31, got 2027"
    ):
        read_daily_counts_csv(path, since="2024-01-01", until="2024-12-31")
    with pytest.raises(
        ValueError, match="day must not be before since, 2024-01-02, got 2024-01-01"
    ):
        read_daily_counts_csv(path, since="2024-01-02")
    with pytest.raises(ValueError, match=r"since must be a date such as .* got '1\.1\.2024'"):
        read_daily_counts_csv(path, since="1.1.2024")


def test_a_spec_may_name_the_calendar(tmp_path):
    read = PROBLEM_FACTORIES["semibandit"]["events"].read
    write(tmp_path, days_of(DAILY))
    table = {"file": "town.csv", "since": "2024-01-01", "until": "2024-12-31"}
    assert len(read("places", table, tmp_path).counts) == 366
