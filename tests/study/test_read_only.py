"""A user without write permission can read a study, and is told what writing needs."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyhole.study import Study, backup, check_database
from keyhole.study.storage import StoreError, sqlite_connection
from tests.forks import in_child
from tests.study.studies import labels

pytestmark = [
    pytest.mark.interpreted,
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
    ),
]
left_open = []  # in processes that end without closing
OWNER, READER, GROUP = 65533, 65534, 65532  # users and a group of their own, of no system


@contextmanager
def as_a_stranger():
    """Be a user of the system who owns nothing."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def path():
    """Return a file in a folder that all may read, and nobody else may write."""
    before = os.umask(0o022)  # the user's may keep others from reading
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        with as_a_stranger():
            if not os.access(folder, os.R_OK, effective_ids=True):
                pytest.skip("others may not read where temporary files are")
        with labels(folder / "s.db") as study:
            study.tell(study.ask().id, 1)
            study.ask()
            study.replay(study.policy)
        yield folder / "s.db"
    finally:
        shutil.rmtree(folder)
        os.umask(before)


def look(path, study=None):
    """Return all that there is to be seen."""
    study = study or Study.open(path, "labels")
    with study:
        return study.recommend(), study.pending, study.log(), study.arms


def contents(folder):
    return sorted((file.name, file.stat().st_size) for file in folder.iterdir())


def test_who_may_only_read_looks_at_a_study_that_nobody_has_open(path):
    expected, before = look(path), contents(path.parent)
    with as_a_stranger():
        assert look(path) == expected
    assert contents(path.parent) == before


def test_who_may_only_read_sees_what_others_write_meanwhile(path):
    with as_a_stranger():
        reader = Study.open(path, "labels")
        assert len(reader.log()) == 3
    with Study.open(path, "labels") as study:
        study.ask()
        with as_a_stranger():
            assert len(reader.log()) == 4
            seen = look(path)
        study.ask()
        with as_a_stranger():
            assert len(reader.log()) == len(seen[2]) + 1 == 5
    with as_a_stranger():
        reader.close()


def test_who_may_only_read_is_told_what_writing_needs(path):
    with as_a_stranger(), Study.open(path, "labels") as study:
        for call in (study.ask, lambda: study.add_arm("d"), lambda: study.tell("x", 1)):
            with pytest.raises(StoreError, match="must be allowed to write to the file") as refused:
                call()
            assert "\n" not in str(refused.value)
        assert len(study.log()) == 3
    with Study.open(path, "labels") as again:
        assert again.ask().arm == "c"


def test_who_may_not_read_is_told_so(path):
    path.chmod(0o600)
    with as_a_stranger(), pytest.raises(StoreError, match="must be allowed to"):
        Study.open(path, "labels")


@pytest.fixture
def shared():
    """Return a file of OWNER's in a folder to which all may write."""
    before = os.umask(0o022)
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o777)
        if by(READER, lambda: os.access(folder, os.W_OK)) != "True":
            pytest.skip("others may not write where temporary files are")
        by(OWNER, lambda: labels(folder / "s.db").close())
        yield folder / "s.db"
    finally:
        shutil.rmtree(folder)
        os.umask(before)


def by(user, work, groups=()):
    """Return what some work of another user returns, as text: a result, or a refusal."""

    def be_the_user():
        os.setgroups(groups)
        os.setgid(user)
        os.setuid(user)
        try:
            return work()
        except StoreError as error:
            return error

    return in_child(be_the_user)


def ask(path):
    """Ask and tell once; return how many events there are then."""
    with Study.open(path, "labels") as study:
        study.tell(study.ask().id, 1)
        return len(study.log())


def ask_and_be_killed(path):
    """Ask and tell once, and leave the study open; return how many events there are then."""
    study = Study.open(path, "labels")
    study.tell(study.ask().id, 1)
    left_open.append(study)
    return len(study.log())


def owners(path):
    """Return the owners of all files beside a database, and of itself."""
    return {file.stat().st_uid for file in path.parent.iterdir()}


