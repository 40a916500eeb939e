"""SQLite's locks are held as long as a study is open, whatever is called: nothing else may open it.

Closing a file drops all POSIX locks that the process has on it, and who closes the database next
would then remove the log of those that are still at work.
"""

from contextlib import suppress

import pytest

from keyhole.study import Study, backup, check_database
from keyhole.study.storage import open_store
from keyhole.thresholding import APT
from tests.processes import python
from tests.study.storage import watching
from tests.study.studies import labels

pytest.importorskip("fcntl")

OPERATIONS = """
import sys
from keyhole.cli.app import app
path, folder = sys.argv[1:]
for operation in (
    ["show"], ["ask"], ["history"], ["add-arm", "e"], ["retire", "e"],
    ["export", f"{folder}/from-shell.jsonl"],
):
    app(["study", operation[0], path, "labels", *operation[1:]], standalone_mode=False)
app(["study", "list", path], standalone_mode=False)
"""


def run_verbs(path):
    """Use the study as from a shell, in another process."""
    done = python("-c", OPERATIONS, path, path.parent, cwd=path.parent)
    assert done.returncode == 0, done.stderr


def restored(study, path):
    study.export(path.parent / "log.jsonl")
    Study.restore(path, path.parent / "log.jsonl", name="again").close()


def expired(study, _):
    study.expire(study.ask().id)


def told_elsewhere(study, path):
    with Study.open(path, "labels") as other:
        other.tell(other.ask().id, 1)
        other.recommend()


CALLS = {
    "ask": lambda study, _: study.ask(key="key"),
    "tell": lambda study, _: study.tell(study.ask().id, 1),
    "a refusal": lambda study, _: study.tell("none", 1),
    "sum told": lambda study, _: study.tell_sum(1.0),
    "expire": expired,
    "recommend": lambda study, _: study.recommend(),
    "policy": lambda study, _: study.policy,
    "arms": lambda study, _: study.arms,
    "pending decisions": lambda study, _: study.pending,
    "history": lambda study, _: study.history(),
    "log": lambda study, _: study.log(),
    "export": lambda study, path: study.export(path.parent / "log.jsonl"),
    "restore": restored,
    "replay": lambda study, _: study.replay(APT()),
    "add an arm": lambda study, _: study.add_arm("d"),
    "retire": lambda study, _: study.retire("d"),
    "change the policy": lambda study, _: study.change_policy(APT()),
    "look elsewhere": told_elsewhere,
    "create": lambda _, path: labels(path, "another").close(),
    "create twice": lambda _, path: labels(path, "another"),
    "open nothing": lambda _, path: Study.open(path, "nothing"),
    "list": lambda _, path: open_store(path).studies(),
    "backup": lambda _, path: backup(path, path.parent / "copy.db"),
    "check": lambda _, path: check_database(path),
    "shell": lambda _, path: run_verbs(path),
}


def test_locks_are_held_after_every_call_and_nobody_but_sqlite_opens_a_file(tmp_path):
    path = tmp_path / "s.db"
    shm = tmp_path / "s.db-shm"
    asker = watching.Asker()
    watching.watch(path, f"{path}-wal", shm)
    try:
        with labels(path) as study:
            for name, call in CALLS.items():
                with suppress(ValueError, TypeError):
                    call(study, path)
                assert asker.is_held(path, *watching.SHARED), name
                assert asker.is_held(shm, *watching.PRESENT), name
                assert not watching.opened, name
        assert not shm.exists()
    finally:
        watching.watch()
        asker.close()


def test_what_was_answered_is_there_after_another_process_has_come_and_gone(tmp_path):
    path = tmp_path / "s.db"
    with labels(path) as study:
        study.tell(study.ask().id, 1)
        study.recommend()
        run_verbs(path)  # which asks, adds an arm and retires it
        study.tell(study.ask().id, 1)
        with Study.open(path, "labels") as other:
            assert len(other.log()) == len(study.log()) == 7
