"""Print digests of the results of every policy in every problem of the papers' entries, in small.

If two versions of the code have the same output, their results are equal to the bit. A line has an
entry, a problem, a policy's label and the digest of all its values; a line with an entry alone has
the digest of those above it. Policies in no entry are simulated in a problem of their setting. Only
numbers are digested, so that renamings change nothing. Usage::

    python tools/result_digests.py [ENTRY ...] > after.txt && diff before.txt after.txt
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from keyhole import Curves
from keyhole.experiment import Spec, run, setting_registry
from keyhole.papers import Entry
from keyhole.papers.entry_files import ENTRY_FILES

ROUNDS: Final = 300
REPLICATIONS: Final = 2
CHECKPOINTS: Final = {"count": 30}
MOST_ARMS: Final = 200
"""Largest number of arms for which metrics of each arm are digested as well."""
PARAMETERS: Final = {"KnownVarianceUCB": {"variance": 0.2}}
"""Required parameters of policies that are in no entry."""


def digests(table: dict[str, Any], folder: Path) -> dict[str, str]:
    """Return a digest of each policy of a spec's table, by its label.

    A policy that refuses the small number of rounds is simulated once with all of them.
    """
    few = {"horizon": min(table["horizon"], ROUNDS), "replications": REPLICATIONS}
    found = {}
    for policy in table["policy"]:
        alone = table | {"policy": [policy], "checkpoints": CHECKPOINTS}
        try:
            curves = simulate_table(alone | few, folder)
        except ValueError:
            curves = simulate_table(alone | {"replications": 1}, folder)
        (label,) = curves.labels
        digest = hashlib.sha256()
        for metric in curves.metrics:
            digest.update(np.ascontiguousarray(curves.values(label, metric)).tobytes())
        found[label] = digest.hexdigest()[:16]
    return found


def simulate_table(table: dict[str, Any], folder: Path) -> Curves:
    """Return the results of a spec's table."""
    spec = Spec.from_table(table, folder=folder)
    details = spec.plan.problem.fact("arms") <= MOST_ARMS
    with tempfile.TemporaryDirectory() as out:
        spec = Spec.from_table(table | {"details": details}, folder=folder)
        return run(spec, Path(out) / "run", threads=1).curves


def specs(names: Sequence[str]) -> Iterator[tuple[str, str, Spec]]:
    """Yield entry, problem and spec of all problems of some entries."""
    for name in names:
        entry = Entry.load(name)
        for problem in entry.problems:
            yield name, problem, entry.spec(problem, "quick")


def others(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield setting, policy and digest of each policy that is in no entry.

    It is simulated in the first problem of its setting that accepts it.
    """
    used, problems = set[str](), dict[str, list[Spec]]()
    for *_, spec in specs(names):
        problems.setdefault(spec.problem["setting"], []).append(spec)
        used |= {type(policy).__name__ for policy in spec.plan.policies.values()}
    for setting, candidates in problems.items():
        for name in setting_registry.find_setting(setting).policies:
            if name not in used:
                policy = {"name": name, **PARAMETERS.get(name, {})}
                tables = ((one.table() | {"policy": [policy]}, one.folder) for one in candidates)
                yield setting, name, next(filter(None, map(digest_if_it_fits, tables)), "none")


def digest_if_it_fits(given: tuple[dict[str, Any], Path]) -> str | None:
    """Return the digest of a spec's only policy, or None if it does not fit its problem."""
    try:
        (digest,) = digests(*given).values()
    except ValueError:
        return None
    return digest


def say(*words: str) -> None:
    """Write a line."""
    sys.stdout.write(" | ".join(words) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    """Print the digests of some entries; of all, and of the other policies, if none is named."""
    together = dict[str, Any]()
    for name, problem, spec in specs(arguments or list(ENTRY_FILES)):
        for label, digest in digests(spec.table(), spec.folder).items():
            say(name, problem, label, digest)
            together.setdefault(name, hashlib.sha256()).update(digest.encode())
    for name, digest in together.items():
        say(name, digest.hexdigest()[:16])
    if not arguments:
        for setting, name, digest in others(list(ENTRY_FILES)):
            say(setting, name, digest)


if __name__ == "__main__":
    main(sys.argv[1:])
