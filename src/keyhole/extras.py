"""Optional packages, each in an extra of its own: ``pip install 'keyhole[dask]'``."""

from importlib.util import find_spec
from typing import Final, NamedTuple


class Extra(NamedTuple):
    """The package of an extra: the module to import, and the package to install."""

    module: str
    package: str


EXTRAS: Final = {
    "dask": Extra("distributed", "distributed"),
    "forests": Extra("sklearn", "scikit-learn"),
    "gymnasium": Extra("gymnasium", "gymnasium"),
    "pandas": Extra("pandas", "pandas"),
    "postgres": Extra("psycopg", "psycopg"),
    "ray": Extra("ray", "ray"),
}


def require_extra(extra: str, what: str) -> None:
    """Refuse `what` if the package that it needs is not installed; import nothing.

    Raises
    ------
    ImportError
        With the command that installs it.
    """
    if find_spec(EXTRAS[extra].module) is None:
        raise missing_extra(extra, what)


def missing_extra(extra: str, what: str, reason: object = "") -> ImportError:
    """Return the error of a missing extra, with the command that installs it.

    Examples
    --------
    >>> missing_extra("pandas", "Curves.to_pandas()")
    ImportError("Curves.to_pandas() needs pandas: pip install 'keyhole[pandas]'")
    """
    told = f" ({reason})" if reason else ""
    package = EXTRAS[extra].package
    return ImportError(f"{what} needs {package}: pip install 'keyhole[{extra}]'{told}")
