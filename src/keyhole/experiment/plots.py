"""Captions of charts of a run, and notes on its tables."""

from keyhole.metric import Metric
from keyhole.results.curve_chart import Scale, arms_divisor, count_nonpositive
from keyhole.results.curves import Curves


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
