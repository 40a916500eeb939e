import os
import sys
import warnings

import pytest

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

from keyhole.runner.helper import command_process


def test_any_error_before_exec_is_reported(monkeypatch):
    """An exit code would be taken for that of the command."""

    def refuse(_):
        raise OverflowError("too large")

    monkeypatch.setattr(command_process, "_set_limits", refuse)
    request = {"command": ["true"], "folder": None, "cores": None, "cpu": 1, "passed": []}
    with warnings.catch_warnings(action="ignore"):  # of threads, which this child leaves alone
        main = command_process.start_command(request, 2)
    os.waitpid(main.pid, 0)
    assert main.problem == "too large: true"
