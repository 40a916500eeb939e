"""The studies that a database holds, and what there is to say of one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keyhole.contract.policy import Policy
from keyhole.study.storage import open_store
from keyhole.validate import short_repr


def list_studies(storage: str | Path) -> list[str]:
    """Return the names of all studies in a database, the oldest first.

    Parameters
    ----------
    storage : str or Path
        The file of a database, or the address of one in PostgreSQL.

    Raises
    ------
    ValueError
        If there is no such file: none is made.

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
    """Return the rows of a small table: who decides, arms, what is open, what is recommended."""
    rows = [
        ["policy", repr(policy)],
        ["arms", f"{len(arms):,}"],
        ["open decisions", f"{pending:,}"],
    ]
    if policy.vocabulary_class is not None and policy.vocabulary_class.has_recommendation():
        rows.append(["recommended", short_repr(recommend())])
    return rows
