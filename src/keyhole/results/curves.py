"""Curves of simulations: the metrics of policies at checkpoints, in every replication."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import FloatArray
from keyhole.extras import require_extra
from keyhole.metric import Metric
from keyhole.pages.page import Table
from keyhole.results.estimate import (
    Estimate,
    PairedDifference,
    Tail,
    mean_estimate,
    paired_difference,
    share_estimate,
    tail_of_runs,
)
from keyhole.results.holm_adjustment import LEVEL, holm
from keyhole.results.latex import latex_table
from keyhole.validation import check_choice

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.axes import Axes

    from keyhole.pages.line_chart import ScaleName

_FEWEST_DRAWN_CHECKPOINTS: Final = 2


class Curves:
    """The result of `keyhole.simulate`.

    Parameters
    ----------
    checkpoints : sequence of int
        The rounds after which the metrics were taken.
    metrics : sequence of Metric or str
        The metrics, or their names.
    values : mapping of str to ndarray, shape (checkpoints, metrics, replications)
        The values by policy label.
    arms : int, optional
        The number of arms, for metrics that are drawn per arm.

    Attributes
    ----------
    metrics : tuple of str
        The names of the metrics; see `metric`.

    Examples
    --------
    >>> values = {"A": np.array([[[0.0, 1.0, 2.0, 1.0]]])}
    >>> curves = Curves([100], ["regret"], values)
    >>> print(curves.estimates("A", "regret")[0])
    1.0 [-0.3, 2.3]
    >>> print(curves)  # doctest: +ELLIPSIS
    After 100 rounds: mean over 4 replications ± half of its 95 % interval...
    policy  regret
    A       1.0 ± 1.3
    """

    def __init__(
        self,
        checkpoints: Sequence[int],
        metrics: Sequence[Metric | str],
        values: Mapping[str, FloatArray],
        *,
        arms: int | None = None,
    ) -> None:
        self.checkpoints = tuple(int(c) for c in checkpoints)
        metric_list = [Metric(metric) if isinstance(metric, str) else metric for metric in metrics]
        self.metrics = tuple(metric.name for metric in metric_list)
        self.labels = tuple(values)
        self.arms = arms
        self._metric_by_name = dict(zip(self.metrics, metric_list, strict=True))
        self._values = dict(values)

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(self._values[self.labels[0]].shape[2])

    def __repr__(self) -> str:
        """Return the means at the last checkpoint, as text in columns."""
        from keyhole.pages.notebook_html import text_table

        table = self._last_means_table(self._shown_metrics())
        return f"{table.caption}\n{text_table(table.head, table.rows)}"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a plot, and the means at the last checkpoint."""
        from keyhole.pages.notebook_html import chart_html, notebook_html

        tables = [self._last_means_table(self._shown_metrics())]
        if len(self.checkpoints) < _FEWEST_DRAWN_CHECKPOINTS:
            return notebook_html(tables)
        from keyhole.results.curve_chart import curve_chart

        return notebook_html(tables, chart_html(curve_chart(self, self.metrics[0])))

    def _last_means_table(self, shown_metrics: Sequence[str]) -> Table:
        """Return the table of the means at the last checkpoint."""
        rows = [
            [label, *(self.estimates(label, m)[-1].plus_minus() for m in shown_metrics)]
            for label in self.labels
        ]
        caption = (
            f"After {self.checkpoints[-1]:,} rounds: mean over {self.replications:,} replications "
            "± half of its 95 % interval; of a share, the whole interval."
        )
        return Table(caption, ["policy", *(self.metric(m).title for m in shown_metrics)], rows)

    def _shown_metrics(self) -> list[str]:
        """Return the metrics that are not details (`Metric.detail`), or all if all are details."""
        return [m for m in self.metrics if not self.metric(m).detail] or list(self.metrics)

    def metric(self, name: str) -> Metric:
        """Return the declaration of a metric: its title, unit, and which of two means is better."""
        return self._metric_by_name[check_choice("metric", name, self.metrics)]

    def values(self, policy: str | Policy, metric: str) -> FloatArray:
        """Return a metric in every replication: shape (checkpoints, replications).

        Parameters
        ----------
        policy : str
            A label, or its part before the parameters if that is unique: "LSA" for
            "LSA(alpha=1.35)"; or the policy itself, if its label is its `repr`.
        metric : str
            The name of a metric.
        """
        check_choice("metric", metric, self.metrics)
        return self._values[self._find_label(policy)][:, self.metrics.index(metric), :]

    def _find_label(self, policy: str | Policy) -> str:
        """Return the label of a policy, which is given as for `values`."""
        name = policy if isinstance(policy, str) else repr(policy)
        # "LSA" is no label, and so refused, if it fits both LSA(alpha=1) and LSA(alpha=2).
        matches = [label for label in self.labels if label.partition("(")[0] == name]
        if len(matches) == 1:
            return matches[0]
        # An argument of another type is refused as it is.
        return check_choice("policy", name if isinstance(policy, Policy) else policy, self.labels)

    def mean(self, policy: str | Policy, metric: str) -> FloatArray:
        """Return a metric's mean over replications, shape (checkpoints,)."""
        return np.asarray(self.values(policy, metric).mean(axis=1))

    def std_error(self, policy: str | Policy, metric: str) -> FloatArray:
        """Return the standard error of `mean`, of the same shape; infinite for one replication."""
        values = self.values(policy, metric)
        # For one replication NumPy would divide 0 by 0 and warn.
        if values.shape[1] == 1:
            return np.full(len(values), np.inf)
        return np.asarray(values.std(axis=1, ddof=1) / math.sqrt(values.shape[1]))

    def estimates(self, policy: str | Policy, metric: str) -> list[Estimate]:
        """Return a metric's mean with its 95 % interval, checkpoint by checkpoint.

        The interval is Student's t; for a metric that is 0 or 1 in each replication it is the exact
        interval of a share.
        """
        estimate = share_estimate if self.metric(metric).drawn == "share" else mean_estimate
        return [estimate(row) for row in self.values(policy, metric)]

    def tail(self, policy: str | Policy, metric: str) -> Tail:
        """Return the 90 % quantile and the worst value of a metric at the last checkpoint.

        For the quantile, the replications are ordered from the best to the worst.
        """
        lower = self.metric(metric).better == "lower"
        return tail_of_runs(self.values(policy, metric)[-1], lower_is_better=lower)

    def paired(self, a: str, b: str, *, metric: str, round: int) -> PairedDifference:
        """Return the paired difference, a minus b, of two policies at a checkpoint.

        Both policies have common random numbers, so the interval of the difference is mostly
        narrower than with independent random numbers.
        """
        if round not in self.checkpoints:
            listed = ", ".join(map(str, self.checkpoints))
            raise ValueError(f"round must be one of the checkpoints {listed}, got {round}")
        index = self.checkpoints.index(round)
        return paired_difference(self.values(a, metric)[index], self.values(b, metric)[index])

    def to_arrow(self) -> pyarrow.Table:
        """Return the means and their standard errors as an Arrow table.

        Its columns are `policy`, `round`, `metric`, `mean`, `std_error` and `replications`, with
        one row for each policy, metric and checkpoint. Type checkers know the type of the table if
        `pyarrow-stubs` is installed.
        """
        require_extra("files", "Curves.to_arrow()")
        import pyarrow as pa

        rows = [
            (label, checkpoint, metric, mean, error, self.replications)
            for label in self.labels
            for metric in self.metrics
            for checkpoint, mean, error in zip(
                self.checkpoints,
                self.mean(label, metric),
                self.std_error(label, metric),
                strict=True,
            )
        ]
        names = ["policy", "round", "metric", "mean", "std_error", "replications"]
        return pa.table([list(column) for column in zip(*rows, strict=True)], names=names)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of `to_arrow` as a pandas data frame (needs keyhole[pandas])."""
        require_extra("files,pandas", "Curves.to_pandas()")
        return cast("pandas.DataFrame", self.to_arrow().to_pandas())

    def to_latex(self, *, metrics: Sequence[str] | None = None, caption: str = "") -> str:
        r"""Return a table for LaTeX: the means at the last checkpoint with their 95 % intervals.

        For each metric, the best mean is in bold. Means that are not significantly worse are in
        bold, too (paired two-sided t-tests at the level of 5 %, adjusted for their number by Holm).
        The document needs ``\usepackage{booktabs}``; the method needs keyhole[scipy].

        Parameters
        ----------
        metrics : sequence of str, optional
            The names of the metrics, a column each; by default those that `print` shows.
        caption : str, optional
            The beginning of the caption, such as the name of the problem.

        Raises
        ------
        ValueError
            If a metric is unknown.
        ImportError
            If SciPy is not installed.

        Examples
        --------
        >>> from keyhole import simulate
        >>> from keyhole.thresholding import APT, LSA, Problem
        >>> problem = Problem([0.4, 0.6, 0.7], threshold=0.5)
        >>> curves = simulate(problem, [LSA(), APT()], horizon=60, replications=20)
        >>> print(curves.to_latex(metrics=["simple_regret"]).splitlines()[5])
        policy & chance of any wrong label \\
        """
        require_extra("scipy", "Curves.to_latex()")
        shown_metrics = [check_choice("metric", m, self.metrics) for m in metrics or []]
        shown_metrics = shown_metrics or self._shown_metrics()
        table = self._last_means_table(shown_metrics)
        bold = {
            (self.labels.index(label), 1 + column)
            for column, metric in enumerate(shown_metrics)
            for label in self._find_unbeaten_labels(metric)
        }
        title = ": ".join(filter(None, (caption, table.caption)))
        note = "Bold: not significantly worse than the best (paired t-tests, Holm, 5 %)."
        return latex_table(f"{title} {note}", table.head, table.rows, bold)

    def _find_unbeaten_labels(self, metric: str) -> set[str]:
        """Return the label of the best policy, and of each that is not significantly worse."""
        samples = {label: self.values(label, metric)[-1] for label in self.labels}
        means = {label: float(sample.mean()) for label, sample in samples.items()}
        best = self.metric(metric).rank(means)[0]
        others = [label for label in self.labels if label != best]
        p_values = holm([paired_difference(samples[n], samples[best]).p_value for n in others])
        return {best, *(n for n, p in zip(others, p_values, strict=True) if p > LEVEL)}

    def plot(
        self,
        metric: str | None = None,
        *,
        axes: Axes | None = None,
        x: ScaleName = "linear",
        y: ScaleName | None = None,
    ) -> Axes:
        """Draw a metric's mean over the checkpoints, with its 95 % interval.

        Parameters
        ----------
        metric : str, optional
            The name of the metric; by default the first.
        axes : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        x : {"linear", "log"}, default "linear"
            The scale of rounds.
        y : {"linear", "log"}, optional
            The scale of means; by default as the metric declares (`keyhole.Metric`). Means that are
            not positive are left out of a logarithmic scale.
        """
        metric = check_choice("metric", metric or self.metrics[0], self.metrics)
        require_extra("plots", "Curves.plot()")
        from keyhole.pages.matplotlib_chart import plot_chart
        from keyhole.results.curve_chart import curve_chart

        return plot_chart(curve_chart(self, metric, x=x, y=y), axes)
