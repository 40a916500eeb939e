"""Fork server for tests: runs pytest in forks of a process that has imported the large packages.

It is a child of ``mutate.py``, and saves importing NumPy and the like, which takes longer than most
tests. It reads one line of JSON per run from its standard input, and writes one.
"""

import importlib
import io
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = (
    "numba", "numpy", "scipy.optimize", "scipy.special", "scipy.stats", "pyarrow.parquet",
    "pydantic", "matplotlib.pyplot", "typer", "rich.progress", "jinja2", "tomli_w", "pytest",
)  # fmt: skip
_PAUSE: Final = 0.05  # polling interval in seconds


def main() -> None:
    """Serve requests until the standard input is closed."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "src" / "keyhole" / "runner"))
    tree = importlib.import_module("helper.process_tree")
    if sys.platform == "linux":
        importlib.import_module("helper.linux_syscalls").set_subreaper()
    del sys.path[0]
    for name in PACKAGES:
        importlib.import_module(name)

    def end(*_: object) -> None:
        if sys.platform == "linux":
            tree.kill_descendants()
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    asked, answers = os.dup(0), os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    for text in os.fdopen(asked):
        words = json.loads(text)
        began = time.monotonic()
        code = _run(words)
        if sys.platform == "linux":
            tree.kill_descendants()
        answer = {"code": code, "seconds": round(time.monotonic() - began, 1)}
        answers.write(f"{json.dumps(answer)}\n")


def _run(words: dict[str, Any]) -> int | None:
    """Return the exit code of pytest, or None if it was killed at its limit."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = _test(words)
        finally:
            sys.stdout.flush()
            os._exit(code)
    end = time.monotonic() + words["limit"]
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_PAUSE)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _test(words: dict[str, Any]) -> int:
    """Run pytest in this forked process, with its output redirected to a file."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    out = os.open(words["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(os.fdopen(1, "wb", 0), write_through=True)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(os.fdopen(2, "wb", 0), write_through=True)
    os.environ |= words["environment"]
    sys.argv = ["pytest", *words["arguments"]]
    return int(sys.modules["pytest"].main(words["arguments"], plugins=[_Unshrunk()]))


class _Unshrunk:
    """Plugin that disables shrinking in Hypothesis, which may take minutes."""

    def pytest_sessionstart(self) -> None:
        if "hypothesis" in sys.modules:
            settings = sys.modules["hypothesis"].settings
            phases = [one for one in settings().phases if one.name not in ("shrink", "explain")]
            settings.register_profile("unshrunk", settings(), phases=phases)
            settings.load_profile("unshrunk")


if __name__ == "__main__":
    main()
