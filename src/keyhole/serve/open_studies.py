"""The open studies of a service, opened when asked for and closed when others are needed."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Final, TypeVar

from keyhole.serve.bodies import JsonObject
from keyhole.serve.settings import Settings, load_policies
from keyhole.study import AsyncStudy, StoreError, Study, UnknownStudyError
from keyhole.study.log_export import EventFormatter
from keyhole.validate import check_line

_LOG: Final = logging.getLogger("keyhole.serve")
_BATCH_SIZE: Final = 10_000  # events that are read together
_Result = TypeVar("_Result")


class HistoryReader:
    """Reads the log of a study as named values, and goes on where the last call ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._formatter: EventFormatter | None = None  # None after an error: it may be half changed
        self._last_seq = 0  # of the last event that the formatter has read

    def read(self, study: Study, after: int, limit: int) -> list[JsonObject]:
        """Return at most `limit` events after a number; events before it are read first."""
        with self._lock:
            formatter = self._formatter
            self._formatter = None
            if formatter is None or after < self._last_seq:
                formatter = EventFormatter(study.definition)
                self._last_seq = 0
            # The formatter takes names of arms and decisions from the events before.
            while self._last_seq < after:
                if not self._format(formatter, study, min(after - self._last_seq, _BATCH_SIZE)):
                    break
            events = self._format(formatter, study, limit) if self._last_seq == after else []
            self._formatter = formatter
            return events

    def _format(self, formatter: EventFormatter, study: Study, limit: int) -> list[JsonObject]:
        """Return the next events."""
        rows = study.log(after=self._last_seq, limit=limit)
        formatter.metadata = study.metadata(self._last_seq, self._last_seq + len(rows))
        self._last_seq += len(rows)
        return [formatter.words(row) for row in rows]


class OpenStudy:
    """A study that is open or is being opened, with the number of requests that use it."""

    study: AsyncStudy

    def __init__(self, opening: "asyncio.Future[AsyncStudy]") -> None:
        self.opening = opening
        self.user_count = 0
        self.history = HistoryReader()


class OpenStudies:
    """Studies by name, the last used at the end; at most `max_open` are open at once."""

    def __init__(self, settings: Settings) -> None:
        self._storage = settings.storage
        self._policies = load_policies(settings)
        self._max_open = settings.max_open
        self._entries: OrderedDict[str, OpenStudy] = OrderedDict()
        # No more requests than that use studies at once: one can always be closed for a new one.
        self._slots = asyncio.Semaphore(settings.max_open)

    @property
    def in_memory(self) -> list[Study]:
        """The studies that are open now."""
        entries = self._entries.values()
        return [entry.study.study for entry in entries if hasattr(entry, "study")]

    async def use(self, name: str, handle: Callable[[OpenStudy], Awaitable[_Result]]) -> _Result:
        """Return the result of a function of a study, which is open meanwhile."""
        async with self._slots:
            entry = self._entries.get(name)
            if entry is None:
                entry = OpenStudy(asyncio.ensure_future(self._open(name)))
                self._entries[name] = entry
            self._entries.move_to_end(name)
            entry.user_count += 1
            try:
                # Shielded: other requests may wait for it when this one is cancelled.
                entry.study = await asyncio.shield(entry.opening)
                return await handle(entry)
            except (StoreError, UnknownStudyError):
                # The study may have been replaced or deleted: the next request opens it anew.
                if self._entries.get(name) is entry:
                    del self._entries[name]
                raise
            finally:
                entry.user_count -= 1
                await self._close_if_unused(name, entry)

    async def forget(self, name: str) -> None:
        """Remove a study; it is closed once no request uses it."""
        if entry := self._entries.pop(name, None):
            await self._close_if_unused(name, entry)

    async def _open(self, name: str) -> AsyncStudy:
        """Open a study; if too many are open, close those that were used longest ago."""
        for other_name, entry in list(self._entries.items()):
            if len(self._entries) <= self._max_open:
                break
            if not entry.user_count:
                await self.forget(other_name)
        try:
            check_line("name", name)
        except ValueError as error:
            raise UnknownStudyError from error
        try:
            return await AsyncStudy.open(self._storage, name, policies=self._policies)
        except UnknownStudyError:
            raise
        except (ValueError, OSError) as error:  # the file is gone, or the policy not known here
            raise StoreError(str(error)) from error

    async def _close_if_unused(self, name: str, entry: OpenStudy) -> None:
        is_in_use = entry.user_count or self._entries.get(name) is entry
        if is_in_use or not hasattr(entry, "study"):
            return
        try:
            await entry.study.close()
        except Exception as error:  # its events are durable: only a snapshot may be missing
            _LOG.warning("a study was closed without a snapshot", exc_info=error)

    async def close(self) -> None:
        """Close all studies."""
        for name in list(self._entries):
            await self.forget(name)
