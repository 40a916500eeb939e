import math

import numpy as np
import pytest

from keyhole.confidence_sequences import EmpiricalBernstein


def reference(values, alpha):
    """Theorem 2 of Waudby-Smith and Ramdas (2024), term by term."""
    means, variances = [0.5], [0.25]  # before the first value
    for i in range(1, len(values) + 1):
        means.append((0.5 + sum(values[:i])) / (i + 1))
        squares = sum((values[j] - means[j + 1]) ** 2 for j in range(i))
        variances.append((0.25 + squares) / (i + 1))
    bets = [
        min(math.sqrt(2 * math.log(2 / alpha) / (variances[t - 1] * t * math.log(1 + t))), 0.5)
        for t in range(1, len(values) + 1)
    ]
    v = [4 * (value - mean) ** 2 for value, mean in zip(values, means, strict=False)]
    psi = [(-math.log(1 - bet) - bet) / 4 for bet in bets]
    centre = sum(bet * value for bet, value in zip(bets, values, strict=True)) / sum(bets)
    margin = (math.log(2 / alpha) + sum(a * b for a, b in zip(v, psi, strict=True))) / sum(bets)
    return max(0.0, centre - margin), min(1.0, centre + margin)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("power", [0.1, 1, 10])
def test_it_is_the_interval_of_the_theorem(alpha, power):
    values = (np.random.default_rng(1).random(150) ** power).tolist()
    seen = EmpiricalBernstein(alpha)
    for i, value in enumerate(values, 1):
        seen.update(value)
        if i in (1, 2, 50, 150):
            assert seen.interval == pytest.approx(reference(values[:i], alpha), abs=1e-12)
    assert (seen.count, seen.total) == (150, pytest.approx(sum(values)))


def test_its_width_follows_the_variance():
    rng = np.random.default_rng(1)
    widths = []
    for values in (rng.random(1000) < 0.5, rng.random(1000), 0.45 + 0.1 * rng.random(1000)):
        seen = EmpiricalBernstein()
        for value in values.tolist():
            seen.update(value)
        widths.append(np.diff(seen.interval)[0])
    assert widths == pytest.approx([0.125, 0.066, 0.016], rel=0.1)


def test_before_the_first_value_it_says_nothing():
    assert EmpiricalBernstein().interval == (0.0, 1.0)


def test_bad_numbers_are_refused():
    with pytest.raises(ValueError, match=r"alpha must lie in .*, got 1"):
        EmpiricalBernstein(alpha=1)
    seen = EmpiricalBernstein()
    with pytest.raises(ValueError, match=r"value must lie in .*, got -0\.5"):
        seen.update(-0.5)
    with pytest.raises(TypeError, match="value must be a number, got 'a'"):
        seen.update("a")
    assert seen.count == 0
