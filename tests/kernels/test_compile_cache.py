"""The compile cache: its folder, its files, and their permissions."""

import gc
import io
import os
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from keyhole.kernels import cache_files, compile_cache
from keyhole.kernels.interpreted_mode import interpreted
from tests.forks import ENOUGH


def twice(values):
    values[0] *= 2.0
    return 1


def thrice(values):
    values[0] *= 3.0
    return 1


class Starts:
    """Uses two compiled functions as a process does that has just been started."""

    def __init__(self, monkeypatch):
        self._patch, self._compile, self._compiled = monkeypatch, compile_cache._compile, []
        monkeypatch.setattr(compile_cache, "_compile", self._counting)

    def _counting(self, owner, *rest):
        self._compiled.append(owner)
        return self._compile(owner, *rest)

    def compiled(self, folder):
        """Return the names of those that were compiled; all must work."""
        self._patch.setenv("KEYHOLE_CACHE_DIR", str(folder))
        self._patch.setattr(compile_cache, "_functions", weakref.WeakValueDictionary())
        self._patch.setattr(compile_cache, "_recent_functions", {})
        cache_files.prepare_folder.cache_clear()
        self._compiled.clear()
        for function, result in ((twice, 10.0), (thrice, 15.0)):
            name, values = function.__name__, np.array([5.0])
            code = compile_cache.compile_cached(name, name, lambda it=function: it, SIGNATURE)
            assert (code(values), values[0]) == (1, result)
        return list(self._compiled)


SIGNATURE = "int64(float64[::1])"
BOTH = ["twice", "thrice"]


@pytest.fixture
def starts(monkeypatch):
    yield Starts(monkeypatch)
    cache_files.prepare_folder.cache_clear()


@pytest.fixture
def full(starts, tmp_path):
    """Return a cache folder that holds both functions."""
    assert starts.compiled(tmp_path / "full") == BOTH
    assert starts.compiled(tmp_path / "full") == []
    return tmp_path / "full"


