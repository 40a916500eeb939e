"""Studies: policies that take real decisions, with a log of all events in a database.

A program *asks* a study for a decision, acts on the decision, and later *tells* the study what came
of it, the *feedback*. Until then the decision is *pending*; any number of decisions may be pending.
"""

from typing import TYPE_CHECKING

from keyhole.study.errors import (
    DifferentFeedbackError,
    KeyUsedError,
    PendingDecisionError,
    StudyDoneError,
    StudyExistsError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownStudyError,
)
from keyhole.study.events import SettingCodeError
from keyhole.study.integrity import DatabaseCheck, StudyCheck, check_database, copy_intact_events
from keyhole.study.operations import Decision, DecisionRecord
from keyhole.study.state import LearningError
from keyhole.study.storage import DamagedError, StoreError, backup
from keyhole.study.study import Study, list_studies

if TYPE_CHECKING:
    from keyhole.study.async_study import AsyncStudy

__all__ = [
    "AsyncStudy",
    "DamagedError",
    "DatabaseCheck",
    "Decision",
    "DecisionRecord",
    "DifferentFeedbackError",
    "KeyUsedError",
    "LearningError",
    "PendingDecisionError",
    "SettingCodeError",
    "StoreError",
    "Study",
    "StudyCheck",
    "StudyDoneError",
    "StudyExistsError",
    "UnknownArmError",
    "UnknownDecisionError",
    "UnknownStudyError",
    "backup",
    "check_database",
    "copy_intact_events",
    "list_studies",
]


# `AsyncStudy` is imported at its first use, since importing asyncio takes longer than all the rest.
def __getattr__(name: str) -> object:
    if name == "AsyncStudy":
        from keyhole.study.async_study import AsyncStudy

        return AsyncStudy
    raise AttributeError(f"module 'keyhole.study' has no attribute {name!r}")
