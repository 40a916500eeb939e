"""Figures as SVG, PNG and PDF files, which are equal for equal results."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from keyhole.files import write_atomically
from keyhole.validation import escape_controls

# Figures contain no dates and no random ids, so that equal results make equal files. Text stays
# text, which can be searched and edited.
_SETTINGS: Final[Any] = {"svg.hashsalt": "keyhole", "svg.fonttype": "none", "pdf.fonttype": 42}
# By type of file: the metadata field of the title, that of the caption, and the fields to leave
# out, since they would hold a date or a version.
_METADATA: Final[dict[str, tuple[str, str, Sequence[str]]]] = {
    "svg": ("Title", "Description", ("Date", "Creator")),
    "png": ("Title", "Description", ("Software",)),
    "pdf": ("Title", "Subject", ("CreationDate", "Creator", "Producer")),
}

FIGURE_KINDS: Final = tuple(_METADATA)
"""The types of files that a figure is written to."""


def blank_figure(width: float = 8.2, height: float = 4.6) -> Figure:
    """Return an empty figure of this size in inches, without a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    # Pyplot is not used, since it would keep the figure in memory until it is closed.
    FigureCanvasAgg(figure)
    return figure


def figure_bytes(figure: Figure, file_type: str, *, title: str = "", caption: str = "") -> bytes:
    """Return a figure as an ``svg``, ``png`` or ``pdf`` file with title and caption as metadata."""
    file = io.BytesIO()
    for text in figure.findobj(Text):
        text.set_text(escape_controls(text.get_text(), "\n"))
    title, caption = map(escape_controls, (title, caption))
    title_field, caption_field, omitted_fields = _METADATA[file_type]
    metadata = {title_field: title, caption_field: caption} | dict.fromkeys(omitted_fields)
    with mpl.rc_context(_SETTINGS):
        figure.savefig(file, format=file_type, dpi=150, metadata=metadata)
    return file.getvalue()


def write_figure(figure: Figure, path: Path, *, title: str, caption: str) -> list[Path]:
    """Write a figure to a file of each type, whose suffix is added to `path`; return the files."""
    files = {file_type: path.with_name(f"{path.name}.{file_type}") for file_type in _METADATA}
    # The layout is computed once and then removed, since savefig would compute it again for each
    # file, which takes as long as drawing.
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine()
    for file_type, file in files.items():
        write_atomically(file, figure_bytes(figure, file_type, title=title, caption=caption))
    return list(files.values())
