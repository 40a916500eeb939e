import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import flights_problem, load_flights
from keyhole.data.recorded_deadline_times import DEADLINES, ORIGINS, read_bundled_table
from keyhole.threshold import DKWUCB
from tests.lengths import short_or_long

FOLDER = Path(str(resources.files("keyhole.data"))) / "nycflights13"

# What the raw flights' own summary says of each carrier: flights, flights that arrived, their
# mean delay, and how many of them were at most 15 minutes late.
SUMMARY = {
    "9E": (18460, 17294, 7.379669, 12985),
    "AA": (32729, 31947, 0.364291, 25943),
    "AS": (714, 709, -9.930889, 607),
    "B6": (54635, 54049, 9.457973, 39938),
    "DL": (48110, 47658, 1.644341, 38968),
    "EV": (54173, 51108, 15.796431, 35080),
    "F9": (685, 681, 21.920705, 427),
    "FL": (3260, 3175, 20.115906, 2110),
    "HA": (342, 342, -6.915205, 299),
    "MQ": (26397, 25037, 10.774733, 18260),
    "OO": (32, 29, 11.931034, 22),
    "UA": (58665, 57782, 3.558011, 45190),
    "US": (20536, 19831, 2.129595, 16272),
    "VX": (5162, 5116, 1.764464, 4192),
    "WN": (12275, 12044, 9.64912, 9050),
    "YV": (601, 544, 15.556985, 373),
}

# Flights, and the shares that arrived at most -20, 0, 15 and 60 minutes after schedule.
ATLANTA = {
    "DL": (10571, 0.126, 0.586, 0.789, 0.920),
    "EV": (1764, 0.096, 0.418, 0.601, 0.808),
    "FL": (2337, 0.044, 0.368, 0.636, 0.864),
    "MQ": (2322, 0.064, 0.427, 0.659, 0.873),
}
SAN_FRANCISCO = {
    "AA": (1422, 0.265, 0.551, 0.716, 0.879),
    "B6": (1035, 0.298, 0.594, 0.752, 0.902),
    "DL": (1858, 0.383, 0.707, 0.851, 0.946),
    "UA": (6819, 0.260, 0.592, 0.757, 0.915),
    "VX": (2197, 0.376, 0.677, 0.796, 0.892),
}


def table():
    """Return the rows of the shipped file, its delays as a list of pairs."""
    for dest, origin, carrier, delays in read_bundled_table("nycflights13", "arrival_delays.csv")[
        1
    ]:
        yield dest, origin, carrier, [pair.split(":") for pair in delays.split(" ")]


def routes():
    return sorted({dest for dest, *_ in table()})


def test_every_carrier_has_the_flights_of_the_raw_summary():
    found = {}
    for _, _, carrier, pairs in table():
        sums = found.setdefault(carrier, [0, 0, 0, 0])
        for delay, count in pairs:
            sums[0] += int(count)
            if delay != "never":
                sums[1] += int(count)
                sums[2] += int(delay) * int(count)
                sums[3] += int(count) if int(delay) <= 15 else 0
    assert found.keys() == SUMMARY.keys()
    for carrier, (count, arrived, total, on_time) in found.items():
        assert (count, arrived, on_time) == SUMMARY[carrier][:2] + SUMMARY[carrier][3:]
        assert total / arrived == pytest.approx(SUMMARY[carrier][2], abs=5e-7)


@pytest.mark.parametrize(("route", "expected"), [("ATL", ATLANTA), ("SFO", SAN_FRANCISCO)])
def test_shares_in_time_are_those_of_the_raw_flights(route, expected):
    times = load_flights(route)
    assert times.arms == tuple(expected)
    assert [len(m) for m in times.minutes] == [row[0] for row in expected.values()]
    shares = np.array([row[:0:-1] for row in expected.values()])
    assert np.abs(times.met_shares([60, 15, 0, -20]) - shares).max() <= 0.0005


def test_the_problem_has_the_shares_of_the_carriers():
    problem, times = flights_problem("SFO"), load_flights("SFO")
    assert (problem.arms, problem.levels, problem.feedback) == (5, 10, "censored")
    assert np.allclose(problem.survival, times.met_shares(DEADLINES), rtol=0, atol=1e-15)
    mine = flights_problem("SFO", feedback="uncensored", order="optimistic", deadlines=[30, -30])
    assert np.allclose(mine.survival, times.met_shares([30, -30]), rtol=0, atol=1e-15)
    assert (mine.feedback, repr(mine.order)) == ("uncensored", "optimistic()")


