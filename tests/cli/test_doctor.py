"""`keyhole doctor`."""

import sys
from importlib.metadata import version

from keyhole.cli import doctor
from keyhole.extras import Extra
from keyhole.runner import MECHANISMS


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
    assert found["runs"].partition(":")[0] in (*MECHANISMS, "none")
    assert {"cores", "machine", "C++ compiler", "keyhole[postgres]"} <= found.keys()


def test_the_doctor_says_what_is_missing(keyhole, monkeypatch, tmp_path):
    def refuse():
        raise OSError("a runner needs Linux or macOS")

    monkeypatch.setattr(doctor, "Runner", refuse)
    monkeypatch.setattr(doctor, "EXTRAS", {"postgres": Extra("none", "no-such-package")})
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    found = rows(keyhole)
    assert found["runs"] == "none: a runner needs Linux or macOS"
    assert found["keyhole[postgres]"] == "not there: no-such-package"
    assert found["C++ compiler"] == "none"
    assert ", which may not be written to, " in found["compiled code"]
