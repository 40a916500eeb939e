"""Errors in what a caller asks of a study; none of their texts names the database."""


class UnknownStudyError(ValueError):
    """The database has no study of this name."""


class StudyExistsError(ValueError):
    """The database has a study of this name, and a new one was to get it."""


class UnknownArmError(ValueError):
    """The study has no arm of this name in use."""


class UnknownDecisionError(ValueError):
    """The study has no decision of this id or idempotency key."""


class KeyUsedError(ValueError):
    """An idempotency key was used before, for a decision in another context."""


class DifferentFeedbackError(ValueError):
    """A decision was settled otherwise: it was told other feedback before, or has expired."""


class PendingDecisionError(RuntimeError):
    """The policy waits for the feedback of a pending decision, and takes no other."""

    later = True
    """Whether the same may be tried later on."""


class StudyDoneError(RuntimeError):
    """The policy has enough: every arm is settled, and nothing is left to decide."""

    done = True
    """Whether the work is done: commands exit with a code of their own."""
