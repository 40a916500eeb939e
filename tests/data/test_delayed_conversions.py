import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import (
    Conversions,
    cdnow_problem,
    disease_reporting_delay,
    load_cdnow,
    read_conversions_csv,
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
    distribution, (count, mean, longest) = disease_reporting_delay(cases), REPORTED[cases]
    assert len(distribution.samples) == count
    assert distribution.mean == pytest.approx(mean, abs=5e-7)
    assert distribution.bound == longest
    assert distribution.variance == pytest.approx(distribution.samples.var())


def test_dengue_is_reported_as_fast_as_the_source_says():
    distribution = disease_reporting_delay("dengue")
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
    whole = np.concatenate([delays[np.isfinite(delays)] for delays in log.delays])
    assert (len(whole), whole.max()) == (11_516, 533)
    assert whole.mean() == pytest.approx(110.9958, abs=5e-5)
    assert log.delay().bound == 462  # for so long all customers were followed
    assert cdnow_problem(90).means.tolist() == [
        b / len(d) for b, d in zip(back, log.delays, strict=True)
    ]
    curves = simulate(
        cdnow_problem(30, feedback="named"), {"it": QPMD()}, horizon=200, replications=4
    )
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
    log = read_conversions_csv(path, until="2024-03-02T12:00")
    assert log.arms == ("red", "blue")
    assert [delays.tolist() for delays in log.delays] == [[2, 2], [np.inf]]
    assert [rounds.tolist() for rounds in log.followed] == [[3, 3], [3]]
    hours = read_conversions_csv(path, unit="hour", until="2024-03-02T12:00")
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
        ("shown_at,converted_at,arm\n1,inf,a\n", 1, "converted_at must be a number"),
        (
            "shown_at,converted_at,arm\n2024-01-02,2024-01-01,a\n",
            "day",
            "line 2: converted_at must not be before shown_at, 2024-01-02; got 2024-01-01",
        ),
        (
            "shown_at,converted_at,arm\n2024-01-02T12:00,2024-01-02,a\n",
            "day",
            "got 2024-01-02; a date alone means midnight",
        ),
        (
            "shown_at,converted_at,arm\n2024-01-01T00:00,2024-01-02T00:00+00:00,a\n",
            "day",
            "converted_at must have a time zone if, and only if, the times read before it have",
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


@pytest.mark.parametrize("text", ["NA", "null", "-", "NaT", "None"])
def test_a_word_for_never_is_refused_with_what_to_write(tmp_path, text):
    path = write(tmp_path, f"shown_at,converted_at,arm\n2024-01-01,{text},a\n")
    words = f"line 2: converted_at .* got '{text}': leave the field empty where there is no value"
    with pytest.raises(ValueError, match=words):
        read_conversions_csv(path)


def staggered_log(folder, times=lambda day: f"{day}"):
    """Write a log of 200 days in which all convert, within 40 days; blue is shown from day 100."""
    rows = ["shown_at,converted_at,arm"]
    for day in range(201):
        for delay in range(0, 41, 5):
            converted = times(day + delay) if day + delay <= 200 else ""
            rows.append(f"{times(day)},{converted},{'red' if day < 100 else 'blue'}")
    return write(folder, "\n".join(rows))


def test_impressions_whose_window_is_not_over_are_left_out_and_counted(tmp_path):
    log = read_conversions_csv(staggered_log(tmp_path), unit=1)
    words = "360 of 1,809 impressions of adverts are left out: they were not followed for longer"
    with pytest.warns(UserWarning, match=words):
        assert log.problem(within=40).means.tolist() == [1, 1]
    with pytest.warns(UserWarning, match=words):
        assert log.delay(within=40).mean == 20
    with pytest.warns(UserWarning, match="180 of 1,809"):
        assert log.problem(within=20).means == pytest.approx([5 / 9, 5 / 9])
    with pytest.raises(
        ValueError, match=r"within must be below 101 rounds, .* impression of 'blue'"
    ):
        log.problem(within=101)


def test_a_log_is_read_as_it_was_at_an_earlier_time(tmp_path):
    path = staggered_log(tmp_path)
    log = read_conversions_csv(path, unit=1, until=150)
    assert sum(map(len, log.delays)) == 151 * 9
    assert not np.isfinite(log.delays[1][-8:]).any()  # on day 150 nobody knows of day 155
    with pytest.warns(UserWarning, match="360 of 1,359"):
        assert log.problem(within=40).means.tolist() == [1, 1]
    with pytest.raises(ValueError, match="until must not be before all impressions, got -1"):
        read_conversions_csv(path, unit=1, until=-1)


def test_a_spec_says_how_its_log_is_written_and_where_it_ends(tmp_path):
    from keyhole.experiment.objects_from_spec import make_problem

    write(tmp_path, "shown_at;converted_at;arm\n1.5.2024;3.5.2024;a\n1.5.2024;9.5.2024;b\n")
    form = {"delimiter": ";", "date_format": "%d.%m.%Y"}
    log = {"file": "adverts.csv", "until": "5.5.2024"} | form
    problem = make_problem({"setting": "delayed", "conversions": log}, tmp_path)
    assert problem.means.tolist() == [1, 0]


def test_a_round_that_is_not_over_is_not_followed(tmp_path):
    text = "shown_at,converted_at,arm\n0,1.5,a\n0,,a\n1,,a\n"
    log = read_conversions_csv(write(tmp_path, text), unit=1)
    assert log.followed[0].tolist() == [1, 1, 0]  # a conversion at 1.9 would have delay 1


def test_dates_of_another_form_are_read_as_one_says_and_never_guessed(tmp_path):
    path = write(tmp_path, "shown_at;converted_at;arm\n05.06.2024 10:00;07.06.2024 09:00;a\n")
    form = {"delimiter": ";", "date_format": "%d.%m.%Y %H:%M"}
    assert read_conversions_csv(path, unit="hour", **form).delays[0].tolist() == [47]
    with pytest.raises(ValueError, match=r"separated by semicolons: give delimiter=';' \(in a sh"):
        read_conversions_csv(path)
    with pytest.raises(ValueError, match=r"got '05.06.2024 10:00'; give the form .* date_format="):
        read_conversions_csv(path, delimiter=";")
    with pytest.raises(ValueError, match=r"must be a date as '%d.%m.%Y' says, got '05.06.2024"):
        read_conversions_csv(path, delimiter=";", date_format="%d.%m.%Y")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: disease_reporting_delay("flu"), "cases must be one of dengue, .*got 'flu'"),
        (lambda: cdnow_problem(463), r"within must lie in \[0, 462\], got 463"),
        (lambda: cdnow_problem(1.5), "within must be a whole number, got 1.5"),
        (lambda: cdnow_problem(feedback="x"), "feedback must be one of anonymous, named"),
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
        (
            lambda: Conversions("x", ("a",), ([5],), followed=([1, 2],)),
            "followed must have an entry for each of the delays",
        ),
        (
            lambda: load_cdnow().problem(within=463),
            "within must be below 463 rounds, the longest follow-up of an impression of '1'",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
