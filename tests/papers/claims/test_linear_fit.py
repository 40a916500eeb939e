import numpy as np
import pytest

from keyhole.papers.claims.fits import fit_line
from tests.papers.made_up import WORDS, make_claim, result, results

X = {"a": 0.0, "b": 10.0, "c": 20.0, "d": 40.0}
NEARLY_EQUAL = {"a": 1.0, "b": 1.01, "c": 0.99, "d": 1.01}


def linear(**more):
    by = "keyhole.papers.claims.fits:linear_fit"
    table = {"kind": "computed", "by": by, "policy": "us", "x": X, "r_squared": 0.99}
    return make_claim(table | WORDS | more)


def curve(f):
    return results({key: f(x) for key, x in X.items()})


def test_means_on_a_line_are_linear():
    verdict = linear().verdict(curve(lambda x: 5 + 0.3 * x))
    assert verdict.status == "holds"
    assert verdict.claim == "us on A, B, C, D: so it is"
    assert "slope 0.30000 [0.29" in verdict.detail
    assert "R squared 1 [" in verdict.detail


def test_means_on_a_parabola_are_not():
    status, detail, _ = linear().judge(curve(lambda x: 5 + 0.01 * x**2))
    assert status == "does not hold"
    assert "most clearly: A off the line by " in detail


def test_a_falling_line_is_not_a_rising_one():
    falling = curve(lambda x: 50 - 0.3 * x)
    assert linear().judge(falling)[0] == "does not hold"


def test_a_line_lost_in_noise_is_undecided():
    # The slope is well below the noise, and so is R squared: but nothing is off the line.
    assert linear().judge(results(NEARLY_EQUAL, runs=5))[0] == "undecided"


def test_where_the_slope_alone_is_claimed_the_shape_does_not_matter():
    parabola = curve(lambda x: 5 + 0.01 * x**2)
    status, detail, _ = linear(r_squared=None).judge(parabola)
    assert status == "holds"
    assert "(claimed: a rising slope alone)" in detail
    falling = curve(lambda x: 50 - 0.01 * x**2)
    assert linear(r_squared=None).judge(falling)[0] == "does not hold"
    assert linear(r_squared=None).judge(results(NEARLY_EQUAL, runs=5))[0] == "undecided"


def test_constants_on_a_line_are_linear_and_equal_ones_are_not():
    found = curve(lambda x: x)
    for key, x in X.items():
        found[key].curves.values("us", "aggregate_regret")[:] = 3.0 + x
    status, detail, _ = linear().judge(found)
    assert status == "holds"
    assert detail.endswith(" off the line by 0")
    for key in X:
        found[key].curves.values("us", "aggregate_regret")[:] = 3.0
    assert linear().judge(found)[0] == "does not hold"


def test_one_replication_decides_nothing_about_a_line():
    found = {key: result({"us": [1, 5 + x]}, title=key, runs=1) for key, x in X.items()}
    assert linear().judge(found)[0] == "undecided"


def test_the_round_is_the_claims():
    found = curve(lambda x: 5 + 0.3 * x)
    for one in found.values():
        one.curves.values("us", "aggregate_regret")[0] *= -1.0
    assert linear(round=20).judge(found)[0] == "holds"
    assert linear(round=10).judge(found)[0] == "does not hold"


def test_the_line_is_that_of_weighted_least_squares():
    rng = np.random.default_rng(4)
    x = np.array([0.0, 1.0, 3.0, 7.0])
    values = (2 + x + 0.2 * x**2)[:, None] + rng.normal(size=(4, 50)) * [[1], [2], [3], [9]]
    line = fit_line(x, values)
    errors = values.std(axis=1, ddof=1)
    means = values.mean(axis=1)
    slope, intercept = np.polyfit(x, means, 1, w=1 / errors)
    assert line.slope.value == pytest.approx(slope)
    gaps = [gap.difference for gap in line.gaps]
    assert gaps == pytest.approx(means - intercept - slope * x)


def test_slope_and_r_squared_are_covered_by_their_intervals():
    # 400 experiments: 5 standard errors, and 3 % since estimated weights and the jackknife make
    # intervals approximate.
    rng = np.random.default_rng(6)
    x, runs = np.arange(5.0), 400
    means = 1 + x + 0.3 * x**2
    slope, intercept = np.polyfit(x, means, 1)
    off = means - intercept - slope * x
    r_squared = 1 - (off**2).sum() / ((means - means.mean()) ** 2).sum()
    covered = np.zeros(2)
    for _ in range(runs):
        common = rng.normal(size=100)
        line = fit_line(x, means[:, None] + common + rng.normal(size=(5, 100)))
        covered += [
            line.slope.low < slope < line.slope.high,
            line.r_squared.low < r_squared < line.r_squared.high,
        ]
    noise = 5 * np.sqrt(0.95 * 0.05 / runs)
    assert np.abs(covered / runs - 0.95).max() < noise + 0.03


def test_the_error_of_r_squared_is_that_of_the_jackknife():
    rng = np.random.default_rng(7)
    x, runs = np.arange(5.0), 150
    values = np.array([1.0, 3.0, 1.5, 3.5, 4.0])[:, None] + rng.normal(size=(5, runs))
    line = fit_line(x, values)
    assert 0.5 < line.r_squared.value < 0.7
    without = [fit_line(x, np.delete(values, i, axis=1)).r_squared.value for i in range(runs)]
    jackknife = np.sqrt((runs - 1) * np.var(without))
    assert line.r_squared.error == pytest.approx(jackknife, rel=1e-9)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": {"a": 1.0, "b": 2.0, "c": 2.0}}, "at least three different numbers"),
        ({"r_squared": 1.0}, "less than 1"),
    ],
)
def test_impossible_lines_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        linear(**table)
