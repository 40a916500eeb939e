"""Table of the policies that can stop: rounds used, and errors beside their guarantees."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from keyhole.contract.policy import Guarantee
from keyhole.experiment.run_folder import RunFolder
from keyhole.experiment.spec import Spec
from keyhole.pages.page import Table
from keyhole.results.curves import Curves

_SHARES: Final = {"median": 0.5, "90 %": 0.9, "most": 1.0}


def find_guarantees(run: RunFolder) -> dict[str, Guarantee]:
    """Return the guarantees of those policies of a run that can stop, by label.

    A run that an older version of Keyhole began has no record of them, and its policies are made
    again from the spec; the dict is empty if that fails, since a file is missing, say.
    """
    if (saved := run.provenance.get("guarantees")) is not None:
        return {label: Guarantee(**entry) for label, entry in saved.items()}
    try:
        policies = Spec.from_table(run.spec, folder=run.folder).plan.policies
    except (ValueError, TypeError, OSError):
        return {}
    return {label: policy.guarantee() for label, policy in policies.items() if policy.verdicts}


def stopping_table(curves: Curves, guarantees: Mapping[str, Guarantee]) -> Table:
    """Return the table of rounds used and errors at the last checkpoint."""
    head = ["policy", "rounds used", *_SHARES, "runs not done", "error", "guarantee"]
    rows = []
    for label, guarantee in guarantees.items():
        rounds_used = curves.values(label, "rounds_used")[-1]
        unfinished_count = int(curves.values(label, "unfinished")[-1].sum())
        rows.append(
            [
                label,
                curves.estimates(label, "rounds_used")[-1].plus_minus(),
                *(f"{np.quantile(rounds_used, share):,.0f}" for share in _SHARES.values()),
                f"{unfinished_count:,} of {curves.replications:,}",
                curves.estimates(label, guarantee.metric)[-1].plus_minus(),
                guarantee.text,
            ]
        )
    rounds = curves.checkpoints[-1]
    note = f"Rounds until every arm was settled, at most {rounds:,}; errors and their guarantees."
    return Table(note, head, rows)
