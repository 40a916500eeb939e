"""Metrics of a process of the service, for Prometheus."""

from functools import cache
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from keyhole.serve.open_studies import OpenStudies
from keyhole.study import StoreError

# The upper bounds of the histogram's buckets, in seconds.
_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics(CollectorRegistry):
    """The metrics of a process: counters and a histogram of its requests, and its open studies."""

    def __init__(self, studies: OpenStudies) -> None:
        super().__init__()
        self.asks = Counter("keyhole_asks", "Decisions, also repeated ones", registry=self)
        self.tells = Counter("keyhole_tells", "Feedback, also told again", registry=self)
        answers = Counter("keyhole_requests", "Answers", ["route", "status"], registry=self)
        seconds = Histogram(
            "keyhole_request_seconds", "Time to answer", ["route"], registry=self, buckets=_BOUNDS
        )
        # Kept, since to find a metric by its labels takes longer than to count.
        self.answers = cache(answers.labels)
        self.seconds = cache(seconds.labels)
        open_studies = Gauge("keyhole_open_studies", "Studies open now", registry=self)
        open_studies.set_function(lambda: len(studies.in_memory))
        pending = Gauge("keyhole_pending_decisions", "Pending in open studies", registry=self)
        pending.set_function(lambda: _sum_over_studies(studies, "pending_count"))
        expired = Gauge("keyhole_expired_decisions", "Expired in open studies", registry=self)
        expired.set_function(lambda: _sum_over_studies(studies, "expired_count"))


def _sum_over_studies(studies: OpenStudies, count_name: str) -> int:
    """Return the sum of a count of all open studies, without studies that are closed meanwhile."""
    total = 0
    for study in studies.in_memory:
        try:
            total += getattr(study, count_name)
        except StoreError:
            raise
        except RuntimeError:  # the study was closed after the list was made
            continue
    return total
