"""Figures of a run, as files and for reports."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keyhole.files import write_atomically
from keyhole.metric import Metric
from keyhole.results.curves import Curves
from keyhole.results.plot import Scale, arms_divisor, count_nonpositive, plot_curves

# Figures contain no dates and no random ids, so that equal results make equal files. Text stays
# text, which can be searched and edited.
_SETTINGS: Final[Any] = {"svg.hashsalt": "keyhole", "svg.fonttype": "none", "pdf.fonttype": 42}
# By kind: the metadata fields for title and caption, and those that would hold a date or a version.
_METADATA: Final[dict[str, tuple[str, str, Sequence[str]]]] = {
    "svg": ("Title", "Description", ("Date", "Creator")),
    "png": ("Title", "Description", ("Software",)),
    "pdf": ("Title", "Subject", ("CreationDate", "Creator", "Producer")),
}

FIGURE_KINDS: Final = tuple(_METADATA)
"""The kinds of files that a figure is written to."""


def draw_curves_figure(
    curves: Curves,
    metric: str,
    *,
    x: Scale = "linear",
    y: Scale | None = None,
) -> Figure:
    """Return the figure of a metric over the rounds, without title and caption.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    x : {"linear", "log"}, default "linear"
        The axis of rounds.
    y : {"linear", "log"}, optional
        The axis of means; by default as the metric is drawn.

    Returns
    -------
    matplotlib Figure
        The figure.
    """
    figure = blank_figure()
    plot_curves(curves, metric, figure.subplots(), x=x, y=y)
    return figure


def blank_figure(width: float = 8.2, height: float = 4.6) -> Figure:
    """Return an empty figure of this size in inches, without a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    # A canvas of its own: pyplot would keep every figure in memory until it is closed.
    FigureCanvasAgg(figure)
    return figure


def caption(curves: Curves, metric: str, y: Scale | None) -> str:
    """Return the caption of a figure, with the points that a logarithmic axis leaves out.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    y : {"linear", "log"}, optional
        The axis of means; by default as the metric is drawn.
    """
    text = f"Mean over {curves.replications:,} replications, with its 95 % interval."
    if curves.replications == 1:
        text = "One replication, which has no interval."
    logarithm = y == "log" or arms_divisor(curves, metric, y) is not None
    missing = count_nonpositive(curves, metric) if logarithm else {}
    if missing:
        listed = ", ".join(f"{label} ({count})" for label, count in missing.items())
        text += (
            " Left out, because a mean that is not above 0 has no logarithm (number of "
            f"checkpoints): {listed}."
        )
    return text


def cell_note(metric: Metric) -> str:
    """Return the note that explains the cells in a table of a metric."""
    if metric.drawn == "share":
        return f"{metric.title}: share of replications [exact 95 % interval]"
    return f"{metric.title}: mean ± half of the 95 % interval"


def figure_bytes(figure: Figure, kind: str, *, title: str = "", caption: str = "") -> bytes:
    """Return a figure as an ``svg``, ``png`` or ``pdf`` file with title and caption as metadata."""
    sink = io.BytesIO()
    for_title, for_caption, left_out = _METADATA[kind]
    metadata = {for_title: title, for_caption: caption} | dict.fromkeys(left_out)
    with mpl.rc_context(_SETTINGS):
        figure.savefig(sink, format=kind, dpi=150, metadata=metadata)
    return sink.getvalue()


def write_figure(figure: Figure, path: Path, *, title: str, caption: str) -> list[Path]:
    """Write a figure to files of each kind, whose names begin with `path`; return them."""
    files = {kind: path.with_name(f"{path.name}.{kind}") for kind in _METADATA}
    # The layout is computed once and then removed: it takes as long as drawing, and savefig would
    # compute it for each kind again.
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine()
    for kind, file in files.items():
        write_atomically(file, figure_bytes(figure, kind, title=title, caption=caption))
    return list(files.values())
