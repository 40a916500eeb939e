"""The PostgreSQL back end, which keeps the event logs of studies on a server, through psycopg.

A transaction takes two round trips: the first takes an advisory lock and reads new rows, the second
inserts and commits. Each sends one string of several statements. psycopg's pipeline mode would cost
a third more, and its last message would reset the server's idle-in-transaction timeout. All tables
are in the schema `keyhole`.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from keyhole.extras import missing_extra_error
from keyhole.study.storage import schema, store
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.study.storage.sqlite import Sqlite

if TYPE_CHECKING:
    import psycopg

_SQL: Final = schema.POSTGRES
_COLUMN_COUNT: Final = len(store.Row._fields) + 1  # the digest is the last column
_BATCH_SIZE: Final = 4096  # rows that the server sends together in a backup
_NEEDS_SESSION: Final = (
    "the address is that of a pool which changes sessions between transactions: a study needs a "
    "session-level pool (in pgbouncer pool_mode = session), or the server's own address"
)
_ADVICE: Final = {
    "23505": "another process has used this number or key: try again",  # unique violation
    "53100": "make room on the server's disk",  # disk full
    "42501": "the user must be allowed to write to schema keyhole, or to create it",  # privilege
    # A prepared statement exists already, or is missing: the pool has changed the session.
    "42P05": _NEEDS_SESSION,
    "26000": _NEEDS_SESSION,
    # Any other error.
    None: "if a write was under way, open the study again to see whether it is there",
}
# All applications of a database share the numbers of advisory locks. Our locks have this class.
_LOCK_CLASS: Final = int.from_bytes(b"Keyh")
_MIGRATION_LOCK: Final = int.from_bytes(b"Keyhole")


class Postgres(store.Store):
    """A store on a PostgreSQL server."""

    dialect = schema.DIALECTS["postgres"]

    def __init__(self, address: str) -> None:
        super().__init__()
        try:
            with FORK_LOCK.shared():  # a child must not inherit a half-imported module
                import psycopg
        except ImportError as error:
            raise missing_extra_error("postgres", "storage on PostgreSQL", error) from None
        self._driver = psycopg
        self._address = address
        self.driver_errors = (psycopg.Error, OSError)
        try:
            parameters = psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.ProgrammingError as error:
            raise ValueError(f"storage must be an address of PostgreSQL: {error}") from None
        self._parameters = _SQL["connection"] | parameters | {"client_encoding": "UTF8"}
        self.where = _format_address(parameters)
        self._db: psycopg.Connection | None = None
        self._has_tables = False  # if true, a new connection only checks the version
        FORK_LOCK.add(self)
        self._run(self._connect_if_needed)

    def connect_another(self) -> "Postgres":
        """Return another connection to the same server."""
        new_store = Postgres(self._address)
        new_store._share_studies(self)
        return new_store

    def _query(self, sql: str, values: tuple[object, ...]) -> list[store.Record]:
        return self._execute_first(sql, values, binary=True).fetchall()

    def _begin_write(self) -> "psycopg.Connection":
        db = self._execute_first(_SQL["begin_write"]).connection
        self._check_version(self._read_version(db))
        return db

    def _lock(self, study: int, first_seq: int) -> store.LogQueryResult:
        # The server queues sessions that wait for an advisory lock. With a row lock, the session
        # that has just released it would get it again before a waiting session wakes up.
        lock = f"SELECT pg_advisory_xact_lock({_LOCK_CLASS}, {study:d})"
        return self._select_events(f"{_SQL['begin_write']}; {lock}; ", study, first_seq)

    def _events_from(self, study: int, first_seq: int) -> store.LogQueryResult:
        return self._select_events("", study, first_seq)

    def _select_events(self, begin_sql: str, study: int, first_seq: int) -> store.LogQueryResult:
        """Return version, definition digest and rows, in one round trip; run `begin_sql` first."""
        identity_sql = f"EXECUTE keyhole_identity({study:d})"
        events_sql = f"EXECUTE keyhole_events_from({study:d}, {first_seq:d})"
        cursor = self._execute_first(f"{begin_sql}{identity_sql}; {events_sql}")
        results = []
        has_next = True
        while has_next:
            if cursor.description:
                results.append(cursor.fetchall())
            has_next = bool(cursor.nextset())
        *_, version_rows, rows = results
        version, digest = next(iter(version_rows), (0, None))
        return store.LogQueryResult(version, digest, rows)

    def _commit(self) -> None:
        self._connect_if_needed().execute("COMMIT")

    def _add_rows(
        self, study: int, rows: Sequence[store.Record], metadata: store.MetadataRows
    ) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * _COLUMN_COUNT
        sql: str = _SQL["append"]
        values: tuple[object, ...] = (study, max(columns[0], default=0), *columns)
        if metadata:
            sql = _SQL["append_metadata"] + sql
            values = (study, *(list(column) for column in zip(*metadata, strict=True)), *values)
        cursor = self._driver.ClientCursor(self._connect_if_needed()).execute(sql, values)
        while cursor.nextset():
            pass
        if cursor.statusmessage != "COMMIT":
            raise self._driver.OperationalError("the server has rolled the transaction back")

    def _copy_to_sqlite(self, path: Path) -> None:
        db = self._execute_first("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").connection
        self._check_version(self._read_version(db))
        with closing(Sqlite(path)) as copy:
            copy.fill(self._read_table)
        db.execute("COMMIT")

    def _read_table(self, table: str, columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a table through a server-side cursor."""
        with self._connect_if_needed().cursor(name="keyhole_rows", binary=True) as cursor:
            cursor.itersize = _BATCH_SIZE
            yield from cursor.execute(f"SELECT {', '.join(columns)} FROM keyhole.{table}")

    def _execute_first(
        self, sql: str, values: tuple[object, ...] | None = None, *, binary: bool = False
    ) -> "psycopg.Cursor":
        """Execute the first statements of an operation, and again if the connection was lost."""
        db = self._db
        if db is not None and self._is_idle(db):
            try:
                return db.execute(sql, values, binary=binary)
            except self._driver.OperationalError:
                if not db.closed:
                    raise
            # Nothing has been written yet, so nothing can be written twice.
            self._drop_connection()
        return self._connect_if_needed().execute(sql, values, binary=binary)

    def _is_idle(self, db: "psycopg.Connection") -> bool:
        """Return whether a connection is in no transaction."""
        return db.info.transaction_status == self._driver.pq.TransactionStatus.IDLE

    def _rollback_and_unlock(self) -> None:
        if self._db is not None and not self._is_idle(self._db):
            self._db.execute("ROLLBACK")

    def _drop_connection(self) -> None:
        self._next_seq = 0
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def before_fork(self) -> None:
        """Do nothing: the child does not use its parent's connection."""

    def after_fork(self, is_in_operation: bool) -> None:
        """In a forked child, give up the parent's connection without a message to the server."""
        db, self._db = self._db, None
        if db is None:
            return
        # If the connection were collected, it would send a termination message over the parent's
        # socket. This reference is never dropped.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
        # While the child has the socket open, the server would not notice that the parent has
        # ended, and would keep the parent's lock. So /dev/null takes the place of the socket.
        with suppress(self._driver.Error, OSError):
            null_device = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(null_device, db.pgconn.socket, inheritable=False)
            os.close(null_device)

    def _explain_error(self, error: Exception) -> tuple[type[store.StoreError], str]:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        if isinstance(error, ConnectionError):  # nothing was written, so no advice is needed
            return store.StoreError, reason
        advice = _ADVICE.get(getattr(error, "sqlstate", None), _ADVICE[None])
        error_class = store.FinalStoreError if advice == _NEEDS_SESSION else store.StoreError
        return error_class, f"{reason}; {advice}"

    def _connect_if_needed(self) -> "psycopg.Connection":
        """Return the connection; after a failure, a new one."""
        if self._db is None:
            # A child that is forked meanwhile would inherit a socket that `after_fork` cannot see.
            with FORK_LOCK.shared(self):
                # psycopg would forget its own prepared statements after each rollback.
                try:
                    self._db = self._driver.connect(
                        autocommit=True, prepare_threshold=None, **self._parameters
                    )
                except self._driver.OperationalError as error:
                    raise ConnectionError(error) from error
            try:
                self._set_up_session(self._db)
            except BaseException:
                self._drop_connection()
                raise
        return self._db

    def _set_up_session(self, db: "psycopg.Connection") -> None:
        """Check or migrate the tables, and prepare settings and statements of the session."""
        if (encoding := db.info.parameter_status("server_encoding")) != "UTF8":
            raise ValueError(
                f"storage must be a database with the encoding UTF8, got {self.where}, which has "
                f"{encoding}: create one, CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            )
        if self._has_tables:
            self._check_version(self._read_version(db))
        else:
            self._migrate(db)
        for name in ("set_up_session", "prepare_append", "prepare_identity"):
            db.execute(_SQL[name])
        events_query = self._sql["events_from"] % ("$1", "$2")
        db.execute(f"PREPARE keyhole_events_from (bigint, bigint) AS {events_query}")
        self._has_tables = True

    def _migrate(self, db: "psycopg.Connection") -> None:
        """Create the tables, or migrate them from an older version."""
        version = self._read_version(db)
        schema.check_version(self.where, version)
        if version == len(schema.MIGRATIONS):
            return
        # The session takes the lock before the transaction. Within a transaction, a snapshot of the
        # catalog from before the wait could still be in use. If the migration fails, the session
        # ends, and with it the lock.
        db.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        with db.transaction():
            version = self._read_version(db)
            schema.check_version(self.where, version)
            if version == 0:
                db.execute("CREATE SCHEMA keyhole")
                db.execute("CREATE TABLE keyhole.version (version INTEGER NOT NULL)")
                db.execute("INSERT INTO keyhole.version VALUES (0)")
            else:
                db.execute(_SQL["lock_for_migration"])
            schema.migrate(db.execute, version, self.dialect)
            db.execute("UPDATE keyhole.version SET version = %s", (len(schema.MIGRATIONS),))
        db.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))

    def _read_version(self, db: "psycopg.Connection") -> int:
        """Return the version of the schema, 0 if there is none."""
        has_schema, version_table = db.execute(_SQL["find_tables"]).fetchone() or (False, None)
        if has_schema and version_table is None:
            raise ValueError(
                f"storage must be a database whose schema keyhole is ours, got {self.where}, "
                "where it is another application's"
            )
        if not has_schema:
            return 0
        version_row = db.execute("SELECT version FROM keyhole.version").fetchone()
        return version_row[0] if version_row else 0


def _format_address(parameters: Mapping[str, object]) -> str:
    """Return an address for messages: user, hosts, ports and database, but no password."""
    hosts = str(parameters.get("host") or parameters.get("hostaddr") or "").split(",")
    ports = str(parameters.get("port", "")).split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    pairs = zip_longest(hosts, ports, fillvalue="")
    servers = ",".join(f"{host}:{port}".removesuffix(":") for host, port in pairs)
    user = f"{parameters.get('user', '')}@".removeprefix("@")
    return f"postgresql://{user}{servers}/{parameters.get('dbname', '')}"
