"""A user without write permission can read a study, and is told what writing needs."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyhole.study import Study
from keyhole.study.storage import StoreError
from tests.study.studies import labels

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)


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
            with pytest.raises(StoreError, match="the file was written to meanwhile"):
                reader.log()  # which had read without a lock until now
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
