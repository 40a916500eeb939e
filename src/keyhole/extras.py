"""Optional packages, each in an extra of its own: ``pip install 'keyhole[dask]'``."""

from importlib.util import find_spec
from typing import Final, NamedTuple


class Extra(NamedTuple):
    """The package of an extra: the module to import, and the package to install."""

    module: str
    package: str


EXTRAS: Final = {
    "dask": Extra("distributed", "distributed"),
    "files": Extra("pyarrow", "pyarrow"),
    "forests": Extra("sklearn", "scikit-learn"),
    "gymnasium": Extra("gymnasium", "gymnasium"),
    "pandas": Extra("pandas", "pandas"),
    "plots": Extra("matplotlib", "matplotlib"),
    "postgres": Extra("psycopg", "psycopg"),
    "ray": Extra("ray", "ray"),
    "scipy": Extra("scipy", "scipy"),
    "serve": Extra("starlette", "starlette"),
}


def has_extra(extra: str) -> bool:
    """Return whether the package of an extra is installed; import nothing."""
    return find_spec(EXTRAS[extra].module) is not None


def require_extra(extras: str, feature: str) -> None:
    """Refuse `feature` if a package that it needs is not installed; import nothing.

    Parameters
    ----------
    extras : str
        The extras that `feature` needs, separated by commas.
    feature : str
        The name of the feature; the error message begins with it.

    Raises
    ------
    ImportError
        With the command that installs the missing packages.
    """
    missing_extras = [extra for extra in extras.split(",") if not has_extra(extra)]
    if missing_extras:
        raise missing_extra_error(",".join(missing_extras), feature)


def missing_extra_error(extras: str, feature: str, reason: object = "") -> ImportError:
    """Return the error of missing extras: the command that installs them, and `reason` if given.

    Examples
    --------
    >>> missing_extra_error("pandas", "Curves.to_pandas()")
    ImportError("Curves.to_pandas() needs pandas: pip install 'keyhole[pandas]'")
    >>> missing_extra_error("files,plots", "keyhole report")
    ImportError("keyhole report needs pyarrow, matplotlib: pip install 'keyhole[files,plots]'")
    """
    reason_note = f" ({reason})" if reason else ""
    packages = ", ".join(EXTRAS[extra].package for extra in extras.split(","))
    return ImportError(f"{feature} needs {packages}: pip install 'keyhole[{extras}]'{reason_note}")
