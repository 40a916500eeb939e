"""Metrics of a process of the service, in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

# The upper bounds of the histogram's buckets, in seconds.
_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """Counters and a histogram of the requests of a process.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("asks", 2)
    >>> print(metrics.format({"open_studies": 1}))
    # TYPE keyhole_asks_total counter
    keyhole_asks_total 2
    # TYPE keyhole_open_studies gauge
    keyhole_open_studies 1
    # TYPE keyhole_requests_total counter
    # TYPE keyhole_request_seconds histogram
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._totals: Counter[str] = Counter()
        self._answers: Counter[tuple[str, int]] = Counter()  # by route and status
        self._seconds: defaultdict[str, float] = defaultdict(float)  # sums by route
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))

    def count(self, name: str, number: int) -> None:
        """Add a number to a counter."""
        self._totals[name] += number

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count an answer, and how many seconds it took."""
        self._answers[route, status] += 1
        self._seconds[route] += seconds
        self._buckets[route][bisect_left(_BOUNDS, seconds)] += 1

    def format(self, gauges: Mapping[str, float]) -> str:
        """Return all metrics as text; `gauges` has the present values of the gauges by name."""
        lines = []
        for name, total in self._totals.items():
            lines += [f"# TYPE keyhole_{name}_total counter", f"keyhole_{name}_total {total}"]
        for name, value in gauges.items():
            lines += [f"# TYPE keyhole_{name} gauge", f"keyhole_{name} {value}"]
        lines.append("# TYPE keyhole_requests_total counter")
        for (route, status), total in self._answers.items():
            lines.append(f'keyhole_requests_total{{route="{route}",status="{status}"}} {total}')
        lines.append("# TYPE keyhole_request_seconds histogram")
        for route, counts in self._buckets.items():
            totals = list(accumulate(counts))
            for bound, total in zip([*_BOUNDS, "+Inf"], totals, strict=True):
                label = f'route="{route}",le="{bound}"'
                lines.append(f"keyhole_request_seconds_bucket{{{label}}} {total}")
            label = f'{{route="{route}"}}'
            lines.append(f"keyhole_request_seconds_sum{label} {self._seconds[route]:.6f}")
            lines.append(f"keyhole_request_seconds_count{label} {totals[-1]}")
        return "\n".join([*lines, ""])
