"""A small drawing of a number with its interval, on the range that a statement claims."""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np

from keyhole.pages.page import render_template

Status = Literal["holds", "undecided", "does not hold"]

_WIDTH: Final = 110
_MARGIN: Final = 8.0  # pixels at either end


@dataclass(frozen=True, kw_only=True)
class IntervalStrip:
    """A number and its interval, in a strip of 110 x 16 pixels with the claimed range shaded.

    An infinite end is drawn at the border of the strip. `alt` describes the strip in words;
    `captions` are lines of text below it.

    Examples
    --------
    >>> strip = IntervalStrip(value=1, low=0, high=2, at_least=0, status="holds", alt="1 [0, 2]")
    >>> strip.claimed_end_pixels, strip.interval_pixels, strip.value_pixel
    ([8.0], (8.0, 102.0), 55.0)
    """

    value: float
    low: float
    high: float
    at_least: float = -math.inf
    at_most: float = math.inf
    status: Status
    alt: str
    captions: tuple[str, ...] = ()
    template: ClassVar[str] = "pages/templates/interval_strip.html.j2"

    def html(self) -> str:
        """Return the HTML of the strip, for a line of text."""
        return render_template(self.template, block=self).strip()

    @property
    def claimed_end_pixels(self) -> list[float]:
        """The places of the claimed range's finite ends, in pixels from the left."""
        return [self.pixel(end) for end in (self.at_least, self.at_most) if math.isfinite(end)]

    @property
    def interval_pixels(self) -> tuple[float, float] | None:
        """The places of the interval's ends; None if there is no interval."""
        if math.isnan(self.low) or math.isnan(self.high):
            return None
        return self.pixel(self.low), self.pixel(self.high)

    @property
    def value_pixel(self) -> float | None:
        """The place of the value; None if it is unknown."""
        return self.pixel(self.value) if math.isfinite(self.value) else None

    def pixel(self, number: float) -> float:
        """Return the place of a number, in pixels from the left."""
        if math.isinf(number):
            return 0.0 if number < 0 else float(_WIDTH)
        # The strip spans all finite numbers, so that value, interval and limits are visible.
        numbers = (self.value, self.low, self.high, self.at_least, self.at_most)
        finite_numbers = [end for end in numbers if math.isfinite(end)]
        low = min(finite_numbers)
        high = max(finite_numbers)
        if low == high:
            return _WIDTH / 2
        return round(float(np.interp(number, [low, high], [_MARGIN, _WIDTH - _MARGIN])), 1)
