"""Sphinx extension that serves a font for formulas, since most phones have none with mathematics.

It is DejaVu Serif, which Matplotlib brings along, with the glyphs of formulas alone. Its table MATH
tells browsers how to draw roots, fractions and limits of sums. Its licence allows parts of it, and
changes.
"""

import logging
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from matplotlib import get_data_path
from sphinx.application import Sphinx

FONT = Path(get_data_path(), "fonts", "ttf", "DejaVuSerif.ttf")
# Latin, accents, Greek, punctuation, letterlike symbols, arrows, operators, brackets, braces, and
# mathematical letters: italic, script and double-struck.
_RANGES = (
    (0x20, 0x17F), (0x2C6, 0x2DD), (0x300, 0x33F), (0x370, 0x3FF), (0x2010, 0x2063),
    (0x2100, 0x214F), (0x2190, 0x23FF), (0x27E8, 0x27EB), (0x1D434, 0x1D56B),
)  # fmt: skip
# Browsers draw a Greek letter that is alone in italics, which the font lacks: upright ones instead.
_ITALIC_GREEK = dict(zip(range(0x1D6E2, 0x1D6FB), range(0x391, 0x3AA), strict=True)) | dict(
    zip(range(0x1D6FC, 0x1D715), range(0x3B1, 0x3CA), strict=True)
)
_OTHERS = {  # variants of Greek letters, the sign of partial derivatives, and a script l
    0x1D715: 0x2202, 0x1D716: 0x3F5, 0x1D717: 0x3D1, 0x1D719: 0x3D5, 0x1D71A: 0x3F1,
    0x2113: 0x1D459,
}  # fmt: skip
# Distances that the font gives as 0, or as the height of a capital, so that browsers would put
# subscripts on the line: in thousandths of the size of the font, as usual in TeX.
_DISTANCES = {
    "SubscriptShiftDown": 200, "SubscriptTopMax": 350, "SubscriptBaselineDropMin": 100,
    "SuperscriptShiftUp": 380, "SuperscriptShiftUpCramped": 310, "SuperscriptBottomMin": 150,
    "SuperscriptBaselineDropMax": 280, "SuperscriptBottomMaxWithSubscript": 340,
    "UpperLimitGapMin": 100, "UpperLimitBaselineRiseMin": 150,
    "LowerLimitGapMin": 100, "LowerLimitBaselineDropMin": 450,
    "FractionNumeratorShiftUp": 400, "FractionNumeratorDisplayStyleShiftUp": 630,
    "FractionDenominatorShiftDown": 300, "FractionDenominatorDisplayStyleShiftDown": 640,
}  # fmt: skip


def write_font(path: Path) -> None:
    """Write the font of formulas."""
    font = TTFont(FONT)
    glyphs = font.getBestCmap()
    for table in font["cmap"].tables:
        if table.isUnicode() and table.format == 12:  # the format for codes above 0xFFFF
            for code, drawn_as in (_ITALIC_GREEK | _OTHERS).items():
                if drawn_as in glyphs and code not in glyphs:
                    table.cmap[code] = glyphs[drawn_as]
    for name, thousandths in _DISTANCES.items():
        distance = getattr(font["MATH"].table.MathConstants, name)
        distance.Value = thousandths * font["head"].unitsPerEm // 1000
    codes = {code for low, high in _RANGES for code in range(low, high + 1)}
    subsetter = Subsetter(Options(layout_features=["*"], hinting=False, drop_tables=["FFTM"]))
    subsetter.populate(unicodes=codes | _ITALIC_GREEK.keys() | _OTHERS.keys())
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(path)


logging.getLogger("fontTools").setLevel(logging.WARNING)  # it lists every glyph that it keeps


def add_font(app: Sphinx, error: Exception | None) -> None:
    """Write the font beside the style sheets of a site that was built."""
    if error is None and app.builder.format == "html":
        write_font(app.outdir / "_static" / "formulas.woff")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("build-finished", add_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