def test_cancelled_flights_are_never_in_time():
    times = load_flights("DCA")
    never = [np.isinf(minutes).sum() for minutes in times.minutes]
    assert min(never) > 0
    shares = times.met_shares([10_000])[:, 0]
    sizes = [len(minutes) for minutes in times.minutes]
    assert np.allclose(shares, 1 - np.divide(never, sizes), rtol=0, atol=1e-15)


def test_the_flights_of_the_origins_are_those_of_the_route():
    whole = load_flights("SFO", min_flights=1)
    parts = [load_flights("SFO", origin=origin, min_flights=1) for origin in ("EWR", "JFK")]
    for arm, minutes in zip(whole.arms, whole.minutes, strict=True):
        found = [part.minutes[part.arms.index(arm)] for part in parts if arm in part.arms]
        assert sorted(np.concatenate(found)) == sorted(minutes)
    assert {origin for _, origin, _, _ in table()} == set(ORIGINS)


def test_carriers_with_few_flights_are_left_out():
    assert load_flights("ATL", min_flights=2000).arms == ("DL", "FL", "MQ")
    assert load_flights("ATL", min_flights=1).arms == ("9E", "DL", "EV", "FL", "MQ", "UA", "WN")
    assert load_flights("ATL", min_flights=2337).arms == ("DL", "FL")


def test_on_two_thirds_of_the_routes_the_best_carrier_depends_on_the_deadline():
    several = crossing = 0
    for route in routes():
        try:
            shares = load_flights(route).met_shares(DEADLINES)
        except ValueError:
            continue
        several += 1
        crossing += len(set(shares.argmax(axis=0))) > 1
    assert (several, crossing) == (54, 36)


@pytest.mark.slow
@pytest.mark.interpreted
def test_a_policy_learns_from_flights():
    problem = flights_problem("CHS", feedback="uncensored", deadlines=[60, -10])
    replications = short_or_long(10, 50)
    curves = simulate(problem, [DKWUCB()], horizon=4000, replications=replications, seed=5)
    random = 4000 * problem.gaps.mean()
    # Without learning, a third of that would be a miracle.
    assert curves.mean("DKWUCB()", "regret")[-1] < random / 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"route": "SFOO"}, r"route must be one of ABQ, .*; got 'SFOO' \(did you mean 'SFO'\?\)"),
        ({"route": "SFO", "origin": "JFX"}, r"origin must be one of EWR, JFK, LGA; got 'JFX'"),
        ({"route": "SFO", "min_flights": 0}, "min_flights must be at least 1, got 0"),
        ({"route": "SFO", "min_flights": 5000}, "min_flights must leave at least two carriers, .*"
         "got 5000 where flights to SFO are AA 1422, .*, VX 2197"),
        ({"route": "SFO", "origin": "LGA"}, "flights from LGA to SFO are none"),
        ({"route": "SFO", "deadlines": [0, 15]}, "deadlines must be decreasing, .*got 15 after 0"),
        ({"route": "SFO", "feedback": "some"}, "feedback must be one of uncensored, censored"),
        ({"route": "SFO", "order": "cycling"}, "order must be one of .*did you mean 'cyclic'"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        flights_problem(**arguments)


def test_source_licence_and_change_are_stated_in_file_object_and_readme():
    lines = (FOLDER / "arrival_delays.csv").read_text(encoding="utf-8").splitlines()
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    times = load_flights("SFO")
    assert lines[1] == f"# source: {times.source}"
    assert lines[2] == f"# licence: {times.licence}"
    assert lines[3].startswith("# changes: ")
    address, commit = re.findall(r"^(\S+), commit (\w{40}), ", times.source)[0]
    assert address in readme
    assert commit in readme
    spdx, notice = re.findall(r"^(\S+), see (\S+)$", times.licence)[0]
    assert (spdx, notice) == ("CC0-1.0", "LICENSE-CC0-1.0.txt")
    assert "CC0 1.0 Universal" in (FOLDER / notice).read_text(encoding="utf-8")
    assert f"]({notice})" in readme


def test_the_readme_names_every_carrier():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for carrier in SUMMARY:
        assert f"| {carrier} |" in readme
