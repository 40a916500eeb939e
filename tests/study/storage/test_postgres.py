"""The PostgreSQL back end."""

import os
import sys
import uuid
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from keyhole.study.storage import Row, StoreError, open_store
from tests.study.studies import labels

ROW = Row(1, 1, None, None, 0.0, b"")


@pytest.fixture
def store(database):
    with closing(open_store(database)) as store:
        yield store


def administer(database, *statements):
    """Do something to a database past the store."""
    with psycopg.connect(database, autocommit=True) as db:
        return [db.execute(statement) for statement in statements]


def setting(store, name):
    """Return a setting of a store's session."""
    return store._query(f"SHOW {name}", ())[0][0]


def test_without_the_driver_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"needs psycopg: pip install 'keyhole\[postgres\]'"):
        open_store("postgresql://localhost/studies")


def test_a_commit_outlives_a_power_cut_and_nothing_less(database):
    with pytest.raises(ValueError, match="durability must be 'power_loss' on a server"):
        open_store(database, durability="process_crash")


def test_an_address_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="storage must be an address of PostgreSQL"):
        open_store("postgresql://localhost/studies?colour=red")


def test_a_server_that_does_not_answer_is_named_without_its_password(tmp_path):
    with pytest.raises(StoreError) as refused:
        open_store(f"postgresql://me:secret@/studies?host={tmp_path}")
    assert f"postgresql://me@{tmp_path}/studies" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "open the study again" not in str(refused.value)  # nothing was being written


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://nobody@127.0.0.1:1/x", "postgresql://nobody@127.0.0.1:1/x"),
        (
            "postgresql://me:secret@127.0.0.1:1/x?sslpassword=secret",
            "postgresql://me@127.0.0.1:1/x",
        ),
        ("postgresql://127.0.0.1:1,127.0.0.2:2/x", "postgresql://127.0.0.1:1,127.0.0.2:2/x"),
    ],
)
def test_an_address_is_shown_without_what_is_secret(address, shown):
    with pytest.raises(StoreError) as refused:
        open_store(address)
    assert str(refused.value).startswith(f"{shown}: ")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused_before_anything_is_made(database, encoding):
    name = f"keyhole_test_{uuid.uuid4().hex}"
    options = f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    administer(database, f"CREATE DATABASE {name} {options}")
    other = urlsplit(database)._replace(path=f"/{name}").geturl()
    try:
        wanted = f"storage must be a database with the encoding UTF8.*which has {encoding}"
        with pytest.raises(ValueError, match=wanted):
            open_store(other)
        with psycopg.connect(other) as db:
            assert db.execute("SELECT to_regnamespace('keyhole')").fetchone() == (None,)
    finally:
        administer(database, f"DROP DATABASE {name} WITH (FORCE)")


