"""Studies: policies (rules that choose among options) that decide for real, kept in a database.

A program *asks* a study for a decision, acts on it, and *tells* it later what came of that (the
feedback). Many decisions may wait for their feedback at the same time.
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


# Imported when first used: asyncio takes longer to import than all the rest.
def __getattr__(name: str) -> object:
    if name == "AsyncStudy":
        from keyhole.study.async_study import AsyncStudy

        return AsyncStudy
    raise AttributeError(f"module 'keyhole.study' has no attribute {name!r}")
