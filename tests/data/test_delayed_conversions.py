import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import (
    Conversions,
    cdnow,
    load_cdnow,
    read_conversions_csv,
    reporting_delay,
)
from keyhole.delayed import QPMD

# From the descriptions of the sources: cases, mean and longest delay.
REPORTED = {
    "dengue": (52_987, 1.737653, 26),
    "mpox-diagnosis": (3_323, 4.150466, 252),
    "mpox-onset": (2_511, 12.124253, 314),
}


@pytest.mark.parametrize("cases", REPORTED)
def test_reporting_delays_have_the_moments_of_the_source(cases):
    distribution, (count, mean, longest) = reporting_delay(cases), REPORTED[cases]
    assert len(distribution.samples) == count
    assert distribution.mean == pytest.approx(mean, abs=5e-7)
    assert distribution.bound == longest
    assert distribution.variance == pytest.approx(distribution.samples.var())


def test_dengue_is_reported_as_fast_as_the_source_says():
    distribution = reporting_delay("dengue")
    shares = [float((distribution.samples == weeks).mean()) for weeks in range(5)]
    assert shares == pytest.approx([0.039632, 0.462605, 0.347463, 0.091513, 0.030460], abs=1e-6)


@pytest.mark.interpreted
def test_customers_come_back_as_the_source_says():
    log = load_cdnow()
    assert [len(delays) for delays in log.delays] == [11_920, 5_435, 2_746, 3_469]
    back = [int((delays <= 90).sum()) for delays in log.delays]
    assert back == [2_861, 1_713, 981, 1_332]
    means = [float(delays[np.isfinite(delays)].mean()) for delays in log.delays]
    assert np.round(means, 2).tolist() == [121.99, 106.33, 100.39, 97.97]
    whole = log.delay()
    assert (len(whole.samples), whole.bound) == (11_516, 533)
    assert whole.mean == pytest.approx(110.9958, abs=5e-5)
    assert cdnow(90).means.tolist() == [b / len(d) for b, d in zip(back, log.delays, strict=True)]
    curves = simulate(cdnow(30, feedback="named"), {"it": QPMD()}, horizon=200, replications=4)
    assert np.isfinite(curves.values("it", "regret")).all()


def write(folder, text):
    path = folder / "adverts.csv"
    path.write_text(text)
    return path


def test_a_log_with_dates(tmp_path):
    path = write(
        tmp_path,
        "arm, shown_at, converted_at, cost\nred,2024-02-28,2024-03-01,1\n\n"
        "blue,2024-02-28T12:00,,1\nred,2024-02-28T12:00,2024-03-02T11:59,2\n",
    )
    log = read_conversions_csv(path)
    assert log.arms == ("red", "blue")
    assert [delays.tolist() for delays in log.delays] == [[2, 2], [np.inf]]
    hours = read_conversions_csv(path, unit="hour")
    assert hours.delays[0].tolist() == [48, 71]
    assert log.problem().means.tolist() == [1, 0]
    assert hours.problem(within=48).means.tolist() == [0.5, 0]
    assert hours.delay(within=48).bound == 48


def test_a_log_with_numbers(tmp_path):
    path = write(tmp_path, "shown_at,converted_at,arm\n0.5,3.4,a\n1,,a\n2,2,b\n")
    assert [d.tolist() for d in read_conversions_csv(path, unit=1).delays] == [[2, np.inf], [0]]
    assert read_conversions_csv(path, unit=0.25).delays[0][0] == 11


def test_what_does_not_convert_is_known_when_its_time_is_over():
    log = Conversions("x", ("a",), ([2, np.inf, 9],))
    truth = log.problem(within=5, feedback="named").truth()
    assert truth["numbers"].tolist() == [1, 0, 0, *(2, 5, 5)]  # the rewards, then their delays
    assert log.problem().truth()["numbers"].tolist()[3:] == [2, 9, 9]
    assert Conversions("x", ("a",), ([np.inf],)).problem().means.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("", "day", "csv: the file must start with a header, got an empty file"),
        ("shown_at,arm\n", "day", "the header must have one column converted_at"),
        ("shown_at,converted_at,arm\n", "day", "at least one row must follow the header"),
        ("shown_at,converted_at,arm\nx,,a\n", "day", "line 2: shown_at must be a date .* got 'x'"),
        ("shown_at,converted_at,arm\n,,a\n", "day", "shown_at must be a date .* got ''"),
        ("shown_at,converted_at,arm\n5,7,a\n", "day", "shown_at must be a date .* got '5'"),
        ("shown_at,converted_at,arm\n2024-01-01,,a\n", 1, "shown_at must be a number, since unit"),
        ("shown_at,converted_at,arm\n1,nan,a\n", 1, "converted_at must be a number"),
        (
            "shown_at,converted_at,arm\n2024-01-02,2024-01-01,a\n",
            "day",
            "line 2: converted_at must not be before shown_at, 2024-01-02; got 2024-01-01",
        ),
        (
            "shown_at,converted_at,arm\n2024-01-01T00:00,2024-01-02T00:00+00:00,a\n",
            "day",
            "converted_at must have a time zone if, and only if, shown_at has",
        ),
        ("shown_at,converted_at,arm\n2024-01-02,,\n", "day", "arm must not be empty"),
        ("shown_at,converted_at,arm\n2024-01-02,\n", "day", "the row must have 3 fields, got 2"),
        ("shown_at,converted_at,arm\n1,2,a\n", "month", "unit must be one of second, minute"),
        ("shown_at,converted_at,arm\n1,2,a\n", 0, "unit must be above 0, got 0"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, unit, message):
    with pytest.raises(ValueError, match=message):
        read_conversions_csv(write(tmp_path, text), unit=unit)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: reporting_delay("flu"), "cases must be one of dengue, .*got 'flu'"),
        (lambda: cdnow(463), r"within must lie in \[0, 462\], got 463"),
        (lambda: cdnow(1.5), "within must be a whole number, got 1.5"),
        (lambda: cdnow(feedback="x"), "feedback must be one of anonymous, named"),
        (lambda: Conversions("x", (), ()), "arms must have at least one entry"),
        (lambda: Conversions("x", ("a", "a"), ([1], [1])), "arms must differ, got 'a' twice"),
        (lambda: Conversions("x", ("a",), ()), "delays must have one list for each arm, 1; got 0"),
        (lambda: Conversions("x", ("a",), ([],)), r"delays\[0\] must have at least one entry"),
        (lambda: Conversions("x", ("a",), ([1, 0.5],)), r"delays\[0\]\[1\] must be a whole number"),
        (lambda: Conversions("x", ("a",), ([-1],)), r"delays\[0\]\[0\] must be a whole number"),
        (
            lambda: Conversions("x", ("a",), ([5],)).delay(within=3),
            "within must leave a conversion of x, got 3 rounds",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
