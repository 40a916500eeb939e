"""The studies that a database holds, and what there is to say of one."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyhole.study.study import Study

from keyhole.study.storage import open_store
from keyhole.validate import shown


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


def summary_rows(study: "Study") -> list[list[str]]:
    """Return the rows of a small table: who decides, arms, what is open, what is recommended."""
    policy, arms = study.policy, study.arms
    rows = [
        ["policy", repr(policy)],
        ["arms", f"{len(arms):,}"],
        ["open decisions", f"{len(study.open_decisions):,}"],
    ]
    if policy.vocabulary_class is not None and policy.vocabulary_class.has_recommendation():
        rows.append(["recommended", shown(study.recommend())])
    return rows
