"""Mutation testing: change the package in one place at a time, and check that a test fails.

The mutations are in ``mutations.toml``. Each is applied to a copy of a commit's files; then a few
tests run and, if these pass, all tests of its package. Results are appended to
``results-COMMIT.jsonl``, so that an interrupted run can be resumed, and reported in
``report-COMMIT.md``. In the end all tests that failed run without a mutation: those that fail then,
too, have caught nothing. Usage::

    python tools/mutate.py [--only TEXT ...] [--jobs N] [--against COMMIT] [--tests narrow|wide]
        [--interpreted]
"""

import argparse
import io
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final

from mutations import Mutation, apply, find_file, read_table

ROOT: Final = Path(__file__).parents[1]
# Packages whose sources are part of every key of the compile cache: a mutation there gets a cache
# of its own, since none of its entries could be reused.
_COMPILED: Final = ("kernels", "draws", "contract", "drivers")
_LIMITS: Final = {"narrow": 400.0, "wide": 1800.0}  # seconds
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_FORKS: Final = Path(__file__).with_name("forked_tests.py")
# Outcomes by exit codes of pytest; other codes are failures or errors, and the mutation is caught.
_OUTCOMES: Final = {None: "timed out", 0: "survived", 4: "not run", 5: "not run"}


class Worker:
    """Copy of a commit's files, with a fork server that runs tests in it."""

    def __init__(self, folder: Path, cache: Path, archive: bytes, interpreted: bool) -> None:
        self.tree, self._cache, self._output = folder / "tree", cache, folder / "output"
        self._interpreted = interpreted
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(self.tree, filter="data")
        self._process = subprocess.Popen(
            [sys.executable, str(_FORKS)],
            cwd=self.tree,
            env=os.environ | {"PYTHONPATH": str(self.tree / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """Terminate the fork server and the tests that it runs."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def run(
        self, tests: Iterable[str], limit: float, *options: str, cache: Path | None = None
    ) -> tuple[int | None, float, str]:
        """Run tests; return the exit code (None at the limit), the seconds, and the output."""
        words = {
            "arguments": ["-q", "-n0", "-p", "no:cacheprovider", *options, *tests],
            "environment": {
                "KEYHOLE_CACHE_DIR": str(cache or self._cache),
                "KEYHOLE_CACHE_MB": "4000",
                "KEYHOLE_INTERPRET": str(int(self._interpreted)),
            },
            "limit": limit,
            "output": str(self._output),
        }
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        print(json.dumps(words), file=asked, flush=True)
        if not (answer := answers.readline()):
            raise ChildProcessError("the process that runs the tests has ended")
        code, seconds = (json.loads(answer)[name] for name in ("code", "seconds"))
        return code, seconds, self._output.read_text(encoding="utf-8", errors="replace")

    def _has(self, test: str) -> bool:
        """Return whether a test exists: a folder, a file, or a function of a file."""
        path, _, name = test.partition("::")
        place = self.tree / path
        return place.exists() and (not name or f"def {name}(" in place.read_text(encoding="utf-8"))

    def judge(self, mutation: Mutation, kind: str) -> dict[str, Any]:
        """Run tests with a mutation; return the outcome, the test that failed, and the seconds."""
        found = {"outcome": "not applied", "test": "", "seconds": 0.0, "said": ""}
        file = find_file(mutation, self.tree)
        if not file:
            return found
        found["file"] = file
        options = ("-k", mutation.keyword) if kind == "narrow" and mutation.keyword else ()
        known = [one for one in mutation.selection(kind) if self._has(one)]
        if not known:
            return found | {"outcome": "not run", "said": "there are no such tests"}
        path = self.tree / file
        whole = path.read_text(encoding="utf-8")
        # Compiled code is cached by the source of its kernels, but not of the compiler itself.
        own = tempfile.mkdtemp(prefix="cache-") if mutation.package in _COMPILED else None
        try:
            _write(path, apply(mutation, whole))
            code, seconds, output = self.run(
                known, _LIMITS[kind], "-x", *options, cache=Path(own) if own else None
            )
        finally:
            _write(path, whole)
            if own:
                shutil.rmtree(own, ignore_errors=True)
        failed = list(dict.fromkeys(one[1] for one in _FAILED.finditer(output)))
        found |= {"outcome": _OUTCOMES.get(code, "caught"), "seconds": seconds}
        if found["outcome"] == "caught" and failed:
            found |= {"test": failed[0], "failed": failed}
        if found["outcome"] != "survived" and not failed:
            found["said"] = " ".join(output.split())[-300:]
        return found


def _write(path: Path, text: str) -> None:
    """Write a source file, and delete its bytecode: two versions may have the same timestamp."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


class Results:
    """Results in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._found = {self._key(one): one for one in map(json.loads, lines)}

    @staticmethod
    def _key(one: dict[str, Any]) -> tuple[str, str, str]:
        return one["name"], one["digest"], one["tests"]

    def get(self, mutation: Mutation, kind: str) -> dict[str, Any] | None:
        """Return the result of a mutation, if there is one."""
        return self._found.get((mutation.name, mutation.digest, kind))

    def unverified(self) -> list[dict[str, Any]]:
        """Return the caught mutations whose tests have not yet been run without a mutation."""
        return [
            one
            for one in self._found.values()
            if one["outcome"] == "caught" and one["test"] and not one.get("verified")
        ]

    def add(self, one: dict[str, Any]) -> None:
        """Append a result."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
            self._found[self._key(one)] = one


class Campaign:
    """Run of mutations against the tests of a commit, by several workers at a time."""

    def __init__(
        self, folder: Path, out: Path, commit: str, archive: bytes, *, interpreted: bool = False
    ) -> None:
        self._folder, self._out, self._commit, self._archive = folder, out, commit, archive
        self._interpreted = interpreted
        out.mkdir(parents=True, exist_ok=True)
        self.results = Results(out / f"results-{commit}.jsonl")
        self._stopped = threading.Event()

    def _worker(self, number: int) -> Worker:
        place, cache = self._folder / f"{number}", self._out / f"cache-{number}"
        return Worker(place, cache, self._archive, self._interpreted)

    def play(self, mutations: Iterable[Mutation], kinds: Sequence[str], jobs: int) -> None:
        """Run all mutations that have no result yet."""
        left: queue.SimpleQueue[Mutation] = queue.SimpleQueue()
        for mutation in mutations:
            left.put(mutation)
        workers = [self._worker(number) for number in range(jobs)]
        with ThreadPoolExecutor(jobs) as pool:
            try:
                for future in [pool.submit(self._work, one, left, kinds) for one in workers]:
                    future.result()
            finally:
                self._stopped.set()
                for worker in workers:
                    worker.close()
        self._verify()

    def _work(
        self, worker: Worker, left: "queue.SimpleQueue[Mutation]", kinds: Sequence[str]
    ) -> None:
        with suppress(queue.Empty):
            while not self._stopped.is_set():
                self._judge(worker, left.get_nowait(), kinds)

    def _judge(self, worker: Worker, mutation: Mutation, kinds: Sequence[str]) -> None:
        """Run a mutation's selections of tests, up to the first that fails."""
        for kind in kinds:
            one = self.results.get(mutation, kind)
            if one is None:
                found = worker.judge(mutation, kind)
                if self._stopped.is_set():
                    return
                one = {"name": mutation.name, "digest": mutation.digest, "tests": kind, **found}
                self.results.add(one)
                words = (one["outcome"], kind, mutation.name, one["test"] or one["said"])
                sys.stdout.write(f"{time.strftime('%H:%M:%S')} {' '.join(filter(None, words))}\n")
                sys.stdout.flush()
            if one["outcome"] != "survived":
                return

    def _verify(self) -> None:
        """Run the failed tests without a mutation, and discard results of tests that fail then."""
        caught = self.results.unverified()
        if not caught:
            return
        worker = self._worker(0)
        try:
            _, _, output = worker.run({name for one in caught for name in one["failed"]}, 3600.0)
        finally:
            worker.close()
        failing = {found[1] for found in _FAILED.finditer(output)}
        for one in caught:
            good = [name for name in one["failed"] if name not in failing]
            if not good:
                one |= {"outcome": "not run", "said": f"{one['test']} fails without a break"}
            self.results.add(one | {"test": good[0] if good else "", "verified": True})

    def report(self, mutations: Sequence[Mutation]) -> str:
        """Return the results in Markdown."""
        rows, counts = [], dict[str, dict[str, int]]()
        for mutation in mutations:
            found = [self.results.get(mutation, kind) for kind in _LIMITS]
            known = [one for one in found if one is not None]
            last = known[-1] if known else {"outcome": "open", "tests": "", "test": "", "said": ""}
            word = f"{last['outcome']} {last['tests']}".strip()
            count = counts.setdefault(mutation.package, {})
            count[word] = count.get(word, 0) + 1
            rows.append(f"| {mutation.name} | {mutation.package} | {word} | {last['test']} |")
        words = sorted({word for count in counts.values() for word in count})
        lines = [f"# Mutations against {self._commit}", "", f"| package | {' | '.join(words)} |"]
        lines.append(f"|---|{'---:|' * len(words)}")
        for package, count in sorted(counts.items()):
            lines.append(f"| {package} | {' | '.join(str(count.get(w, 0)) for w in words)} |")
        total = [str(sum(count.get(word, 0) for count in counts.values())) for word in words]
        lines += [f"| all {len(rows)} | {' | '.join(total)} |", ""]
        lines += ["| break | package | outcome | test |", "|---|---|---|---|"]
        return "\n".join([*lines, *rows])


def read_commit(name: str, root: Path = ROOT) -> tuple[str, bytes]:
    """Return the short name of a commit, and its files as an archive."""
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short=12", f"{name}^{{commit}}"], cwd=root, text=True
    ).strip()
    return commit, subprocess.check_output(["git", "archive", commit], cwd=root)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the mutations, and write a report.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # shells ignore SIGINT in background jobs
        signal.signal(number, signal.default_int_handler)
    parser = argparse.ArgumentParser(description="Mutate the package, and see which tests fail.")
    parser.add_argument(
        "--only", nargs="*", default=[""], help="texts in a mutation's name or file"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of workers")
    parser.add_argument("--against", default="HEAD", help="the commit whose files are mutated")
    parser.add_argument("--tests", choices=tuple(_LIMITS), help="by default narrow, then wide")
    parser.add_argument("--interpreted", action="store_true", help="do not compile kernels: faster")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutations")
    given = parser.parse_args(arguments)
    mutations = [
        one for one in read_table() if any(text in f"{one.name} {one.file}" for text in given.only)
    ]
    commit, archive = read_commit(given.against)
    kinds = tuple(_LIMITS) if given.tests is None else (given.tests,)
    with tempfile.TemporaryDirectory(prefix="keyhole-mutations-") as folder:
        out = given.out.absolute()
        campaign = Campaign(Path(folder), out, commit, archive, interpreted=given.interpreted)
        try:
            campaign.play(mutations, kinds, given.jobs)
        finally:
            (given.out / f"report-{commit}.md").write_text(campaign.report(mutations) + "\n")


if __name__ == "__main__":
    main()
