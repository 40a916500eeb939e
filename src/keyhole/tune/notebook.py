"""HTML of a tune in a notebook: the recommendation, a table of the commands, and a picture."""

import numpy as np

from keyhole.extras import has_extra
from keyhole.pages.notebook_html import notebook_html, picture_html
from keyhole.pages.table import Table
from keyhole.tune.saved_tune import SavedTune
from keyhole.tune.summary import count_outcomes, format_best, format_cut_off, format_progress

_MOST_ROWS = 10


def tune_html(tune: SavedTune) -> str:
    """Return what notebooks show: see `SavedTune._repr_html_`."""
    if not tune.runs:
        table = Table(format_progress(tune), ["arm"], [[arm.name] for arm in tune.spec.arms])
        return notebook_html([table])
    texts = [*format_best(tune.best()), format_cut_off(tune)]
    line = " ".join(f"{text}." for text in texts if text)
    return notebook_html([_arms_table(tune)], _picture(tune), line)


def _picture(tune: SavedTune) -> str:
    """Return the picture of the gains; empty without Matplotlib."""
    if not has_extra("plots"):
        return ""
    from keyhole.pages.chart_figure import chart_figure
    from keyhole.tune.charts import gain_chart

    chart = gain_chart(tune)
    return picture_html(chart_figure(chart), chart.alt)


def _arms_table(tune: SavedTune) -> Table:
    """Return the arms with runs, that with the largest gain first; at most ten."""
    gains, spec = tune.gains, tune.spec
    means = np.where(gains.run_counts > 0, gains.draws.mean(axis=0), -np.inf)
    order = [int(arm) for arm in np.argsort(-means.max(axis=1), kind="stable")]
    tried = [arm for arm in order if gains.run_counts[arm, 0] > 0]
    rows = []
    for arm in tried[:_MOST_ROWS]:
        runs, place = tune.runs_of(spec.names[arm]), int(means[arm].argmax())
        rows.append([
            spec.names[arm], f"{len(runs):,}", f"{count_outcomes(runs)['ok']:,}",
            f"{spec.limits[place]:g} s", str(gains.gain(arm, place)),
        ])  # fmt: skip
    caption = f"{format_progress(tune)}."
    if len(rows) < len(order):
        caption += f" Shown are {len(rows)} of {len(order):,} arms."
    return Table(caption, ["arm", "runs", "ok", "best limit", "gain with it"], rows)
