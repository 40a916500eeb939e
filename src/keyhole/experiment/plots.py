"""Figures of a run, with captions: how a metric, such as the reward lost, grows over the rounds."""

from matplotlib.figure import Figure

from keyhole.metric import Metric
from keyhole.pages.figure_files import blank_figure
from keyhole.pages.plot_legend import figure_size
from keyhole.results.curves import Curves
from keyhole.results.drawn_curves import Scale, arms_divisor
from keyhole.results.plot import count_nonpositive, plot_curves


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
    figure = blank_figure(*figure_size(curves.labels))
    plot_curves(curves, metric, figure.subplots(), x=x, y=y)
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
