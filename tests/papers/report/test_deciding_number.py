import math

import pytest

from keyhole.metric import Metric
from keyhole.papers.report.claim_rows import (
    deciding_number,
    draw_deciding_number,
    format_verdict_number,
)
from keyhole.papers.verdicts import Number, Verdict

LOWER, HIGHER = Metric("regret"), Metric("reward", better="higher")
COUNT = Number("significantly better in", 5, 5, 5, None, at_least=5)
RUNS = Number("runs", 10, 10, 10, None, at_least=5000)
GAP = Number("a minus b", -1.0, -2.0, -0.5, 0.01)
CLEAR = Number("a minus c", -9.0, -9.5, -8.5, 0.0)


def verdict(kind, status="holds"):
    return Verdict(text="So", source=".", origin="paper", status=status, detail="", kind=kind)


def decides(kind, *numbers, metric=LOWER):
    return deciding_number(verdict(kind), numbers, metric)


def test_the_number_nearest_to_its_limit_decides():
    near = Number("near", 1.0, 0.9, 1.1, None, at_most=1.2)
    far = Number("far", 1.0, 0.99, 1.01, None, at_most=1.2)
    beyond = Number("beyond", 1.3, 1.25, 1.35, None, at_most=1.2)
    assert decides("estimate", far, near) is near
    assert decides("estimate", far, near, beyond) is beyond
    assert decides("estimate", Number("free", 1.0)) is None


def test_an_ordering_of_several_is_decided_by_the_number_of_comparisons():
    assert decides("ordering", COUNT, GAP, CLEAR) is COUNT


@pytest.mark.parametrize(
    ("kind", "metric", "at_least", "at_most"),
    [
        ("ordering", LOWER, -math.inf, 0.0),
        ("ordering", HIGHER, 0.0, math.inf),
        ("not-better", LOWER, 0.0, math.inf),
        ("computed: not_worse", HIGHER, -math.inf, 0.0),
        ("trend", HIGHER, -math.inf, 0.0),
    ],
)
def test_a_difference_is_compared_with_zero_on_the_side_that_is_claimed(
    kind, metric, at_least, at_most
):
    found = decides(kind, GAP, metric=metric)
    assert (found.name, found.at_least, found.at_most) == (GAP.name, at_least, at_most)


def test_the_number_of_runs_that_a_claim_asks_for_is_not_drawn():
    assert decides("not-better", RUNS, GAP, CLEAR).name == "a minus c"  # furthest beyond 0
    assert decides("other", RUNS) is None


def test_a_drawing_has_the_claimed_range_and_says_it_in_words():
    number = Number("ratio", 1.5, 1.25, 1.75, 0.04, at_least=1.0)
    strip = draw_deciding_number(verdict("estimate"), number)
    assert (strip.low, strip.high, strip.at_least, strip.at_most) == (1.25, 1.75, 1.0, math.inf)
    assert strip.alt == "ratio: 1.50 [1.25, 1.75] (claimed: at least 1; p = 0.04)"
    assert format_verdict_number(Number("level", 2.0, 2.0, 2.0, at_least=1.0, at_most=3.0)) == (
        "level: 2 (claimed: 1 to 3)"
    )
