"""The choice of the database for an address: a file of SQLite, or a PostgreSQL server."""

import os
import re
from pathlib import Path
from typing import Final

from keyhole.study.storage.postgres import Postgres
from keyhole.study.storage.sqlite import Sqlite
from keyhole.study.storage.store import Store
from keyhole.validate import check_choice, short_repr

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_POSTGRES: Final = ("postgresql", "postgres")


def open_store(
    address: str | os.PathLike[str], *, durability: str = "power_loss", make: bool = True
) -> Store:
    """Open the store at an address.

    Parameters
    ----------
    address
        A path (SQLite), or `postgresql://user@host/database`, for which the extra `postgres` of
        this package must be installed.
    durability
        What committed rows survive: `"power_loss"`, or only `"process_crash"`, which is faster in
        SQLite.
    make
        Whether to create a file that is not there.

    Examples
    --------
    >>> open_store("mysql://localhost/studies")
    Traceback (most recent call last):
    ValueError: storage must be a path or begin with postgresql://, got 'mysql://localhost/studies'
    """
    check_choice("durability", durability, ("power_loss", "process_crash"))
    if not isinstance(address, str | os.PathLike):
        raise TypeError(f"storage must be a path or an address, got {short_repr(address)}")
    scheme = _SCHEME.match(address) if isinstance(address, str) else None
    if scheme is None:
        if str(address) in ("", ".", ":memory:") or str(address).startswith("file:"):
            raise ValueError(f"storage must be the path of a file, got {short_repr(str(address))}")
        if not make and not Path(address).exists():
            raise ValueError(
                f"storage must be an existing file, got {short_repr(str(address))}; to create a "
                "study (Study.create, keyhole study create) makes one"
            )
        return Sqlite(Path(address), flush=durability == "power_loss")
    if scheme[1].lower() not in _POSTGRES:
        raise ValueError(
            f"storage must be a path or begin with postgresql://, got {short_repr(address)}"
        )
    if durability != "power_loss":
        raise ValueError(
            f"durability must be 'power_loss' on a server, got {short_repr(durability)}"
        )
    return Postgres(str(address))


def normalize_address(address: str | os.PathLike[str]) -> str:
    """Return an address that stays valid if the working directory changes."""
    is_path = not isinstance(address, str) or _SCHEME.match(address) is None
    return os.path.abspath(address) if is_path else str(address)
