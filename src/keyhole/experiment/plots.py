"""Figures of a run, as files and for reports."""

import io
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keyhole.core.curves import Curves
from keyhole.core.plot import plot_curves
from keyhole.core.saving import write_atomically

# Nothing of the moment goes into a figure, so that equal results make equal files.
_SETTINGS: Final[Any] = {"svg.hashsalt": "keyhole", "svg.fonttype": "path"}
_METADATA: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def figure_of(curves: Curves, metric: str, *, title: str, arms: int | None = None) -> Figure:
    """Return the figure of a metric over the budget.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    title : str
        Its title.
    arms : int, optional
        Draw ln(metric / arms), the axis of Figure 1 of Tao et al. (2019).

    Returns
    -------
    matplotlib Figure
        The figure; it belongs to no window.
    """
    figure = Figure(figsize=(8.2, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = plot_curves(curves, metric, figure.subplots(), log_per=arms)
    axes.set_title(title, fontsize=10)
    return figure


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
