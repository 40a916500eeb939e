"""`keyhole doctor`."""

import json
import sys
from importlib.metadata import version

import pytest

from keyhole.cli import doctor
from keyhole.extras import Extra
from keyhole.runner import KILL_MECHANISMS


def rows(keyhole):
    code, out, _ = keyhole("doctor")
    assert code == 0
    lines = (line.partition("  ") for line in out.splitlines())
    return {name: value.strip() for name, _, value in lines}


def test_the_doctor_says_what_there_is(keyhole, monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path / "new" / "code"))
    found = rows(keyhole)
    assert found["keyhole"] == version("keyhole")
    assert found["python"].endswith(sys.executable)
    assert f"numba {version('numba')}" in found["packages"]
    assert found["compiled code"].startswith(f"{tmp_path / 'new' / 'code'}, at most ")
    assert found["runs"].partition(":")[0] in (*KILL_MECHANISMS, "none")
    assert {"cores", "machine", "C++ compiler", "keyhole[postgres]"} <= found.keys()


def test_the_doctor_says_what_is_missing(keyhole, monkeypatch, tmp_path):
    def refuse():
        raise OSError("a runner needs Linux or macOS")

    monkeypatch.setattr(doctor, "CommandRunner", refuse)
    monkeypatch.setattr(doctor, "EXTRAS", {"postgres": Extra("none", "no-such-package")})
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    found = rows(keyhole)
    assert found["runs"] == "none: a runner needs Linux or macOS"
    assert found["keyhole[postgres]"] == "not installed: no-such-package"
    assert found["C++ compiler"] == "none"
    assert ", which cannot be written to, " in found["compiled code"]


@pytest.fixture
def quiet_machine(monkeypatch, tmp_path):
    """A machine of eight idle processors, and a cache with a piece of code."""
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path / "code"))
    (tmp_path / "code").mkdir(mode=0o700)
    (tmp_path / "code" / f"{'a' * 64}.code").write_bytes(bytes(950_000))
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.1, 0.1, 0.1), raising=False)
    monkeypatch.setattr(doctor, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.delenv("KEYHOLE_INTERPRET", raising=False)
    monkeypatch.setattr(doctor, "changed_compiler_settings", dict)
    return tmp_path


@pytest.fixture
def slow(keyhole, quiet_machine):
    """Return a function that returns what the doctor says is slow."""

    def find_slow():
        return json.loads(keyhole("doctor", "--json")[1])["slow"]

    return find_slow


def assert_only(slow, text):
    assert [text in sentence for sentence in slow()] == [True], slow()


def test_nothing_is_found_on_an_idle_machine(slow):
    assert slow() == []


def test_settings_that_slow_down(slow, monkeypatch):
    monkeypatch.setattr(doctor, "changed_compiler_settings", lambda: {"OPT": 0})
    assert_only(slow, "NUMBA_OPT; unset")
    monkeypatch.setattr(doctor, "changed_compiler_settings", dict)
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    assert_only(slow, "KEYHOLE_INTERPRET is set")


def test_code_that_is_not_kept(slow, monkeypatch, quiet_machine):
    (quiet_machine / "open").mkdir()
    (quiet_machine / "open").chmod(0o777)
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(quiet_machine / "open"))
    assert_only(slow, f"{quiet_machine / 'open'} cannot be used; let KEYHOLE_CACHE_DIR name")


def test_a_cache_that_is_empty_or_full(slow, monkeypatch, quiet_machine):
    monkeypatch.setenv("KEYHOLE_CACHE_MB", "1")
    assert_only(slow, "is nearly full (1 MB)")
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(quiet_machine / "new"))
    assert_only(slow, "nothing is compiled yet")


def test_processors_that_are_not_to_be_had(slow, monkeypatch, quiet_machine):
    (quiet_machine / "cpu.max").write_text("250000 100000\n")
    assert_only(
        slow,
        "a quota allows 2.5 of 8 processors: more threads wait for each other; give --threads 2",
    )
    (quiet_machine / "cpu.max").write_text("max 100000\n")
    assert slow() == []
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (7.04, 0.0, 0.0))
    assert_only(slow, "on average 7.0 of 8 processors were busy")
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert_only(slow, "this process may use 1 of 8 processors")
