"""The SQLite back end, which keeps the event logs of studies in one file."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from keyhole.study.storage import index_check, schema, sqlite_connection, sqlite_error_messages
from keyhole.study.storage.errors import DamagedError, StoreError
from keyhole.study.storage.page_check import find_damage
from keyhole.study.storage.rows import QueryResult, Record, Row
from keyhole.study.storage.sqlite_connection import Connection, read_pragma
from keyhole.study.storage.sqlite_transactions import SqliteFile
from keyhole.validate import short_repr

_INSERT: Final = (
    "INSERT INTO event (study, seq, kind, decision, key, at, body, digest)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAIL: Final = "REPLACE INTO tail (study, seq) VALUES (?, ?)"
_DIALECT: Final = {
    "schema": "",
    "identity": "INTEGER",
    "integer": "INTEGER",
    "float": "REAL",
    "bytes": "BLOB",
    "clustered": " WITHOUT ROWID",
    "value": "?",
}


class Sqlite(SqliteFile):
    """A store in an SQLite file.

    With `flush`, a commit returns once it is on the disk; without, once the operating system has
    it.
    """

    dialect = _DIALECT
    failures = (sqlite3.Error, OSError)

    def connect_again(self) -> "Sqlite":
        """Return another connection to the same file, which must still be there."""
        return Sqlite(self.path, self._flush, self)

    def _query(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        with self._open_reader() as db:
            return db.execute(sql, values).fetchall()

    def events_of_decision(self, study: int, decision: str) -> list[Row]:
        """Return the events of a decision; the index is checked to be complete."""
        self._check_index("decision", study, decision)
        return super().events_of_decision(study, decision)

    def find_by_key(self, study: int, key: str) -> Row | None:
        """Return the event of an idempotency key; None only if the index is intact there."""
        found = super().find_by_key(study, key)
        if found is None:
            self._check_index("key", study, key)
        return found

    def _check_index(self, column: str, study: int, value: str) -> None:
        """Refuse an index from which a value may be missing."""
        found = self._run(self._query, index_check.count_entries(column), (study, value))
        if not index_check.are_index_entries_complete(found):
            self.rollback()
            raise DamagedError(
                f"{self.where}: the index of {column}s is damaged where "
                f"{short_repr(value)} belongs; `keyhole study check` says what is "
                "whole, and saves it"
            )

    def _create(self, study: tuple[object, ...], rows: Sequence[Record]) -> bool:
        made = self._begin_write().execute(self._sql[schema.CREATE_STUDY], study)
        if not made.rowcount:
            self._undo()
            return False
        assert made.lastrowid is not None
        self._add(made.lastrowid, rows, len(rows))
        return True

    def _lock(self, study: int, after: int) -> QueryResult:
        # `_begin_write` has just checked the version: do not read it again.
        return self._select_events(self._begin_write(), study, after, len(schema.STEPS))

    def _events_after(self, study: int, after: int) -> QueryResult:
        with self._open_reader() as db:
            db.execute("BEGIN")
            try:
                return self._select_events(db, study, after, read_pragma(db, "user_version"))
            finally:
                db.execute("COMMIT")

    def _select_events(self, db: Connection, study: int, after: int, version: int) -> QueryResult:
        identity = db.execute(self._sql[schema.DEFINITION_DIGEST], (study,)).fetchone()
        rows = db.execute(self._sql[schema.EVENTS_AFTER], (study, after)).fetchall()
        return QueryResult(version, identity and identity[0], rows)

    def _add(self, study: int, rows: Sequence[Record], tail: int) -> None:
        db = self._connected()
        db.executemany(_INSERT, [(study, *row) for row in rows])
        db.execute(_TAIL, (study, tail))
        if not self._commit() and rows:
            self._check_added(study, rows[-1])

    def _check_added(self, study: int, last: Record) -> None:
        """Refuse a copy that replaced the file within the transaction: the rows are not in it."""
        found = self._query(self._sql[schema.EVENTS_RANGE], (study, last[0], 1))
        if not found or found[0][-1] != last[-1]:
            self._refuse_replaced(study, last[0])

    def _save_snapshot(self, body: bytes, study: int, seq: int) -> None:
        self._connected().execute(self._sql[schema.SAVE_SNAPSHOT], (body, study, seq))
        self._commit()

    def _copy(self, path: Path) -> None:
        with (
            self._open_reader() as db,
            closing(sqlite_connection.connect(path, sqlite_connection.CREATE)) as copy,
        ):
            try:
                db.backup(copy)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_FULL":
                    raise
                raise StoreError(f"{path}: {self._explain(error)}") from error

    def find_page_damage(self) -> str:
        """Return a line on damaged pages and indexes; "" if there are none."""
        return find_damage(lambda check: self._run(self._query, check, ()))

    def fill(self, read: Callable[[str, Sequence[str]], Iterable[tuple[object, ...]]]) -> None:
        """Fill all tables; `read` yields the rows of a table, given the names of its columns."""
        self._run(self._fill, read)

    def _fill(self, read: Callable[[str, Sequence[str]], Iterable[tuple[object, ...]]]) -> None:
        db = self._begin_write()
        for (table,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
            marks = ", ".join("?" * len(columns))
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            db.executemany(statement, read(table, columns))
        self._commit()

    def _error_class(self, error: Exception) -> type[StoreError]:
        return DamagedError if sqlite_error_messages.is_damage(error) else StoreError

    def _explain(self, error: Exception) -> str:
        return sqlite_error_messages.explain_error(error, self.path)
