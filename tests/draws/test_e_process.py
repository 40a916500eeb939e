"""E-processes against their definition: a mean over alternatives of likelihood ratios."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from keyhole.draws.mean_bounds import log_mixture_evidence_above

pytestmark = pytest.mark.interpreted


def log_e(total, pulls, null):
    """Return the logarithm of the e-process against "mean <= null", by integration."""
    zeros, best = pulls - total, max(total / pulls, null)

    def log_ratio(q):
        found = total * math.log(q / null) if total else 0.0
        return found + (zeros * math.log((1 - q) / (1 - null)) if zeros else 0.0)

    peak = log_ratio(min(best, 1 - 1e-12))
    width = 10 * math.sqrt(max(best * (1 - best), 1 / pulls) / pulls)
    low, high = max(null, best - width), min(1.0, best + width)
    area, _ = quad(lambda q: math.exp(log_ratio(q) - peak), low, high, epsabs=0, epsrel=1e-11)
    return peak + math.log(area / (1 - null))


def is_mean_above(total, pulls, null, level):
    return log_mixture_evidence_above(total, pulls, null, level) >= level


def is_mean_below(total, pulls, null, level):
    return is_mean_above(pulls - total, pulls, 1.0 - null, level)


CASES = [
    (10, 10, 0.5), (7.3, 11, 0.45), (30, 40, 0.5), (3, 5, 0.05), (1, 1, 0.5), (560, 1000, 0.5),
    (50_500, 100_000, 0.49), (4_510_000.5, 10_000_000, 0.45), (2, 2, 0.99),
]  # fmt: skip


@pytest.mark.parametrize(("total", "pulls", "null"), CASES)
def test_the_level_at_which_it_answers_is_the_mixture(total, pulls, null):
    level = log_e(total, pulls, null)
    step = 1e-9 + 1e-8 * abs(level)
    assert is_mean_above(total, pulls, null, level - step)
    assert not is_mean_above(total, pulls, null, level + step)
    # The mirror image: one minus every reward.
    assert is_mean_below(pulls - total, pulls, 1 - null, level - 2 * step)
    assert not is_mean_below(pulls - total, pulls, 1 - null, level + 2 * step)


@pytest.mark.parametrize("pulls", [1, 10, 10**7])
def test_a_mean_on_the_nulls_side_is_no_evidence(pulls):
    assert not is_mean_above(0.0, pulls, 0.5, 1e-9)
    assert not is_mean_above(0.5 * pulls, pulls, 0.5, 1e-9)
    assert not is_mean_below(float(pulls), pulls, 0.5, 1e-9)


def test_the_mean_of_the_e_process_is_1_at_the_null():
    # Exactly, over all sequences of 12 rewards of 0 and 1; below 1 for rewards in between.
    n, null = 12, 0.3
    ones = np.arange(n + 1)
    chances = [math.comb(n, k) * null**k * (1 - null) ** (n - k) for k in ones]
    values = [float(math.exp(tail_free(k, n, null))) for k in ones]
    assert sum(c * v for c, v in zip(chances, values, strict=True)) == pytest.approx(1, abs=1e-9)
    assert math.exp(tail_free(n * null, n, null)) < 1


def tail_free(total, pulls, null):
    """Return `log_e` over the whole interval of alternatives, where the mean is below the null."""

    def ratio(q):
        return (q / null) ** total * ((1 - q) / (1 - null)) ** (pulls - total)

    return math.log(quad(ratio, null, 1, epsabs=0, epsrel=1e-11)[0] / (1 - null))