def test_a_folder_that_cannot_be_written_only_costs_time(starts, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert starts.compiled(tmp_path / "file" / "below") == BOTH
    assert starts.compiled(tmp_path / "file" / "below") == BOTH


def test_damaged_files_are_compiled_again(starts, full):
    for path in full.iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert starts.compiled(full) == BOTH
    assert starts.compiled(full) == []


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_may_write_to_is_not_used(starts, full, mode):
    full.chmod(mode)
    with pytest.warns(UserWarning, match="is not used for compiled code"):
        assert starts.compiled(full) == BOTH
    full.chmod(0o700)
    assert starts.compiled(full) == []


@POSIX
def test_a_file_that_others_may_write_to_is_not_loaded(starts, full):
    for path in full.iterdir():
        path.chmod(0o666)
    assert starts.compiled(full) == BOTH
    assert starts.compiled(full) == []  # written anew, as the user's own


@pytest.mark.parametrize("given", ["", "relative/folder"])
def test_a_relative_cache_home_is_ignored(monkeypatch, given):
    monkeypatch.delenv("KEYHOLE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert cache_files.cache_folder().is_absolute()
    assert Path.cwd() not in cache_files.cache_folder().parents


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5"])
def test_an_invalid_size_limit_is_refused(monkeypatch, given):
    monkeypatch.setenv("KEYHOLE_CACHE_MB", given)
    with pytest.raises(ValueError, match="KEYHOLE_CACHE_MB must be"):
        cache_files.cache_limit()


def test_the_least_recently_used_files_are_removed_first(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("KEYHOLE_CACHE_MB", "1")
    for age in range(3):
        path = tmp_path / f"{age:064x}.code"
        path.write_bytes(bytes(400_000))
        os.utime(path, (1e9 - age, 1e9 - age))
    cache_files.write_cache_file(tmp_path / f"{3:064x}.code", b"code")
    assert sorted(int(path.stem, 16) for path in tmp_path.iterdir()) == [0, 1, 3]
    assert cache_files.clear_cache() == 3
    assert cache_files.cached_files() == []


def test_a_used_file_becomes_the_most_recent(starts, full):
    for path in full.iterdir():
        os.utime(path, (1e9, 1e9))
    assert starts.compiled(full) == []
    assert min(path.stat().st_mtime for path in full.glob("*.code")) > 1.1e9


@POSIX
def test_one_process_at_a_time_compiles_an_entry(tmp_path):
    import fcntl

    lock, refused = tmp_path / "piece.lock", pytest.raises(BlockingIOError)
    with compile_cache._file_lock(lock.with_suffix(".code")), lock.open() as file, refused:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert not list(tmp_path.iterdir())


class Heard(io.StringIO):
    """A standard error that knows when something was said."""

    def __init__(self):
        super().__init__()
        self.said = threading.Event()

    def write(self, text):
        count = super().write(text)
        if text.endswith("\n"):
            self.said.set()
        return count


def announced(monkeypatch, folder):
    """Return what is said while something is compiled that takes long, or loaded."""
    heard = Heard()
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(folder))
    monkeypatch.setattr(compile_cache, "_functions", {})
    monkeypatch.setattr(compile_cache, "_ANNOUNCE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", heard)
    cache_files.prepare_folder.cache_clear()

    def build():
        assert heard.said.wait(ENOUGH)
        return twice

    compile_cache.compile_cached("RoundRobin", "announced", build, SIGNATURE)
    cache_files.prepare_folder.cache_clear()
    return heard.getvalue()


def test_long_compiling_is_announced_once(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    said = "keyhole: compiling RoundRobin (once, and kept for later runs)\n"
    assert announced(monkeypatch, folder) == said
    assert announced(monkeypatch, folder) == ""


class ImmediateTimer:
    """A timer that does not wait."""

    def __init__(self, seconds, function):
        self.start = function

    def cancel(self):
        """Do nothing: it has run."""


def test_nothing_is_announced_where_it_is_to_be_quiet(monkeypatch, capsys):
    monkeypatch.setattr(compile_cache.threading, "Timer", ImmediateTimer)
    with compile_cache.quiet_compilation(), compile_cache._announce_compilation("RoundRobin", None):
        pass
    assert capsys.readouterr().err == ""
    with compile_cache._announce_compilation("RoundRobin", None):
        pass
    assert capsys.readouterr().err.startswith("keyhole: compiling RoundRobin (once")


def test_code_that_cannot_be_cached_is_announced_as_such(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    said = "keyhole: compiling RoundRobin (once, in every process)\n"
    assert announced(monkeypatch, folder) == said


def test_the_file_of_code_is_found_before_it_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))

    def seven():
        return 7

    def compile_it():
        return compile_cache.compile_cached("made up", "of the test", lambda: seven, "int64()")

    file = compile_cache.find_code_file(compile_it)
    assert (file.path.parent, file.path.suffix) == (tmp_path, ".code")
    assert not file.path.exists()
    with interpreted():
        assert compile_cache.find_code_file(compile_it) is None


def test_code_is_freed_with_its_last_reference(monkeypatch):
    from keyhole.thresholding import RoundRobin

    monkeypatch.setattr(compile_cache, "_MAX_RECENT_FUNCTIONS", 0)
    learner = RoundRobin().learner(arms=2, threshold=0.5)
    held = weakref.ref(learner._step)
    assert held() is not None
    del learner
    gc.collect()
    assert held() is None


def test_a_renamed_file_is_not_loaded(starts, full):
    one, other = full.glob("*.code")
    codes = one.read_bytes(), other.read_bytes()
    other.write_bytes(codes[0])
    one.write_bytes(codes[1])
    assert starts.compiled(full) == BOTH


def test_files_of_killed_processes_are_removed(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    name = "0" * 64
    for path in (f"{name}.code", f"{name}-x1.draft", f"{name}.lock", "mine.lock", "mine.code"):
        (tmp_path / path).write_bytes(b"")
    (tmp_path / f"{'1' * 64}.code").mkdir()
    assert cache_files.clear_cache() == 3
    assert sorted(path.name for path in tmp_path.iterdir())[1:] == ["mine.code", "mine.lock"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / f"{'0' * 64}.code"
    os.mkfifo(path, 0o600)
    found = []
    reader = threading.Thread(
        target=lambda: found.append(cache_files.read_cache_file(path)), daemon=True
    )
    reader.start()
    reader.join(ENOUGH)
    assert found == [None]
    cache_files.write_cache_file(path, b"code")
    assert cache_files.read_cache_file(path) == b"code"
