"""The open studies of a service, opened when asked for and closed when others are needed."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock
from typing import Final

from keyhole.pages.page import Page
from keyhole.serve.bodies import JsonObject
from keyhole.serve.settings import Settings, load_policies
from keyhole.study import AsyncStudy, StoreError, Study, UnknownStudyError
from keyhole.study.log_export import EventFormatter
from keyhole.validate import check_line

_LOG: Final = logging.getLogger("keyhole.serve")
_BATCH: Final = 10_000  # events that are read at once


class HistoryReader:
    """Reads the log of a study as named values, and goes on where the last call ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._formatter: EventFormatter | None = None
        self._seq = 0

    def read(self, study: Study, after: int, limit: int) -> list[JsonObject]:
        """Return events after a number; what comes before is read if this has not been done."""
        with self._lock:
            # An event is told by the names of earlier ones: its decision, its arms.
            formatter = self._formatter
            if formatter is None or after < self._seq:
                formatter = EventFormatter(study.definition)
                self._seq = 0
            self._formatter = None  # an error may leave it half changed
            while self._seq < after:
                rows = study.log(after=self._seq, limit=min(after - self._seq, _BATCH))
                if not rows:
                    break
                for row in rows:
                    formatter.words(row)
                self._seq = rows[-1].seq
            rows = []
            if self._seq == after:
                rows = study.log(after=after, limit=limit)
                formatter.metadata = study.metadata(after, after + len(rows))
            events = [formatter.words(row) for row in rows]
            self._seq += len(rows)
            self._formatter = formatter
            return events


class OpenStudy:
    """A study that is open, or is being opened, and how many requests use it."""

    study: AsyncStudy

    def __init__(self, opening: "asyncio.Future[AsyncStudy]") -> None:
        self.opening = opening
        self.users = 0
        self.is_kept = True
        self.history = HistoryReader()
        self._page_lock = Lock()
        self._page: Page | None = None
        self._page_seq = 0

    def read_page(self, study: Study) -> tuple[Page, int]:
        """Return the page of the study, and the number of the last event that it shows."""
        with self._page_lock:
            seq = study.event_count
            # Browsers ask every few seconds, mostly when there are no new events.
            if self._page is None or seq != self._page_seq:
                self._page = study.make_page()
                self._page_seq = seq
            return self._page, seq


class OpenStudies:
    """Studies by name, the last one used at the end; at most `max_open` at once."""

    def __init__(self, settings: Settings) -> None:
        self._storage = settings.storage
        self._policies = load_policies(settings)
        self._max_open = settings.max_open
        self._entries: OrderedDict[str, OpenStudy] = OrderedDict()
        # As many requests use studies at once: so there is always one to close for a new one.
        self._slots = asyncio.Semaphore(settings.max_open)

    @property
    def in_memory(self) -> list[Study]:
        """The studies that are open now."""
        entries = self._entries.values()
        return [entry.study.study for entry in entries if hasattr(entry, "study")]

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[OpenStudy]:
        """Hold a study open; it is opened if need be."""
        async with self._slots:
            entry = self._entries.get(name)
            if entry is None:
                entry = OpenStudy(asyncio.ensure_future(self._open(name)))
                self._entries[name] = entry
            self._entries.move_to_end(name)
            entry.users += 1
            try:
                # Shielded: whoever else waits for it still wants it when one request is cancelled.
                entry.study = await asyncio.shield(entry.opening)
                yield entry
            except (StoreError, UnknownStudyError):
                # It may have been replaced or deleted: the next request opens it anew.
                self.forget(name, entry)
                raise
            finally:
                entry.users -= 1
                await self._close_unused(entry)

    def forget(self, name: str, entry: OpenStudy | None = None) -> None:
        """Close a study once nobody uses it; the next request opens it anew."""
        current = self._entries.get(name)
        if current is not None and entry in (None, current):
            del self._entries[name]
            current.is_kept = False

    async def _open(self, name: str) -> AsyncStudy:
        """Open a study; close the one that was used longest ago, if too many are open."""
        for other_name, entry in list(self._entries.items()):
            if len(self._entries) <= self._max_open:
                break
            if not entry.users:
                self.forget(other_name)
                await self._close_unused(entry)
        try:
            check_line("name", name)
        except ValueError as error:
            raise UnknownStudyError(str(error)) from error
        try:
            return await AsyncStudy.open(self._storage, name, policies=self._policies)
        except UnknownStudyError:
            raise
        except (ValueError, OSError) as error:  # the file is gone, or no policy of the service's
            raise StoreError(str(error)) from error

    async def _close_unused(self, entry: OpenStudy) -> None:
        if entry.users or entry.is_kept or not hasattr(entry, "study"):
            return
        try:
            await entry.study.close()
        except Exception as error:  # it is durable without: only a snapshot may be missing
            _LOG.warning("a study was closed without a snapshot", exc_info=error)

    async def close(self) -> None:
        """Close all studies."""
        for name, entry in list(self._entries.items()):
            self.forget(name)
            await self._close_unused(entry)
