"""Claim (statement of a paper) that the worst mean of several problems grows as a power.

Such as: over several sets of options, the most reward lost grows at most linearly with the delay.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Result
from keyhole.papers.claims.power_law import PowerGrowth
from keyhole.papers.entry_references import ProblemName

_PLACES: Final = 3


class WorstCaseGrowth(PowerGrowth):
    """The worst mean of a metric over some problems grows as a power of a number of theirs.

    It is judged as `PowerGrowth`. The worst problem differs with x: gaps that are hard for a short
    horizon are easy for a long one. It is the one with the largest mean among the problems with the
    same x, or with the smallest where higher is better; its choice is not counted as a source of
    error.
    """

    kind: Literal["worst-power"]  # type: ignore[assignment]
    # that of each problem, by key; three different numbers, above 0
    x: Annotated[dict[ProblemName, float], Field(min_length=_PLACES)]

    def _places(self) -> list[float]:
        places = sorted(set(self.x.values()))
        if len(places) != _PLACES:
            raise ValueError(f"x must have three different numbers, got {places}")
        return places

    def _values(self, results: Mapping[str, Result], policy: str) -> FloatArray:
        rows = []
        for place in self._places():
            alike = [results[key] for key, number in self.x.items() if number == place]
            values = [one.values(policy, self.metric, self.round) for one in alike]
            worst = max if alike[0].curves.metric(self.metric).better == "lower" else min
            rows.append(worst(values, key=np.mean))
        return np.array(rows)
