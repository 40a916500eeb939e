"""Child process that calls Python functions: a script that imports only the standard library.

With an argument, a request as JSON, it calls one function (an arm of a tune) and prints the answer.
Without an argument, it serves a `keyhole.runner.FunctionProcess`, which sends frames (length and
pickle) through a socket. An answer is one line of JSON.
"""

import importlib
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final, NamedTuple, NoReturn, cast

MARK: Final = "keyhole.runner.function_process_child: "
"""The beginning of the output line that has the answer of a single call."""
LENGTH_BYTES: Final = 8
"""The size, in bytes, of the number that precedes a frame and says how long the frame is."""
is_single_call = False
"""Whether this process runs this file as a script that makes a single call."""
# Descriptors that the parent passes.
_CHANNEL: Final = 3
_PARENT_STDERR: Final = 4
_ERROR_LENGTH: Final = 500  # characters of an error that an answer keeps


class Answer(NamedTuple):
    """Answer to a call: its seconds, its result, its error or "", and whether processes are left.

    Processes are left if the call has started some that still run.
    """

    seconds: float
    result: Any
    failure: str = ""
    has_processes_left: bool = False


def parse_answer(line: bytes | bytearray) -> Answer | None:
    """Return the answer on a line; None if the line, which any code may have written, has none."""
    try:
        fields = json.loads(line)
        failure = str(fields.get("failure", ""))
        has_processes_left = bool(fields.get("left"))
        return Answer(float(fields["seconds"]), fields["result"], failure, has_processes_left)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def evaluate(
    function: Callable[[], object], convert: Callable[[object], object], limit: float = 0.0
) -> tuple[str, BaseException | None]:
    """Call a function; return the answer as a line of JSON, and the exception if it raised one.

    `convert` makes the function's result a value of JSON. If `limit`, in seconds, is not 0, SIGALRM
    kills this process when the function exceeds it.
    """
    result_json = "null"
    failure = ""
    exception: BaseException | None = None
    processes_before = _find_living_children()
    start = time.perf_counter()
    seconds = 0.0
    try:
        if limit:
            _set_alarm(limit)
        try:
            result = function()
        finally:
            seconds = time.perf_counter() - start
            if limit:
                _set_alarm(0.0)
        result_json = json.dumps(convert(result))
    except BaseException as error:  # SystemExit and KeyboardInterrupt are answers, too
        exception = error
        failure = traceback.format_exception_only(error)[-1].strip()
    if len(failure) > _ERROR_LENGTH:
        failure = f"{failure[:_ERROR_LENGTH]}... ({len(failure):,} characters in all)"
    has_processes_left = bool(_find_living_children() - processes_before)
    fields = json.dumps({"seconds": seconds, "failure": failure, "left": has_processes_left})
    return f'{{"result": {result_json}, {fields[1:]}', exception


def _set_alarm(seconds: float) -> None:
    # The default action of SIGALRM kills the process even in a loop of C code, where a handler in
    # Python would never run.
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def call_once(request: dict[str, Any]) -> NoReturn:
    """Call one function with the fields that its parameters name; print the answer, and exit."""
    output = os.dup(1)  # the function may replace or close sys.stdout
    sys.path[:] = request["path"]
    loaded_functions: list[Callable[[], object]] = []  # the function, unless `load` fails

    def load() -> None:
        function = import_function(request["target"], request.get("cells", ()))
        loaded_functions.append(_bind_fields(function, request["fields"]))

    # Neither the limit nor the seconds include the import of the function.
    line, error = evaluate(load, to_json_types)
    if loaded_functions:
        line, error = evaluate(loaded_functions[0], _convert_reward, request["fields"]["limit"])
    else:
        line = json.dumps(json.loads(line) | {"seconds": 0.0})
    if error is not None:
        traceback.print_exception(error)
    for stream in filter(None, (sys.stdout, sys.__stdout__, sys.stderr)):
        with suppress(Exception):
            stream.flush()
    os.write(output, f"\n{MARK}{line}\n".encode())
    # Threads and exit handlers of the function could keep the process alive beyond the limit.
    os._exit(error is not None)


