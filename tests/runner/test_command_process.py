import os
import sys
import warnings

import pytest

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

from keyhole.runner.helper import supervision


def test_any_error_before_exec_is_reported(monkeypatch):
    """An exit code would be taken for that of the command."""

    def refuse(_):
        raise OverflowError("too large")

    monkeypatch.setattr(supervision, "_set_limits", refuse)
    request = {"command": ["true"], "folder": ".", "cores": None, "cpu": 1, "passed": []}
    with warnings.catch_warnings(action="ignore"):  # of threads, which this child leaves alone
        main = supervision.start_command(request, 2)
    os.waitpid(main.pid, 0)
    assert main.problem == "too large: true"


def open_links(pid):
    found = set()
    for file in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add((file, os.readlink(f"/proc/{pid}/fd/{file}")))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_a_command_cannot_write_into_the_report_of_its_start(monkeypatch):
    before = open_links(os.getpid())

    def execute(request, output, write_end):
        """Write into all that the parent has opened since, as a command of root could."""
        for file, _ in open_links(os.getppid()) - before:
            try:
                target = os.open(f"/proc/{os.getppid()}/fd/{file}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(target, b"another time")
            except OSError:
                continue
        os.write(write_end, b"1.5")
        os._exit(0)

    monkeypatch.setattr(supervision, "_exec_command", execute)
    found = supervision.start_command({}, 0)
    os.waitpid(found.pid, 0)
    assert (found.start, found.problem) == (1.5, "")
