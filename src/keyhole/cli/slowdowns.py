"""What makes Keyhole slow on this machine, and what helps: settings, cache, processors."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from keyhole.kernels.cache_files import cache_folder, cache_limit, cached_files, is_usable
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.kernels.kernel_declaration import changed_settings
from keyhole.text_formatting import count_text

_ALMOST: Final = 0.9  # of the cache's limit: the next pieces remove others
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")


def find_slowdowns() -> list[str]:
    """Return a sentence for each thing that is slow here, with its reason and what helps."""
    return [*_compilation(), *_processors()]


def _compilation() -> Iterator[str]:
    if is_interpreted():
        yield (
            "KEYHOLE_INTERPRET is set: policies run in Python, which takes some 100 times as long; "
            "unset it"
        )
    if changed := changed_settings():
        names = ", ".join(f"NUMBA_{name}" for name in changed)
        yield f"Numba's settings are changed, which may make kernels slower: {names}; unset them"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sentence below says the same
        is_kept = _is_kept()
    if not is_kept:
        yield (
            f"compiled code is not kept: every process compiles anew, for seconds a policy, since "
            f"{cache_folder()} cannot be used; let KEYHOLE_CACHE_DIR name a folder of your own"
        )
    else:
        yield from _cached_code()


def _is_kept() -> bool:
    return is_usable(cache_folder()) and os.access(cache_folder(), os.W_OK)


def _cached_code() -> Iterator[str]:
    files = cached_files()
    if not files:
        yield (
            "nothing is compiled yet: the first run of a policy on a kind of problem takes seconds "
            "longer; `keyhole compile` compiles ahead"
        )
    if sum(found.st_size for _, found in files) > _ALMOST * cache_limit():
        yield (
            f"the cache of compiled code is full ({cache_limit() // 10**6} MB): what is removed "
            "must be compiled again; set KEYHOLE_CACHE_MB to more"
        )


def _processors() -> Iterator[str]:
    there = os.cpu_count() or 1
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    if mine < there:
        yield f"this process may use {mine} of {count_text(there, 'processor')} (its affinity)"
    quota = _quota()
    if quota is not None and quota < mine:
        yield (
            f"a quota allows {quota:.3g} of {count_text(mine, 'processor')}: more threads wait for "
            f"each other; --threads {max(1, int(quota))}"
        )
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5 * mine:
        yield (
            f"other programs are at work: on average {load:.1f} of {count_text(mine, 'processor')} "
            "were busy in the last minute"
        )


def _quota() -> float | None:
    """Return how many processors the control group of this container may use, if it is bounded."""
    try:
        share, period = _QUOTA.read_text().split()
        return None if share == "max" else int(share) / int(period)
    except (OSError, ValueError):
        return None
