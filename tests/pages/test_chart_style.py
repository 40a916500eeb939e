import re
from pathlib import Path

import keyhole.pages
from keyhole.pages.line_chart_drawing import _DASHES, _PRINT_DASHES
from keyhole.pages.policy_colours import COLOURS

STYLE = (Path(keyhole.pages.__file__).parent / "templates" / "chart.css").read_text()


def contrast(one, other):
    """Return the contrast of two colours by the rule of WCAG 2."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def by_day_and_night(name):
    """Return the two colours of a variable."""
    return re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", STYLE).groups()


def test_pages_have_the_colours_of_figures():
    found = re.findall(r"\.c(\d) \{ --colour: (?:light-dark\()?(#\w+)", STYLE)
    assert [number for number, _ in found] == [str(n) for n in range(len(COLOURS))]
    colours = [colour.upper().replace("#000", "#000000") for _, colour in found]
    assert colours == list(COLOURS)


def test_every_kind_of_dashes_is_there_and_differs():
    for letter, count in (("d", _DASHES), ("p", _PRINT_DASHES)):
        found = re.findall(rf"\.{letter}(\d) {{ --\w+: ([^;]+);", STYLE)
        assert [number for number, _ in found] == [str(n) for n in range(count)]
        assert len({dashes for _, dashes in found}) == count


def test_grey_can_be_read_and_seen():
    for text, line, page in zip(*map(by_day_and_night, ("grey-text", "grey", "page")), strict=True):
        assert contrast(text, page) >= 4.5
        assert contrast(line, page) >= 3


def test_colours_can_be_seen_on_a_dark_page():
    _, night = by_day_and_night("page")
    assert all(contrast(colour, night) >= 3 for colour in COLOURS if colour != "#000000")