def import_function(target: str, cells: Sequence[str] = ()) -> Callable[..., object]:
    """Import the function at ``module:name`` or ``file.py:name``.

    `cells` is the source code of a function from a notebook, which tunes of version 0.2.0 kept.
    """
    module_path, _, name = target.rpartition(":")
    if cells:
        module = sys.modules["typed"] = ModuleType("typed")
        for cell in cells:
            exec(compile(cell, "<typed>", "exec", dont_inherit=True), vars(module))
    elif module_path.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(module_path).stem, module_path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_path)
    return cast(Callable[..., object], getattr(module, name))


def _bind_fields(
    function: Callable[..., object], fields: dict[str, object]
) -> Callable[[], object]:
    """Return the function with its arguments, which are the fields that its signature names."""
    import inspect

    parameters = inspect.signature(function).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments = {name: value for name, value in fields.items() if takes_all or name in parameters}
    return partial(function, **arguments)


def _convert_reward(result: Any) -> float | bool:
    """Convert a result, which may be of NumPy, to a bool or a float; None means True."""
    if result is None:
        return True
    if isinstance(result, bool) or str(getattr(result, "dtype", "")).endswith("bool"):
        return bool(result)
    return float(result)


def serve() -> None:
    """Load the function from the first frames, then answer calls until the channel ends."""
    import pickle
    import socket

    channel = socket.socket(fileno=_CHANNEL)
    channel.set_inheritable(False)
    # Output goes to the parent's standard error, whose descriptor the parent has passed.
    os.dup2(_PARENT_STDERR, 1)
    os.dup2(_PARENT_STDERR, 2)
    os.close(_PARENT_STDERR)
    requests = channel.makefile("rb")
    loaded_functions: list[Callable[[object], object]] = []  # the function, once it is loaded

    def prepare() -> None:
        sys.path[:] = pickle.loads(_read_frame(requests))
        function, preparation = pickle.loads(_read_frame(requests))
        loaded_functions.append(function)
        if preparation is not None:
            preparation()

    with requests, channel.makefile("w") as answers:
        line, _ = evaluate(prepare, to_json_types)
        while True:
            answers.write(f"{line}\n")
            answers.flush()
            if not (frame := _read_frame(requests)):
                return
            line, _ = evaluate(lambda: loaded_functions[0](pickle.loads(frame)), to_json_types)


def _read_frame(requests: IO[bytes]) -> bytes:
    """Return the next frame, empty at the end of the stream."""
    return requests.read(int.from_bytes(requests.read(LENGTH_BYTES), "big"))


def to_json_types(value: object) -> object:
    """Return a result as JSON types, tuples as lists; refuse all other types."""
    if value is None or isinstance(value, bool):
        return value
    for json_type in (int, float, str):
        if isinstance(value, json_type):
            return json_type(value)
    if isinstance(value, list | tuple):
        return [to_json_types(entry) for entry in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {str(name): to_json_types(entry) for name, entry in value.items()}
    type_name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    raise TypeError(
        "the result must be made of None, bool, int, float, str, list, tuple, and dict with str "
        f"keys, got a {type_name}"
    )


def _find_living_children() -> set[str]:
    """Return the PIDs of living children and of the run's orphans; an empty set without /proc."""
    try:
        # This is the PID in this /proc; `os.getpid` may return the PID in another namespace.
        own_pid = os.readlink("/proc/self")
        parent_pid = _read_stat(own_pid)[1].decode()
    except (OSError, IndexError):
        return set()
    # The parent is the run's init (`keyhole.runner.helper`), whose other children are all orphans
    # that it has adopted.
    children = {*_read_children(parent_pid), *_read_children(own_pid)} - {own_pid}
    return {pid for pid in children if _read_stat(pid)[:1] not in ([], [b"Z"], [b"X"])}


def _read_children(pid: str) -> list[str]:
    children: list[str] = []
    with suppress(OSError):  # the process has just ended, or the kernel has no such files
        for thread in os.listdir(f"/proc/{pid}/task"):
            children += Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    return children


def _read_stat(pid: str) -> list[bytes]:
    """Return the state, the parent's PID and further fields of a process; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    if is_single_call := len(sys.argv) > 1:
        call_once(json.loads(sys.argv[1]))
    with suppress(ConnectionError):  # the parent was killed
        serve()
