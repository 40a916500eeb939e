"""Studies: many decisions in flight, told in any order, kept in a database."""

from keyhole.study.storage import StoreError
from keyhole.study.study import ConflictError, Decision, Study, WaitingError

__all__ = ["ConflictError", "Decision", "StoreError", "Study", "WaitingError"]
