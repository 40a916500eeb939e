import math

import numpy as np
import pytest
from pydantic import ValidationError

from keyhole.papers.claims import Deviations, Identical
from keyhole.papers.claims.variation import log_ratio
from tests.papers.made_up import COMMON, judge, result


def deviations(**more):
    cells = {"numerator": {"policy": "wide"}, "denominator": {"policy": "narrow"}}
    return Deviations.model_validate(COMMON | {"kind": "deviations"} | cells | more)


@pytest.fixture
def varied():
    found = result({"wide": [5, 5], "narrow": [5, 5]})
    rng = np.random.default_rng(8)
    found.curves.values("wide", "aggregate_regret")[1] = 5 + 3 * rng.standard_normal(400)
    found.curves.values("narrow", "aggregate_regret")[1] = 5 + rng.standard_normal(400)
    return found


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"low": 1.0}, "holds"),
        ({"low": 2.0, "high": 4.0}, "holds"),
        ({"high": 1.0}, "does not hold"),
        ({"low": 4.0}, "does not hold"),
        ({"low": 3.0}, "undecided"),
    ],
)
def test_standard_deviations_are_compared(varied, ends, status):
    found, detail, _ = judge(deviations(**ends), varied)
    assert found == status
    assert detail.startswith("deviation of wide / narrow at the end: ")


def test_what_does_not_vary_leaves_deviations_undecided(varied):
    varied.curves.values("narrow", "aggregate_regret")[:] = 926.1
    assert judge(deviations(low=1.0), varied)[0] == "undecided"
    assert judge(deviations(low=1.0), result({"wide": [5, 5], "narrow": [5, 5]}, runs=2))[0] == (
        "undecided"
    )


def test_the_error_is_that_of_the_jackknife():
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=60), rng.exponential(size=60)
    each = [math.log(np.delete(a, i).std(ddof=1) / np.delete(b, i).std(ddof=1)) for i in range(60)]
    found = log_ratio(a, b)
    assert found.value == pytest.approx(math.log(a.std() / b.std()))
    assert found.error == pytest.approx(math.sqrt(59 * np.var(each)), rel=1e-9)


@pytest.mark.parametrize("distribution", ["normal", "exponential"])
def test_the_interval_covers_whatever_the_law(distribution):
    # 1,000 experiments of 60 pairs that share noise: 5 standard errors and 3 % for heavy tails,
    # where an F test would cover 75 %.
    rng, covered, experiments = np.random.default_rng(10), 0, 1000
    for _ in range(experiments):
        draw = getattr(rng, distribution)
        common = draw(size=60)
        found = log_ratio(common + draw(size=60), 2.0 * (common + draw(size=60)))
        covered += found.low < -math.log(2.0) < found.high
    assert abs(covered / experiments - 0.95) < 0.03 + 5 * math.sqrt(0.95 * 0.05 / experiments)


def identical(**more):
    cells = [{"policy": "a"}, {"policy": "b"}]
    return Identical.model_validate(COMMON | {"kind": "identical", "cells": cells} | more)


def test_identical_means_to_the_last_bit():
    found = result({"a": [1, 2], "b": [1, 2]})
    values = {p: found.curves.values(p, "aggregate_regret") for p in "ab"}
    values["b"][:] = values["a"]
    assert judge(identical(), found)[:2] == ("holds", "so in all of 400 replications")
    values["b"][0, 7] = np.nextafter(values["b"][0, 7], 2.0)
    status, detail, _ = judge(identical(), found)
    assert status == "does not hold"
    assert detail == "aggregate_regret of b differs from a's in 1 of 400 replications"


def test_identical_needs_two():
    with pytest.raises(ValidationError, match="at least 2 items"):
        identical(cells=[{"policy": "a"}])
