"""The open studies of a service: opened when needed, closed to make room for others."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from keyhole.experiment.objects_from_spec import import_user_policies
from keyhole.study import AsyncStudy, StoreError, Study, UnknownStudyError
from keyhole.study.log_export import LogReader
from keyhole.validation import check_line

_LOG: Final = logging.getLogger("keyhole.serve")


class OpenStudy(AsyncStudy):
    """A study that is open or is being opened, with the number of requests that use it.

    Once the study is open, it has an attribute `study`.
    """

    opening: "asyncio.Future[None]"

    def __init__(self, open_study: Callable[[], Study]) -> None:
        super().__init__(open_study)
        self.user_count = 0
        self.log_reader = LogReader()


class OpenStudies:
    """The open studies of a process, at most `max_open`, which close at the end of ``async with``.

    They are kept by name, the last used at the end.
    """

    def __init__(self, storage: str, user_policies: list[str], max_open: int) -> None:
        self._storage = storage
        self._policies = import_user_policies(user_policies)
        self._max_open = max_open
        self._studies: OrderedDict[str, OpenStudy] = OrderedDict()
        # A request needs one of `max_open` slots to open or use a study. So if `max_open` studies
        # are open when a request opens another, at least one of them is unused, and can be closed.
        self._slots = asyncio.Semaphore(max_open)

    @property
    def in_memory(self) -> list[Study]:
        """The studies that are open now; any thread may read this list."""
        return [study.study for study in list(self._studies.values()) if hasattr(study, "study")]

    async def use(self, name: str, handle: Callable[[OpenStudy], Awaitable[object]]) -> object:
        """Call a function with a study, which stays open during the call; return the result."""
        async with self._slots:
            study = self._studies.get(name)
            # If a study failed to open, it is opened again: the failure may have been temporary.
            if study is None or (study.opening.done() and not hasattr(study, "study")):
                study = OpenStudy.open(self._storage, name, policies=self._policies)
                study.opening = asyncio.ensure_future(self._open(name, study))
                self._studies[name] = study
            self._studies.move_to_end(name)
            study.user_count += 1
            try:
                # Shielded: if this request is cancelled, others may still wait for the study.
                await asyncio.shield(study.opening)
                return await handle(study)
            except (StoreError, UnknownStudyError):
                # The study may have been replaced or deleted: the next request opens it anew.
                if self._studies.get(name) is study:
                    del self._studies[name]
                raise
            finally:
                study.user_count -= 1
                await self._close_if_unused(name, study)

    async def forget(self, name: str) -> None:
        """Remove a study; it is closed once no request uses it."""
        if study := self._studies.pop(name, None):
            await self._close_if_unused(name, study)

    async def _open(self, name: str, new_study: OpenStudy) -> None:
        """Open a study; if too many are open, close unused ones, the longest unused first."""
        for other_name, study in list(self._studies.items()):
            if len(self._studies) <= self._max_open:
                break
            if not study.user_count:
                await self.forget(other_name)
        try:
            check_line("name", name)
        except ValueError as error:
            raise UnknownStudyError from error
        try:
            await new_study
        except UnknownStudyError:
            raise
        except (ValueError, OSError) as error:  # the file is gone, or the policy is not known here
            raise StoreError(str(error)) from error

    async def _close_if_unused(self, name: str, study: OpenStudy) -> None:
        is_in_use = study.user_count or self._studies.get(name) is study
        if not is_in_use and hasattr(study, "study"):
            try:
                await study.close()
            except Exception as error:  # the events are durable: only a snapshot may be missing
                _LOG.warning("a study was closed without a snapshot", exc_info=error)

    async def __aenter__(self) -> None:
        """Open nothing: a study is opened when it is needed."""

    async def __aexit__(self, *_: object) -> None:
        """Close all studies."""
        for name in list(self._studies):
            await self.forget(name)
