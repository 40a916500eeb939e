"""API keys, each with a right, and a pattern of the studies for which it is valid."""

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import blake2b
from math import inf
from typing import Final

from keyhole.durations import to_seconds
from keyhole.serve.problem_documents import InvalidKeyError, MissingKeyError, MissingRightError
from keyhole.study import StoreError
from keyhole.study.storage import open_store
from keyhole.validation import Range, check_choice, check_line, check_number

RIGHTS: Final = ("read", "decide", "admin")  # each includes those before it
_MAX_AGE: Final = 1.0  # seconds until keys are read again: so long a revoked key may still work
_LIFETIMES: Final = Range(gt=0, le=100 * 365 * 86_400)  # in seconds, up to a century
_ID_LENGTH: Final = 12


@dataclass(frozen=True)
class ApiKey:
    """An API key; only its hash is stored.

    Attributes
    ----------
    digest : str
        The hash of the key, of 256 bits.
    who : str
        The name of the owner, for logs.
    right : str
        "read", "decide" or "admin"; each includes those before it.
    studies : str
        The pattern of the studies that the key sees, such as "shop-*".
    until : float
        The time when the key ends, in seconds since 1970. If it was revoked: minus the time of its
        revocation.
    """

    digest: str
    who: str
    right: str
    studies: str
    until: float

    @property
    def id(self) -> str:
        """The beginning of the hash, which names the key in commands."""
        return self.digest[:_ID_LENGTH]

    def as_json(self) -> dict[str, str]:
        """Return what commands show of the key."""
        time_text = datetime.fromtimestamp(abs(self.until), UTC).isoformat(timespec="seconds")
        entries = {"id": self.id, "who": self.who, "right": self.right, "studies": self.studies}
        return entries | {"until" if self.until > 0 else "revoked": time_text}

    def can_see(self, study: str) -> bool:
        """Return whether the key sees a study."""
        return fnmatchcase(study, self.studies)

    def has_right(self, right: str) -> bool:
        """Return whether the key has a right."""
        return RIGHTS.index(self.right) >= RIGHTS.index(right)

    def check_right(self, right: str) -> None:
        """Refuse a key without the right."""
        if not self.has_right(right):
            raise MissingRightError(f"the key must have the right {right}, got {self.right}")


_LOCAL: Final = ApiKey("", "local", "admin", "*", inf)
"""The key of all requests from this machine while the database has no keys."""
NOBODY: Final = ApiKey("", "", "read", "", inf)
"""The key of requests that need none, or whose key was not accepted."""


def _digest_key(key: str) -> str:
    # Nobody can guess the 256 random bits of a key: a fast hash without salt is enough.
    return blake2b(key.encode(), digest_size=32).hexdigest()


def add_key(
    storage: str, who: str, right: str, studies: str = "*", lifetime: float | str = "365d"
) -> tuple[str, ApiKey]:
    """Add a key to a database; return its text, which is not stored, and the stored key."""
    check_choice("right", right, RIGHTS)
    seconds = check_number("lifetime", to_seconds("lifetime", lifetime), _LIFETIMES)
    check_line("who", who)
    check_line("studies", studies)
    key = f"kh_{secrets.token_urlsafe(32)}"
    api_key = ApiKey(_digest_key(key), who, right, studies, until=time.time() + seconds)
    with closing(open_store(storage)) as store:
        store.add_api_key(astuple(api_key))
    return key, api_key


def read_keys(storage: str) -> dict[str, ApiKey]:
    """Return all keys of a database by their hashes, also those that have ended."""
    with closing(open_store(storage, make=False)) as store:
        return {values[0]: ApiKey(*values) for values in store.api_keys()}


def revoke_key(storage: str, id: str) -> ApiKey:
    """End a key now; its row is kept, since a service needs no key if the database has no rows."""
    matches = [key for key in read_keys(storage).values() if key.id == id]
    if not matches:
        raise ValueError(f"id must be that of a key (keyhole serve key list), got {id!r}")
    with closing(open_store(storage, make=False)) as store:
        store.end_api_key(matches[0].digest, -time.time())
    return matches[0]


class KeyCache:
    """The keys of a database, which are read again after a second."""

    def __init__(self, storage: str, *, needs_key: bool) -> None:
        self._storage = storage
        self._needs_key = needs_key
        self._keys: dict[str, ApiKey] = {}
        self._read_at = -inf
        self._reading = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the keys, unless they were read within the last second."""
        if time.monotonic() < self._read_at + _MAX_AGE:
            return
        async with self._reading:
            now = time.monotonic()
            if now < self._read_at + _MAX_AGE:  # another request has read them
                return
            try:
                self._keys = await asyncio.to_thread(read_keys, self._storage)
            except ValueError as error:  # the file is gone
                raise StoreError(str(error)) from error
            self._read_at = now

    async def find(self, headers: Mapping[str, str]) -> ApiKey:
        """Return the key in the headers of a request; raise an error if it is missing or invalid.

        While the database has no keys, a request from this machine needs none, unless `needs_key`
        is set.
        """
        await self.refresh()
        if not self._keys and not self._needs_key:
            _refuse_foreign_site(headers)
            return _LOCAL
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise MissingKeyError("send a key: Authorization: Bearer kh_...")
        api_key = self._keys.get(_digest_key(key))
        if api_key is None or api_key.until <= time.time():
            raise InvalidKeyError("send another key: Authorization: Bearer kh_...")
        return api_key


def _refuse_foreign_site(headers: Mapping[str, str]) -> None:
    """Refuse a request that a page of another site sends from a browser on this machine."""
    host = headers.get("host", "")
    origin = f"http://{host}"
    # The first is the host's name if the header has no port, and the second if it has one.
    names = (host.strip("[]"), host.rsplit(":", 1)[0].strip("[]"))
    if not any(map(is_loopback, names)) or headers.get("origin", origin) != origin:
        raise MissingKeyError("without keys only programs on this machine are answered")


def is_loopback(host: str) -> bool:
    """Return whether a host is reached from this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
