import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from keyhole.data import deliveries_problem, load_deliveries
from keyhole.data.recorded_deadline_times import BANDS, DAYS, PROMISED, read_bundled_table

FOLDER = Path(str(resources.files("keyhole.data"))) / "deliveries"

# What the raw orders' own summary says of each day: orders, mean and median minutes, and the share
# of those within 30 minutes.
SUMMARY = {
    "Mon": (438, 20.840791, 20.32865, 0.988584),
    "Tue": (697, 21.911009, 21.4927, 0.977044),
    "Wed": (1384, 24.299492, 24.55145, 0.902457),
    "Thu": (1697, 26.15, 26.4216, 0.785504),
    "Fri": (2133, 28.062739, 29.0126, 0.571964),
    "Sat": (2231, 28.779742, 30.0263, 0.498431),
    "Sun": (1432, 24.591517, 24.9196, 0.90433),
}
# The shares within 20, 25, 30 and 40 minutes, in the order of the days.
WITHIN = {
    20: (0.4315, 0.2568, 0.2103, 0.1656, 0.1913, 0.1914, 0.1941),
    25: (0.9384, 0.8608, 0.5390, 0.3789, 0.2944, 0.2954, 0.5112),
    30: (0.9886, 0.9770, 0.9025, 0.7855, 0.5720, 0.4984, 0.9043),
    40: (0.9977, 0.9957, 0.9949, 0.9800, 0.9512, 0.9359, 0.9923),
}


def orders():
    """Return day, hour, distance and minutes of every order."""
    for day, *numbers in read_bundled_table("deliveries", "orders.csv")[1]:
        yield (day, *map(float, numbers))


def test_every_day_has_the_orders_of_the_raw_summary():
    times = load_deliveries()
    assert times.arms == DAYS == tuple(SUMMARY)
    for minutes, expected in zip(times.minutes, SUMMARY.values(), strict=True):
        found = (len(minutes), minutes.mean(), np.median(minutes), (minutes <= 30).mean())
        assert found == pytest.approx(expected, abs=1e-6)


def test_all_orders_together_are_those_of_the_source():
    minutes = np.concatenate(load_deliveries().minutes)
    found = (len(minutes), minutes.mean(), np.median(minutes), minutes.min(), minutes.max())
    assert found == pytest.approx((10_012, 26.137412, 26.02185, 12.3121, 60.5413), abs=1e-6)


def test_shares_in_time_are_those_of_the_raw_orders():
    problem = deliveries_problem("day", promised=sorted(WITHIN, reverse=True))
    expected = np.array([WITHIN[d] for d in sorted(WITHIN, reverse=True)]).T
    assert np.abs(problem.survival - expected).max() <= 0.00005 + 1e-12


@pytest.mark.parametrize(
    ("kind", "column", "bands"),
    [
        ("hour", 1, None),
        ("hour", 1, [17.0]),
        ("distance", 2, None),
        ("distance", 2, [2.0, 3.0, 10.0]),
    ],
)
def test_every_order_is_in_the_band_that_its_name_says(kind, column, bands):
    times = load_deliveries(kind, bands=bands)
    cuts = [-np.inf, *(BANDS[kind] if bands is None else bands), np.inf]
    assert len(times.arms) == len(cuts) - 1
    for arm, minutes in enumerate(times.minutes):
        low, high = cuts[arm], cuts[arm + 1]
        assert minutes.tolist() == [o[3] for o in orders() if low <= o[column] < high]
    assert times.arms[0] == f"below {cuts[1]:g}"
    assert times.arms[-1] == f"from {cuts[-2]:g}"


def test_an_order_on_the_border_is_in_the_upper_band():
    times = load_deliveries("distance", bands=[2.25])
    on = [o for o in orders() if o[2] == 2.25]
    assert on
    assert len(times.minutes[1]) == sum(o[2] > 2.25 for o in orders()) + len(on)


def test_the_problem_has_the_shares_of_the_arms():
    problem, times = deliveries_problem("hour"), load_deliveries("hour")
    assert (problem.arms, problem.levels, problem.feedback) == (5, len(PROMISED), "censored")
    assert np.allclose(problem.survival, times.met_shares(PROMISED), rtol=0, atol=1e-15)
    mine = deliveries_problem(
        "hour", bands=[14], feedback="uncensored", order="cyclic", promised=[30]
    )
    assert (mine.arms, mine.levels, mine.feedback) == (2, 1, "uncensored")
    assert repr(mine.order) == "cyclic()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": "hours"}, r"arms must be one of day, hour, distance; got 'hours' \(did you mean"),
        ({"arms": "day", "bands": [1]}, r"bands must be left out where arms are days, got \[1\]"),
        ({"arms": "hour", "bands": []}, "bands must have at least one entry, got none"),
        ({"arms": "hour", "bands": [14, 14]}, "bands must rise, got 14 after 14"),
        ({"arms": "hour", "bands": [5, 14]}, "bands must each have an order, got none below 5: "
         "orders lie between 11.028 and 20.93"),
        ({"arms": "distance", "bands": [3, 14]}, "got none from 14: orders lie between 1.75 and"),
        ({"arms": "hour", "promised": [20, 30]}, "promised must be decreasing, .*got 30 after 20"),
        ({"arms": "hour", "promised": []}, "promised must have at least one entry"),
        ({"arms": "hour", "feedback": "some"}, "feedback must be one of uncensored, censored"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        deliveries_problem(**arguments)


def test_bands_may_be_an_array():
    assert load_deliveries("hour", bands=np.array([14.0, 18.0])).arms[1] == "14 to 18"


def test_source_licence_and_change_are_stated_in_file_object_and_readme():
    lines = (FOLDER / "orders.csv").read_text(encoding="utf-8").splitlines()
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    times = load_deliveries()
    assert lines[1] == f"# source: {times.source}"
    assert lines[2] == f"# licence: {times.licence}"
    assert lines[3].startswith("# changes: ")
    address, commit = re.findall(r"^(\S+), commit (\w{40}), ", times.source)[0]
    assert address in readme
    assert commit in readme
    assert times.licence == "MIT, see LICENSE-modeldata-MIT.md"
    notice = (FOLDER / "LICENSE-modeldata-MIT.md").read_text(encoding="utf-8")
    assert "Copyright (c) 2025 modeldata authors" in notice
    assert "(LICENSE-modeldata-MIT.md)" in readme
