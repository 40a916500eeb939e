"""Studies: many decisions in flight, told in any order, kept in a database."""

from keyhole.study.decision import ConflictError, Decision, WaitingError
from keyhole.study.listing import list_studies
from keyhole.study.storage import DamagedError, StoreError, backup
from keyhole.study.study import Study

__all__ = [
    "ConflictError",
    "DamagedError",
    "Decision",
    "StoreError",
    "Study",
    "WaitingError",
    "backup",
    "list_studies",
]
