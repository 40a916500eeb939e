"""What `keyhole doctor` says is slow."""

import pytest

from keyhole.cli import slowdowns
from keyhole.cli.slowdowns import find_slowdowns


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch, tmp_path):
    """A machine of eight idle processors, and a cache with a piece of code."""
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path / "code"))
    (tmp_path / "code").mkdir(mode=0o700)
    (tmp_path / "code" / f"{'a' * 64}.code").write_bytes(bytes(950_000))
    monkeypatch.setattr(slowdowns.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(slowdowns.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(slowdowns.os, "getloadavg", lambda: (0.1, 0.1, 0.1), raising=False)
    monkeypatch.setattr(slowdowns, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.delenv("KEYHOLE_INTERPRET", raising=False)
    monkeypatch.setattr(slowdowns, "changed_settings", dict)
    return tmp_path


def only(text):
    (found,) = find_slowdowns()
    assert text in found, found


def test_nothing_is_found_on_an_idle_machine():
    assert find_slowdowns() == []


def test_settings_that_slow_down(monkeypatch):
    monkeypatch.setattr(slowdowns, "changed_settings", lambda: {"OPT": 0})
    only("NUMBA_OPT; unset")
    monkeypatch.setattr(slowdowns, "changed_settings", dict)
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    only("KEYHOLE_INTERPRET is set")


def test_code_that_is_not_kept(monkeypatch, quiet_machine):
    (quiet_machine / "open").mkdir()
    (quiet_machine / "open").chmod(0o777)
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(quiet_machine / "open"))
    only(f"{quiet_machine / 'open'} cannot be used; let KEYHOLE_CACHE_DIR name")


def test_a_cache_that_is_empty_or_full(monkeypatch, quiet_machine):
    monkeypatch.setenv("KEYHOLE_CACHE_MB", "1")
    only("is full (1 MB)")
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(quiet_machine / "new"))
    only("nothing is compiled yet")


def test_processors_that_are_not_to_be_had(monkeypatch, quiet_machine):
    (quiet_machine / "cpu.max").write_text("250000 100000\n")
    only("a quota allows 2.5 of 8 processors: more threads wait for each other; --threads 2")
    (quiet_machine / "cpu.max").write_text("max 100000\n")
    assert find_slowdowns() == []
    monkeypatch.setattr(slowdowns.os, "getloadavg", lambda: (7.04, 0.0, 0.0))
    only("on average 7.0 of 8 processors were busy")
    monkeypatch.setattr(slowdowns.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(slowdowns.os, "sched_getaffinity", lambda _: {0}, raising=False)
    only("this process may use 1 of 8 processors")
