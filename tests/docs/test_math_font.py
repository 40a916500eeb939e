"""The font of formulas has the glyphs and distances that a browser needs, and is small."""

import pytest
from fontTools.ttLib import TTFont

from tests.docs.loaded_extension import load_extension

# Letters that are alone are drawn in italics: x, h (which has a code of its own), alpha, tau.
ITALICS = "\U0001d465\u210e\U0001d6fc\U0001d70f"
# Double-struck E, script l; root, sum, product, integral, at most, minus, infinity, Delta.
SYMBOLS = "\U0001d53c\u2113\u221a\u2211\u220f\u222b\u2264\u2212\u221e\u0394"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("font") / "formulas.woff"
    load_extension("math_font").write_font(path)
    return path


def test_it_is_small(path):
    assert path.stat().st_size < 100_000


def test_it_has_the_glyphs_of_formulas(path):
    assert set(map(ord, ITALICS + SYMBOLS)) <= TTFont(path).getBestCmap().keys()


def test_subscripts_and_denominators_are_below_the_line(path):
    distances = TTFont(path)["MATH"].table.MathConstants
    assert distances.SubscriptShiftDown.Value > 0
    assert distances.FractionDenominatorDisplayStyleShiftDown.Value > 0
