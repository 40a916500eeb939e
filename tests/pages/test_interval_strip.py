import math

import pytest

from keyhole.pages.interval_strip import IntervalStrip
from tests.html import parse


def strip(value=5.0, low=0.0, high=10.0, **given):
    return IntervalStrip(
        **{"value": value, "low": low, "high": high, "status": "holds", "alt": "5 [0, 10]"} | given
    )


def claimed_range(block):
    """Return begin and width of the rectangle that is drawn, if there is one."""
    rectangles = parse(block.html()).all("rect")
    return [(float(one.attrs["x"]), float(one.attrs["width"])) for one in rectangles]


def test_the_interval_is_drawn_against_its_limit():
    one = strip(at_most=10)
    assert (one.interval_pixels, one.value_pixel, one.claimed_end_pixels) == ((8, 102), 55, [102])
    assert claimed_range(one) == [(0, 102)]
    both = strip(at_least=0, at_most=5)
    assert both.claimed_end_pixels == [8, 55]
    assert claimed_range(both) == [(8, 47)]
    assert claimed_range(strip(at_least=5)) == [(55, 55)]
    assert claimed_range(strip()) == []


def test_everything_lies_within():
    one = strip(value=0, low=-1, high=1, at_least=-100, at_most=100)
    assert one.claimed_end_pixels == [8, 102]
    assert 8 < one.interval_pixels[0] < one.value_pixel < one.interval_pixels[1] < 102


def test_what_is_unknown_or_infinite():
    unknown = strip(math.nan, math.nan, math.nan, at_most=1)
    assert (unknown.interval_pixels, unknown.value_pixel, unknown.claimed_end_pixels) == (
        None,
        None,
        [55],
    )
    assert strip(1, -math.inf, math.inf, at_most=2).interval_pixels == (0, 110)
    assert strip(math.nan, math.nan, math.nan).claimed_end_pixels == []
    assert strip(3, 3, 3).interval_pixels == (55, 55)


@pytest.mark.parametrize("status", ["holds", "undecided", "does not hold"])
def test_a_strip_is_a_named_picture(status):
    (span,) = parse(strip(status=status, alt="5 < 6 & more", at_most=6).html()).all("span")
    assert span.attrs["role"] == "img"
    assert span.attrs["aria-label"] == "5 < 6 & more"
    assert span.attrs["class"].split() == ["strip", status.replace(" ", "-")]
    assert len(span.all("svg")[0].all("path", "rect", "circle")) == 4
