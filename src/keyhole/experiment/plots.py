"""Figures of a run, as files and for reports."""

import io
import textwrap
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keyhole.files import write_atomically
from keyhole.results.curves import Curves
from keyhole.results.plot import Scale, entitle, per_arm, plot_curves, without_logarithm

# Nothing of the moment goes into a figure, so that equal results make equal files.
_SETTINGS: Final[Any] = {"svg.hashsalt": "keyhole", "svg.fonttype": "path"}
_METADATA: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
_CAPTION_COLUMNS: Final = 130


def figure_of(
    curves: Curves,
    metric: str,
    *,
    title: str,
    x: Scale = "linear",
    y: Scale | None = None,
) -> Figure:
    """Return the figure of a metric over the rounds, with its caption.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    title : str
        Its title.
    x : {"linear", "log"}, default "linear"
        The axis of rounds.
    y : {"linear", "log"}, optional
        The axis of means; by default as the metric is drawn.

    Returns
    -------
    matplotlib Figure
        The figure; it belongs to no window.
    """
    figure = Figure(figsize=(8.2, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = plot_curves(curves, metric, figure.subplots(), x=x, y=y)
    entitle(axes, title)
    text = textwrap.fill(caption(curves, metric, y), _CAPTION_COLUMNS)
    figure.supxlabel(text, fontsize=7.5, color="#444444", parse_math=False)
    return figure


def caption(curves: Curves, metric: str, y: Scale | None) -> str:
    """Return what a figure shows, and what it had to leave out.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    y : {"linear", "log"}, optional
        The axis of means; by default as the metric is drawn.

    Returns
    -------
    str
        Some sentences.
    """
    text = f"Mean over {curves.replications:,} replications, with its 95 % interval."
    if curves.replications == 1:
        text = "One replication, which has no interval."
    logarithm = y == "log" or per_arm(curves, metric, y) is not None
    missing = without_logarithm(curves, metric) if logarithm else {}
    if missing:
        listed = ", ".join(f"{label} ({count})" for label, count in missing.items())
        text += (
            " Left out, because a mean that is not above 0 has no logarithm (number of "
            f"checkpoints): {listed}."
        )
    return text


def picture(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of an ``svg`` or ``png`` file."""
    sink = io.BytesIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(sink, format=kind, dpi=150, metadata=_METADATA[kind])
    return sink.getvalue()


def write_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as ``name.svg`` and ``name.png``."""
    for kind in _METADATA:
        write_atomically(folder / f"{name}.{kind}", picture(figure, kind))
