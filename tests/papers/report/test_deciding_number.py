import math

from keyhole.papers.report.claim_rows import (
    deciding_number,
    draw_deciding_number,
    format_verdict_number,
)
from keyhole.papers.verdicts import Number, Verdict

COUNT = Number("significantly better in", 5, 5, 5, None, at_least=5)
RUNS = Number("runs", 10, 10, 10, None, at_least=5000)
GAP = Number("a minus b", -1.0, -2.0, -0.5, 0.01, at_most=0.0)
CLEAR = Number("a minus c", -9.0, -9.5, -8.5, 0.0, at_most=0.0)


def verdict(kind, *numbers):
    return Verdict(
        text="So", source=".", origin="paper", status="holds", detail="", kind=kind, numbers=numbers
    )


def decides(kind, *numbers):
    return deciding_number(verdict(kind, *numbers))


def test_the_number_nearest_to_its_limit_decides():
    near = Number("near", 1.0, 0.9, 1.1, None, at_most=1.2)
    far = Number("far", 1.0, 0.99, 1.01, None, at_most=1.2)
    beyond = Number("beyond", 1.3, 1.25, 1.35, None, at_most=1.2)
    assert decides("estimate", far, near) is near
    assert decides("estimate", far, near, beyond) is beyond
    assert decides("estimate", Number("free", 1.0)) is None


def test_an_ordering_of_several_is_decided_by_the_number_of_comparisons():
    assert decides("ordering", COUNT, GAP, CLEAR) is COUNT


def test_the_number_of_runs_that_a_claim_asks_for_is_not_drawn():
    assert decides("not-better", RUNS, GAP, CLEAR) is GAP
    assert decides("other", RUNS) is None


def test_a_drawing_has_the_claimed_range_and_says_it_in_words():
    number = Number("ratio", 1.5, 1.25, 1.75, 0.04, at_least=1.0)
    strip = draw_deciding_number(verdict("estimate"), number)
    assert (strip.low, strip.high, strip.at_least, strip.at_most) == (1.25, 1.75, 1.0, math.inf)
    assert strip.alt == "ratio: 1.50 [1.25, 1.75] (claimed: at least 1; p = 0.04)"
    assert format_verdict_number(Number("level", 2.0, 2.0, 2.0, at_least=1.0, at_most=3.0)) == (
        "level: 2 (claimed: 1 to 3)"
    )