def test_the_encoding_of_the_environment_does_not_matter(database, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with labels(database, "日本") as study:
        assert study.ask(key="日").id == study.ask(key="日").id


def test_somebody_elses_schema_is_refused(database):
    administer(database, "CREATE SCHEMA keyhole", "CREATE TABLE keyhole.event (study INTEGER)")
    with pytest.raises(ValueError, match="storage must be a database whose schema keyhole is ours"):
        open_store(database)


def test_a_newer_store_is_refused(store, database):
    administer(database, "UPDATE keyhole.version SET version = 7")
    with pytest.raises(ValueError, match="of version at most 5, got 7"):
        open_store(database)


def test_a_commit_is_flushed_whatever_the_databases_default(store, database):
    administer(
        database,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',"
        " current_database()); END $$",
    )
    try:
        with closing(open_store(database)) as other:
            assert setting(other, "synchronous_commit") == "on"
    finally:
        administer(
            database,
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$",
        )


def test_what_was_committed_while_one_waited_is_seen_whatever_the_sessions_default(store, database):
    # At a higher level, whoever waited would see the log as it was when he began to wait.
    study = store.create("labels", b"", 0.0)
    store._db.execute("SET default_transaction_isolation = 'repeatable read'")
    store.begin(study, 0)
    assert setting(store, "transaction_isolation") == "read committed"
    store.rollback()


def test_studies_do_not_wait_for_each_other(store, database):
    first, second = (store.create(name, b"", 0.0) for name in "ab")
    with closing(open_store(database)) as other:
        store.begin(first, 0)
        other.begin(second, 0)
        other.commit(second, [ROW])
        store.commit(first, [ROW])


def test_whoever_stops_with_the_lock_loses_it(store, database):
    study = store.create("labels", b"", 0.0)
    assert setting(store, "idle_in_transaction_session_timeout") == "1min"
    store._db.execute("SET idle_in_transaction_session_timeout = '10ms'")
    store.begin(study, 0)
    with closing(open_store(database)) as other:
        other.begin(study, 0)  # which waits for that
        other.commit(study, [ROW])
    with pytest.raises(StoreError, match="open the study again to see whether it is there"):
        store.commit(study, [ROW])
    assert store.begin(study, 0) == [ROW]
    store.rollback()


def test_a_connection_that_was_cut_is_made_anew(store, database):
    study = store.create("labels", b"", 0.0)
    cut = f"SELECT pg_terminate_backend({store._db.info.backend_pid})"
    store.begin(study, 0)
    administer(database, cut)
    with pytest.raises(StoreError, match="open the study again to see whether it is there"):
        store.commit(study, [ROW])
    assert store.begin(study, 0) == []
    store.commit(study, [ROW])
    assert list(store.read(study)) == [ROW]


@pytest.mark.interpreted
def test_an_idle_connection_that_was_lost_is_made_anew_without_an_error(database):
    cut = (
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE application_name = 'keyhole' AND datname = current_database()"
    )
    with labels(database) as study:
        for use in (study.ask, study.recommend, lambda: study.ask(key="k"), study.log):
            use()
            administer(database, cut)
            use()
        assert [row.seq for row in study.log()] == [1, 2, 3]


def test_a_connection_that_is_lost_twice_is_an_error(database, monkeypatch):
    attempts = []

    def refuse(*_, **__):
        attempts.append(1)
        raise psycopg.OperationalError("the server is gone")

    with closing(open_store(database)) as store:
        administer(database, f"SELECT pg_terminate_backend({store._db.info.backend_pid}, 10000)")
        monkeypatch.setattr(psycopg, "connect", refuse)
        with pytest.raises(StoreError, match="the server is gone"):
            store.studies()
    assert len(attempts) == 1


@pytest.mark.parametrize(
    "change", ["PREPARE keyhole_append AS SELECT 1", "DEALLOCATE ALL"], ids=["another's", "gone"]
)
def test_a_pool_that_changes_sessions_is_refused_with_what_is_needed(database, monkeypatch, change):
    # As pgbouncer does with pool_mode = transaction: the session is that of another client.
    connect, connections = psycopg.connect, []

    def connect_to_pool(**parameters):
        connections.append(connect(**parameters))
        if change.startswith("PREPARE"):
            connections[-1].execute(change)
        return connections[-1]

    monkeypatch.setattr(psycopg, "connect", connect_to_pool)
    with pytest.raises(StoreError, match="needs a session-level pool") as refused:  # noqa: PT012
        store = open_store(database)
        study = store.create("labels", b"", 0.0)
        connections[-1].execute(change)
        store.begin(study, 0)
    assert not refused.value.later
    assert "try again" not in str(refused.value)


def test_a_fork_must_open_the_store_again_and_leaves_it_open(store):
    study = store.create("labels", b"", 0.0)
    pid = os.fork()
    if pid == 0:
        try:
            store.begin(study, 0)
        except StoreError:
            store.close()
            del store
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert store.begin(study, 0) == []
    store.commit(study, [ROW])
