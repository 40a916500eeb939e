"""`doctor`: a table of versions, folders and optional programs on this machine."""

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.slowdowns import find_slowdowns
from keyhole.cli.terminal_output import one_line_text
from keyhole.extras import EXTRAS
from keyhole.kernels.cache_files import cache_folder, cache_limit
from keyhole.runner import Runner

_PACKAGES: Final = ("numba", "numpy")
_COMPILERS: Final = ("c++", "g++", "clang++")


def show_doctor(*, as_json: bool = False) -> None:
    """Print versions, folders, what is there of what need not be, and what is slow."""
    rows = {
        "keyhole": version("keyhole"),
        "python": f"{platform.python_version()}, {sys.executable}",
        "packages": ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        "machine": f"{platform.platform()}, {platform.machine()}",
        "cores": _cores(),
        "compiled code": _cache(),
        "runs": _runs(),
        "C++ compiler": next(filter(None, map(shutil.which, _COMPILERS)), "none"),
    } | {f"keyhole[{extra}]": _extra(there.package) for extra, there in EXTRAS.items()}
    slow = find_slowdowns()
    if as_json:
        print_json(rows | {"slow": slow})
        return
    width = max(map(len, rows))
    for name, value in rows.items():
        typer.echo(f"{name:{width}}  {one_line_text(value)}")
    for text in slow or ["nothing found"]:
        typer.echo(f"{'slow':{width}}  {one_line_text(text)}")


def _cores() -> str:
    """Return how many processors this process may use, of how many."""
    there = os.cpu_count() or 1
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    return f"{mine} of {there}"


def _cache() -> str:
    folder = cache_folder()
    # The cache need not exist yet: whether it can be made is up to the nearest folder above.
    above = next(path for path in (folder, *folder.parents) if path.exists())
    writable = "" if os.access(above, os.W_OK) else ", which may not be written to"
    return f"{folder}{writable}, at most {cache_limit() // 10**6} MB"


def _runs() -> str:
    """Return how processes of runs are killed on this system."""
    try:
        # A runner tests at its start what the system allows.
        with Runner() as runner:
            return runner.description
    except OSError as error:
        return f"none: {error}"


def _extra(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"not there: {package}"
