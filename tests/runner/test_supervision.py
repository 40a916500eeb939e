import sys
import time
from types import SimpleNamespace

import pytest

if sys.platform == "win32":
    pytest.skip("needs POSIX", allow_module_level=True)

from keyhole.runner.helper import supervision


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="needs a clock that never stops")
def test_suspension_is_distinguished_from_preemption(monkeypatch):
    """The machine slept seven seconds; this process is preempted for five between two clocks."""
    readings = iter([10.0, 22.0, 15.0, 16.0, 23.0, 16.0])
    monkeypatch.setattr(supervision.time, "clock_gettime", lambda _: next(readings))
    assert supervision._seconds_asleep() == 7.0


@pytest.mark.parametrize(
    ("seconds", "cpu", "memory", "code", "outcome"),
    [
        (1.0, 1.0, 100, 0, "ok"),
        (1.0, 1.0, 100, 3, "failed"),
        (1.1, 1.0, 100, 0, "out of time"),
        (1.0, 1.1, 100, 0, "out of time"),
        (1.0, 1.0, 101, 0, "out of memory"),
        (0.5, 0.5, 50, None, "out of time"),
    ],
)
def test_ok_and_failed_imply_that_limits_were_kept(seconds, cpu, memory, code, outcome):
    """A run may exit between the moment at which a limit is exceeded and the next sample."""
    meter = supervision.UsageMeter(1.0, 100, supervision.read_reaped_cpu)
    meter.cpu, meter.memory = cpu, memory
    main, request = SimpleNamespace(problem=""), {"limit": 1.0, "memory": 100}
    assert supervision._judge_outcome(request, main, code, seconds, meter) == outcome


def test_system_time_is_counted(monkeypatch):
    used = SimpleNamespace(ru_utime=1.0, ru_stime=0.5)
    monkeypatch.setattr(supervision.resource, "getrusage", lambda who: used)
    assert supervision.read_reaped_cpu() == 1.5