def test_who_only_looks_leaves_nothing_and_locks_nobody_out(shared):
    assert by(OWNER, lambda: ask(shared)) == "2"
    before = contents(shared.parent)
    for look_somehow in (
        lambda: len(look(shared)[2]),
        lambda: len(check_database(shared).studies) + 1,
        lambda: left_open.append(Study.open(shared, "labels")) or len(left_open[0].log()),
    ):
        assert by(READER, look_somehow) == "2"
        assert contents(shared.parent) == before
        assert owners(shared) == {OWNER}
    assert "must be allowed to write to the file" in by(READER, lambda: ask(shared))
    assert by(OWNER, lambda: ask(shared)) == "4"


def test_who_only_looks_makes_no_queue(shared):
    shared.with_name("s.db-queue").unlink()
    assert "must be allowed to write to the file" in by(READER, lambda: ask(shared))
    assert owners(shared) == {OWNER}
    assert by(OWNER, lambda: ask(shared)) == "2"


def test_who_only_looks_sees_what_an_owner_wrote_who_was_killed(shared):
    assert by(OWNER, lambda: ask_and_be_killed(shared)) == "2"
    assert shared.with_name("s.db-wal").stat().st_size
    assert by(READER, lambda: len(look(shared)[2])) == "2"
    assert owners(shared) == {OWNER}
    assert by(OWNER, lambda: ask(shared)) == "4"


def test_an_empty_log_of_a_reader_is_removed_by_the_next_look(shared):
    for end in ("-wal", "-shm"):  # as SQLite makes them where the last writer has just closed
        by(READER, shared.with_name(f"s.db{end}").touch)
    assert "s.db-wal belongs to " in by(OWNER, lambda: ask(shared))
    assert by(READER, lambda: len(look(shared)[2])) == "0"
    assert by(OWNER, lambda: ask(shared)) == "2"


def test_a_file_that_is_written_to_during_a_look_is_not_believed(path, monkeypatch):
    execute = sqlite_connection.Connection.execute

    def execute_late(db, sql, *values):
        rows = execute(db, sql, *values)
        if "FROM event" in sql:
            monkeypatch.undo()
            os.seteuid(0)
            ask(path)
            os.seteuid(READER)
        return rows

    with as_a_stranger(), Study.open(path, "labels") as reader:
        monkeypatch.setattr(sqlite_connection.Connection, "execute", execute_late)
        with pytest.raises(StoreError, match="the file was written to meanwhile"):
            reader.log()
        assert len(reader.log()) == 5


@pytest.mark.parametrize("is_setgid", [False, True])
def test_members_of_a_group_take_turns_whatever_their_umask(shared, is_setgid):
    for name in (shared, shared.with_name("s.db-queue")):
        os.chown(name, -1, GROUP)
        name.chmod(0o664)
    if is_setgid:
        os.chown(shared.parent, -1, GROUP)
        shared.parent.chmod(0o2777)

    def write_without_closing():
        os.umask(0o077)
        return ask_and_be_killed(shared)

    assert by(READER, write_without_closing, [GROUP]) == "2"  # its log stays
    assert by(OWNER, lambda: ask(shared), [GROUP]) == "4"
    assert by(READER, lambda: ask(shared), [GROUP]) == "6"


def test_a_log_of_another_user_is_named_with_its_owner(shared):
    for name in (shared, shared.with_name("s.db-queue")):
        name.chmod(0o666)
    by(READER, lambda: ask_and_be_killed(shared))
    for end in ("-wal", "-shm"):
        shared.with_name(f"s.db{end}").chmod(0o644)
    refused = by(OWNER, lambda: ask(shared))
    assert f"{shared}-wal belongs to " in refused
    assert "root" in refused
    assert "\n" not in refused


def test_files_have_the_modes_that_the_umask_gives(tmp_path):
    before = os.umask(0o002)
    try:
        with labels(tmp_path / "s.db"):
            backup(tmp_path / "s.db", tmp_path / "copy.db")
            modes = {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o664}
