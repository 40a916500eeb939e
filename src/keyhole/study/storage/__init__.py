"""Storage of studies: event logs in SQLite or PostgreSQL."""

from keyhole.study.storage.store import DamagedError, Row, Store, StoreError
from keyhole.study.storage.store_factory import backup, normalize_address, open_store

__all__ = [
    "DamagedError",
    "Row",
    "Store",
    "StoreError",
    "backup",
    "normalize_address",
    "open_store",
]
