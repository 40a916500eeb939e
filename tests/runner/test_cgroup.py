import os
import signal

import pytest

from keyhole.runner import CommandRunner


@pytest.fixture
def runner():
    try:
        from keyhole.runner.helper import cgroup_accounting
    except ImportError:
        pytest.skip("needs POSIX")
    with CommandRunner() as one:
        if not one._helper.has_exact_cpu:
            pytest.skip("no control group may be made here")
        yield one, cgroup_accounting.find_own_cgroup()


def groups(above):
    return {name for name in os.listdir(above) if name.startswith("keyhole-runner-")}


def test_a_helper_removes_its_group(runner):
    one, above = runner
    name = f"keyhole-runner-{one._helper._process.pid}"
    assert name in groups(above)
    one.close()
    assert name not in groups(above)


def test_the_group_of_a_helper_that_was_killed_is_removed_by_the_next(runner):
    one, above = runner
    name = f"keyhole-runner-{one._helper._process.pid}"
    os.kill(one._helper._process.pid, signal.SIGKILL)
    assert one.run(["true"], limit=60).outcome == "lost"
    assert one.run(["true"], limit=60).outcome == "ok"
    assert name not in groups(above)
