"""Command `doctor`: print versions, folders and optional programs, and what is slow and why."""

import os
import platform
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from keyhole.cli.output import one_line_text, print_result
from keyhole.extras import EXTRAS
from keyhole.kernels.cache_files import cache_folder, cache_limit, cached_files, prepare_folder
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.kernels.kernel_decorators import changed_compiler_settings
from keyhole.runner import CommandRunner
from keyhole.text_formatting import count_text

_NEARLY_FULL_SHARE: Final = 0.9  # above this share of its limit, the cache soon removes pieces
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")


def show_doctor(*, as_json: bool = False) -> None:
    """Print versions, folders, optional packages and programs, and what is slow and why."""
    usable, total = _count_processors()
    rows = {
        "keyhole": version("keyhole"),
        "python": f"{platform.python_version()}, {sys.executable}",
        "packages": ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy")),
        "machine": f"{platform.platform()}, {platform.machine()}",
        "cores": f"{usable} of {total}",
        "compiled code": _describe_cache(),
        "runs": _describe_runner(),
        "C++ compiler": next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), "none"),
    } | {f"keyhole[{name}]": _describe_package(extra.package) for name, extra in EXTRAS.items()}
    slow_texts = [*_explain_slow_compilation(), *_explain_slow_processors()]
    width = max(map(len, rows))
    lines = [*rows.items(), *(("slow", text) for text in slow_texts or ["nothing found"])]
    texts = (f"{name:{width}}  {one_line_text(value)}" for name, value in lines)
    print_result(rows | {"slow": slow_texts}, *texts, as_json=as_json)


def _count_processors() -> tuple[int, int]:
    """Return how many processors this process may use, and how many there are."""
    total = os.cpu_count() or 1
    if not hasattr(os, "sched_getaffinity"):
        return total, total
    return len(os.sched_getaffinity(0)), total


def _describe_cache() -> str:
    folder = cache_folder()
    # If the cache does not exist yet, the nearest folder above decides whether it can be made.
    parent = next(path for path in (folder, *folder.parents) if path.exists())
    remark = "" if os.access(parent, os.W_OK) else ", which cannot be written to"
    return f"{folder}{remark}, at most {cache_limit() // 10**6} MB"


def _describe_runner() -> str:
    """Return how processes of runs are killed on this system."""
    try:
        # A runner tests at its start what the system allows.
        with CommandRunner() as runner:
            return runner.description
    except OSError as error:
        return f"none: {error}"


def _describe_package(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"not installed: {package}"


def _explain_slow_compilation() -> Iterator[str]:
    """Yield a sentence for each reason why code is slow, or why it must be compiled again."""
    if is_interpreted():
        yield (
            "KEYHOLE_INTERPRET is set: policies run in Python, which takes some 100 times as long; "
            "unset it"
        )
    if changed_names := changed_compiler_settings():
        names = ", ".join(f"NUMBA_{name}" for name in changed_names)
        yield f"Numba's settings are changed, which may make kernels slower: {names}; unset them"
    folder, files = cache_folder(), cached_files()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sentence below takes the place of the warning
        is_kept = prepare_folder(folder) and os.access(folder, os.W_OK)
    if not is_kept:
        yield (
            f"compiled code is not kept: every process compiles anew, for seconds a policy, since "
            f"{folder} cannot be used; let KEYHOLE_CACHE_DIR name a folder of your own"
        )
    elif not files:
        yield (
            "nothing is compiled yet: the first run of a policy on a kind of problem takes seconds "
            "longer; `keyhole compile` compiles ahead"
        )
    elif sum(file.st_size for _, file in files) > _NEARLY_FULL_SHARE * cache_limit():
        yield (
            f"the cache of compiled code is nearly full ({cache_limit() // 10**6} MB): code that "
            "is removed must be compiled again; set KEYHOLE_CACHE_MB to more"
        )


def _explain_slow_processors() -> Iterator[str]:
    """Yield a sentence for each reason why this process cannot use all processors fully."""
    usable, total = _count_processors()
    usable_text = count_text(usable, "processor")
    if usable < total:
        yield f"this process may use {usable} of {count_text(total, 'processor')} (its affinity)"
    if (quota := _read_cpu_quota()) < usable:
        yield (
            f"a quota allows {quota:.3g} of {usable_text}: more threads wait for each other; give "
            f"--threads {max(1, int(quota))}"
        )
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > 0.5 * usable:
        yield (
            f"other programs are at work: on average {load:.1f} of {usable_text} were busy in the "
            "last minute"
        )


def _read_cpu_quota() -> float:
    """Return how many processors this container's control group may use; infinity if any number."""
    with suppress(OSError, ValueError):  # there is no group, or its quota is "max"
        share, period = _QUOTA.read_text().split()
        return int(share) / int(period)
    return float("inf")
