"""Call a function of Python in a process of its own; nothing but the standard library is needed."""

import importlib
import importlib.util
import inspect
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

MARK: Final = "keyhole.tune.call: "


def find(target: str) -> Callable[..., Any]:
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


def main(said: str) -> None:
    """Call a function, and print on the last line how long it took and what it returned.

    The clock begins when the function does: to load it costs nothing, and its limit is a signal
    that ends the process whatever it is doing.
    """
    request = json.loads(said)
    sys.path[:] = request["path"]
    function, fields = find(request["target"]), request["fields"]
    wanted = inspect.signature(function).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
    given = {name: value for name, value in fields.items() if takes_all or name in wanted}
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, fields["limit"])
    start = time.monotonic()
    returned = function(**given)
    seconds = time.monotonic() - start
    if timed:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    reward = True if returned is None else returned
    reward = reward if isinstance(reward, bool) else float(reward)
    sys.stdout.flush()
    sys.stdout.write(f"\n{MARK}{json.dumps({'seconds': seconds, 'reward': reward})}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
