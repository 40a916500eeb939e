import pytest

from keyhole.tune import machine_load
from keyhole.tune.warnings import workers_warning

STAT = """cpu  10 0 10 1000 0 0 0 0 0 0
cpu0 100 50 25 800 7 10 5 10 3 0
cpu1 300 0 0 900 0 0 0 0 0 0
intr 12345
"""


@pytest.fixture
def stat(tmp_path, monkeypatch):
    """Replace /proc/stat by a file, with a hundred ticks per second."""
    path = tmp_path / "stat"
    path.write_text(STAT)
    monkeypatch.setattr(machine_load, "_STAT", path)
    monkeypatch.setattr(machine_load.os, "sysconf", lambda name: 100)
    return path


def test_core_load_counts_all_ticks_but_idle_and_iowait(stat):
    assert machine_load.busy_core_seconds([0]) == 2.0
    assert machine_load.busy_core_seconds([0, 1]) == 5.0


@pytest.mark.parametrize("asked", [None, [], [7]])
def test_the_load_of_unlisted_cores_is_unknown(stat, asked):
    assert machine_load.busy_core_seconds(asked) is None
    assert machine_load.LoadMonitor(asked).other_cpu_seconds(1.0) == 0.0


def test_the_run_s_own_cpu_time_is_not_other_load(stat):
    watched = machine_load.LoadMonitor([1])
    stat.write_text(STAT.replace("cpu1 300", "cpu1 450"))
    assert watched.other_cpu_seconds(0.5) == 1.0
    assert watched.other_cpu_seconds(2.0) == 0.0


def test_without_proc_stat_there_is_no_other_load(stat):
    stat.unlink()
    assert machine_load.LoadMonitor([0]).other_cpu_seconds(1.0) == 0.0


def test_workers_have_cores_of_their_own_as_long_as_there_are_enough(monkeypatch):
    monkeypatch.setattr(machine_load, "available_cores", lambda: [2, 3, 5, 7])
    assert machine_load.assign_cores(2, 2) == [(2, 3), (5, 7)]
    assert machine_load.assign_cores(3, 2) == [(2, 3), (5, 7), (2, 3)]
    assert machine_load.assign_cores(1, 6) == [(2, 3, 5, 7)]
    monkeypatch.setattr(machine_load, "available_cores", list)
    assert machine_load.assign_cores(2, 1) == [None, None]


def test_hyperthreads_are_assigned_last_and_count_as_one_core(tmp_path, monkeypatch):
    for core, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{core}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    monkeypatch.setattr(machine_load, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(
        machine_load.os, "sched_getaffinity", lambda process: {0, 1, 2, 3, 9}, raising=False
    )
    assert machine_load.available_cores() == [0, 1, 9, 2, 3]
    assert machine_load.count_physical_cores([0, 1, 2, 3, 9]) == 3
    assert workers_warning(3, 1, machine_load.available_cores()) == ""
    assert workers_warning(2, 2, machine_load.available_cores()) == (
        "workers: 4 cores would be needed, and this process may use 3 with 5 threads: the measured "
        "seconds are too long"
    )
