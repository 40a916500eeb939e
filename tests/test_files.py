"""What is written is whole and outlives a power cut; a folder at work is nobody else's."""

import errno
import os
import sys
import time

import pytest

from keyhole.files import folder_lock, open_draft, remove_drafts, write_atomically

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked")


def test_a_file_is_flushed_before_it_is_in_its_place(tmp_path, monkeypatch):
    flush, replace, done = os.fsync, os.replace, []

    def flushed(handle):
        done.append(("flushed", os.fstat(handle).st_size))
        flush(handle)

    def replaced(draft, path):
        done.append("replaced")
        replace(draft, path)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "a", b"whole")
    assert done == [("flushed", 5), "replaced"]
    assert (tmp_path / "a").read_bytes() == b"whole"


@POSIX
def test_a_folder_is_held_by_one(tmp_path):
    refused = pytest.raises(ValueError, match="another process is at work in")
    with folder_lock(tmp_path), refused, folder_lock(tmp_path):
        pass
    with folder_lock(tmp_path):
        pass


def test_drafts_stay_while_they_are_written(tmp_path):
    left = tmp_path / f".a.{'0a' * 16}"
    left.write_bytes(b"half")
    os.utime(left, (time.time() - 9999,) * 2)
    with open_draft(tmp_path / "a") as file:
        file.write(b"x")
        remove_drafts(tmp_path)
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@POSIX
def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_bytes(b"former")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@POSIX
def test_what_is_no_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe must be a file, got a device, a named pipe"):
        write_atomically(tmp_path / "pipe", b"new")
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(IsADirectoryError, match="must be a file, got a folder"):
        write_atomically(tmp_path, b"new")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ValueError, match="loop must be a file, got a loop of symbolic links"):
        write_atomically(tmp_path / "loop", b"new")


@pytest.mark.parametrize(
    ("function", "number"),
    [("fsync", errno.ENOSPC), ("replace", errno.EROFS), ("fsync", errno.EDQUOT)],
)
def test_an_error_of_the_system_names_the_file_and_not_its_draft(
    tmp_path, monkeypatch, function, number
):
    def refuse(*names):
        raise OSError(
            number, os.strerror(number), *[name for name in names if number == errno.EROFS]
        )

    monkeypatch.setattr(os, function, refuse)
    with pytest.raises(OSError, match=os.strerror(number)) as refused:
        write_atomically(tmp_path / "a", b"new")
    assert refused.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_named_and_not_its_draft(tmp_path):
    name = "a" * 250  # the draft's is longer than names may be
    with pytest.raises(OSError, match="name") as refused:
        write_atomically(tmp_path / name, b"new")
    assert refused.value.filename == str(tmp_path / name)
