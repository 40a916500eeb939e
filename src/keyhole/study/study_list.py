"""The list of the studies (each a policy that decides for real) in a database."""

from pathlib import Path

from keyhole.study.storage import open_store


def list_studies(storage: str | Path) -> list[str]:
    """Return the names of all studies in a database, oldest first.

    Parameters
    ----------
    storage : str or Path
        The path of a file, or the address of a PostgreSQL database.

    Raises
    ------
    ValueError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.study import Study
    >>> from keyhole.stochastic import UCB1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("buttons", "prices"):
    ...         Study.create(f"{folder}/all.db", name, UCB1(), ["a", "b"]).close()
    ...     list_studies(f"{folder}/all.db")
    ['buttons', 'prices']
    """
    store = open_store(storage, make=False)
    try:
        return [name for name, _ in store.studies()]
    finally:
        store.close()
