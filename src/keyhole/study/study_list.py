"""Lists of the studies in a database (each a policy that decides for real), and a table of one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keyhole.contract.policy import Policy
from keyhole.study.storage import open_store
from keyhole.validate import short_repr


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


def summary_rows(
    policy: Policy, arms: tuple[str, ...], pending: int, recommend: Callable[[], Any]
) -> list[list[str]]:
    """Return a table of two columns: policy, arms, pending decisions, recommendation."""
    rows = [
        ["policy", repr(policy)],
        ["arms", f"{len(arms):,}"],
        ["pending decisions", f"{pending:,}"],
    ]
    if policy.vocabulary_class is not None and policy.vocabulary_class.has_recommendation():
        rows.append(["recommended", short_repr(recommend())])
    return rows
