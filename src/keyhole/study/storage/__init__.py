"""Storage of studies (policies that decide for real): event logs in SQLite or PostgreSQL."""

from keyhole.study.storage.backup import backup
from keyhole.study.storage.errors import DamagedError, StoreError
from keyhole.study.storage.rows import Row
from keyhole.study.storage.store import Store
from keyhole.study.storage.store_factory import normalize_address, open_store

__all__ = [
    "DamagedError",
    "Row",
    "Store",
    "StoreError",
    "backup",
    "normalize_address",
    "open_store",
]
