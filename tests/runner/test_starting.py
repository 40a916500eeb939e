import os
import sys
import warnings

import pytest

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

from keyhole.runner.helper import main_process


def test_whatever_keeps_a_command_from_its_start_is_told(monkeypatch):
    """(An exit code would be taken for the command's own.)"""

    def refuse(_):
        raise OverflowError("too large")

    monkeypatch.setattr(main_process, "_limit", refuse)
    ask = {"command": ["true"], "folder": None, "cores": None, "cpu": 1, "passed": []}
    with warnings.catch_warnings(action="ignore"):  # of threads, which this child leaves alone
        main = main_process.start(ask, 2)
    os.waitpid(main.pid, 0)
    assert main.problem == "too large: true"
