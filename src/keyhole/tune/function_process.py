"""Call a function of Python in a process of its own; nothing but the standard library is needed."""

import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

MARK: Final = "keyhole.tune.function_process: "
_SHOWN: Final = 500  # characters of an error


def import_function(target: str) -> Callable[..., Any]:
    """Return the function at ``module:name`` or ``file.py:name``."""
    where, _, name = target.rpartition(":")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    found: Callable[..., Any] = getattr(module, name)
    return found


@contextmanager
def _timed(limit: float, answer: dict[str, Any]) -> Iterator[None]:
    """Write down how long it takes, and end the process after the limit."""
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.monotonic()
    try:
        yield
    finally:
        answer["seconds"] = time.monotonic() - start
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _reward(returned: Any) -> float | bool:
    """Return what a function returned as a number, or as True or False; NumPy's too."""
    if returned is None:
        return True
    if isinstance(returned, bool) or str(getattr(returned, "dtype", "")).endswith("bool"):
        return bool(returned)
    return float(returned)


def main(said: str) -> NoReturn:
    """Call a function, and print on the last line how long it took and what came of it.

    The clock begins when the function does: to load it costs nothing, and its limit is a signal
    that ends the process whatever it is doing. What the function does to `sys.stdout`, and what it
    leaves behind, threads and what is to be done at the end of Python, is not waited for.
    """
    output, request = os.dup(1), json.loads(said)
    sys.path[:] = request["path"]
    answer: dict[str, Any] = {"seconds": 0.0}
    try:
        function, fields = import_function(request["target"]), request["fields"]
        wanted = inspect.signature(function).parameters
        takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
        given = {name: value for name, value in fields.items() if takes_all or name in wanted}
        with _timed(fields["limit"], answer):
            returned = function(**given)
        answer["reward"] = _reward(returned)
    except BaseException as error:
        traceback.print_exc()
        answer["raised"] = f"{type(error).__name__}: {error}"[:_SHOWN]
    for stream in filter(None, (sys.stdout, sys.__stdout__, sys.stderr)):
        with suppress(Exception):
            stream.flush()
    os.write(output, f"\n{MARK}{json.dumps(answer)}\n".encode())
    os._exit("raised" in answer)


if __name__ == "__main__":
    main(sys.argv[1])
