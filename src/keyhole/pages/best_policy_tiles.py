"""A table of coloured tiles, which shows the best policy at each combination of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from keyhole.pages.policy_colours import line_styles


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A tile: its text, and a note in smaller type."""

    text: str
    label: str = ""  # the tile has the colour of the policy with this label; empty for no colour
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TileTable:
    """A table of tiles, with a legend of the colours unless the tiles show their labels.

    Parameters
    ----------
    rows, columns : sequence of str
        The headings of the rows and of the columns; that of a single row or column may be empty.
    cells : mapping
        The tiles by row and column; a cell without a tile is empty.
    caption : str
        What the table shows.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Tile]
    caption: str
    template: ClassVar[str] = "pages/templates/best_policy_tiles.html.j2"

    @cached_property
    def colours(self) -> dict[str, int]:
        """The number of each label's colour."""
        labels = dict.fromkeys(tile.label for tile in self.cells.values() if tile.label)
        return {label: style.colour for label, style in line_styles(list(labels)).items()}

    @property
    def legend(self) -> list[tuple[str, int]]:
        """Labels with the numbers of their colours; empty where each tile's text is its label."""
        if all(tile.text == tile.label for tile in self.cells.values() if tile.label):
            return []
        return list(self.colours.items())
