"""Stores to test on: every test that asks for `address` or `store` runs on both databases."""

import sqlite3
import uuid
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from keyhole.study.storage import open_store
from tests.study.server import server as start_server


@pytest.fixture(scope="session")
def server():
    server = start_server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def _database(server):
    """Make a database of our own: the server may be the user's."""
    name = f"keyhole_test_{uuid.uuid4().hex}"
    with psycopg.connect(server.address, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    yield urlsplit(server.address)._replace(path=f"/{name}").geturl()
    with psycopg.connect(server.address, autocommit=True) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(_database):
    """Return the address of a database in which nobody is and nothing is."""
    with psycopg.connect(_database, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        db.execute("DROP SCHEMA IF EXISTS keyhole CASCADE")
    return _database


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "studies.db")
    return request.getfixturevalue("database")


@pytest.fixture
def store(address):
    store = open_store(address)
    yield store
    store.close()


@pytest.fixture
def raw(store, address):
    """Return a connection to the database of a store, past the store."""
    if address.startswith("postgresql"):
        connection = psycopg.connect(address, autocommit=True)
    else:
        connection = sqlite3.connect(address, isolation_level=None)
    with closing(connection):
        yield connection
