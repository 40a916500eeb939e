"""Errors of a database, each with what to do about it."""


class StoreError(RuntimeError):
    """A database that failed, with what to do; the store connects anew when it is next used."""

    later = True
    """Whether the same may be tried later on."""


class DamagedError(StoreError):
    """A database that does not say what was written to it; trying again does not help."""

    later = False


class FinalStoreError(StoreError):
    """A database that has become another: nothing can be done but to open the study anew."""

    later = False
