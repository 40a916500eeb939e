import sys
import time

import pytest

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

from keyhole.runner.helper import supervision


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="needs a clock that never stops")
def test_sleep_is_told_from_being_kept_waiting(monkeypatch):
    """Seven seconds asleep so far; this process is kept waiting for five between two clocks."""
    readings = iter([10.0, 22.0, 15.0, 16.0, 23.0, 16.0])
    monkeypatch.setattr(supervision.time, "clock_gettime", lambda _: next(readings))
    assert supervision._slept() == 7.0
