"""Tables of the policies of a run that can stop: rounds used, and errors against guarantees."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from keyhole.contract.policy import Guarantee
from keyhole.experiment.run_folder import RunFolder
from keyhole.experiment.spec import Spec
from keyhole.experiment.sweep_summary import Summaries
from keyhole.pages.page import Table
from keyhole.results.curves import Curves

STOPPING_TITLE: Final = "Stopping: rounds used and errors"
"""The heading of the section in reports."""
_SHARES: Final = {"median": 0.5, "90 %": 0.9, "most": 1.0}


def find_guarantees(run: RunFolder) -> dict[str, Guarantee]:
    """Return the guarantees of the policies of a run that can stop, by label.

    A policy of a user's file is left out where the file is not at hand.
    """
    return next(_guarantees_by_point(run), {})


def _guarantees_by_point(run: RunFolder) -> Iterator[dict[str, Guarantee]]:
    """Yield for each point of a sweep the guarantees of its policies that can stop, by label."""
    try:
        points = Spec.from_table(run.spec, folder=run.folder).points
    except (ValueError, TypeError, OSError):
        return
    for point in points:
        policies = point.spec.plan.policies
        yield {label: policy.guarantee() for label, policy in policies.items() if policy.verdicts}


def stopping_table(curves: Curves, guarantees: Mapping[str, Guarantee]) -> Table:
    """Return the table of rounds used and errors at the last checkpoint."""
    head = ["policy", "rounds used", *_SHARES, "runs not done", "error", "guarantee"]
    rows = []
    for label, guarantee in guarantees.items():
        rounds_used, is_unfinished = (
            curves.values(label, name)[-1] for name in ("rounds_used", "unfinished")
        )
        rows.append(
            [
                label,
                curves.estimates(label, "rounds_used")[-1].plus_minus(),
                *(f"{np.quantile(rounds_used, share):,.0f}" for share in _SHARES.values()),
                f"{int(is_unfinished.sum()):,} of {curves.replications:,}",
                curves.estimates(label, guarantee.metric)[-1].plus_minus(),
                guarantee.text,
            ]
        )
    rounds = curves.checkpoints[-1]
    note = f"Rounds until every arm was settled, at most {rounds:,}; the error that is guaranteed."
    return Table(note, head, rows)


def sweep_stopping_table(run: RunFolder, summaries: Summaries) -> Table | None:
    """Return the table of a sweep by point and policy; None if no policy can stop."""
    # A metric of all policies as soon as one can stop; else the points need not be made again.
    if "unfinished" not in summaries.metrics:
        return None
    # Without the file of a user's policy there are no guarantees, and hence no rows.
    rows = [
        [
            *point.names.values(),
            label,
            *(point.last_text(label, m) for m in ("rounds_used", "unfinished", guarantee.metric)),
            guarantee.text,
        ]
        for point, guarantees in zip(summaries.points, _guarantees_by_point(run), strict=False)
        for label, guarantee in guarantees.items()
    ]
    head = [*summaries.sweep, "policy", "rounds used", "runs not done", "error", "guarantee"]
    note = "Rounds until every arm was settled, share of runs that were not done, and errors."
    return Table(note, head, rows) if rows else None
