from keyhole.pages.best_policy_tiles import Tile, TileTable
from keyhole.pages.page import render_template
from keyhole.pages.policy_colours import COLOURS, policy_colour
from tests.html import check_table, parse


def tiles(cells, **given):
    shown = {"rows": ["10", "20"], "columns": ["a", "b"], "caption": "Best"}
    return TileTable(cells=cells, **shown | given)


def shown(table):
    return parse(render_template(table.template, block=table))


def test_a_tile_has_its_text_and_the_colour_of_its_policy():
    cells = {
        ("10", "a"): Tile(text="LSA(1)", label="LSA(1)", note="by 3 [1, 5]"),
        ("20", "a"): Tile(text="APT", label="APT"),
        ("20", "b"): Tile(text="open"),
    }
    table = tiles(cells)
    page = shown(table)
    check_table(page.all("table")[0])
    _, first, missing, _, without = page.all("td")
    assert first.attrs["class"] == f"c{COLOURS.index(policy_colour('LSA'))}"
    assert [one.words() for one in first.all("b", "small")] == ["LSA(1)", "by 3 [1, 5]"]
    assert missing.words() == ""
    assert "class" not in without.attrs
    assert not page.all("ul")  # the texts say which policy it is


def test_a_legend_says_what_colours_mean_where_the_text_does_not():
    table = tiles({("10", "a"): Tile(text="61 %", label="LSA <1>")})
    (legend,) = shown(table).all("ul")
    assert legend.words() == "LSA <1>"
