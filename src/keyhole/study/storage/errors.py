"""Errors of the databases that keep studies; each message says what to do."""


class StoreError(RuntimeError):
    """The database failed; the store connects again at its next use."""

    later = True
    """Whether the same may be tried later on."""


class DamagedError(StoreError):
    """The database does not hold what was written to it; trying again does not help."""

    later = False


class FinalStoreError(StoreError):
    """The database cannot be used as it is: it was replaced, or its address must be another."""

    later = False
