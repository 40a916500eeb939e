"""Logs as lines of JSON."""

import asyncio
import logging
import os
from datetime import UTC, datetime
from typing import TextIO

import msgspec


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON, with the fields that it was given.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "answer", "levelname": "INFO", "created": 0.0})
    >>> JsonFormatter().format(record)
    '{"time":"1970-01-01T00:00:00+00:00","level":"info","message":"answer"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        content |= getattr(record, "fields", {})
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(content).decode()


class RequestLogHandler(logging.StreamHandler[TextIO]):
    """Writes to standard error, the lines of a turn of the event loop at once.

    To write each by itself would take a tenth of the time of a request.
    """

    def __init__(self) -> None:
        super().__init__(os.fdopen(2, "w", closefd=False))
        self._flushing: asyncio.Handle | None = None

    def flush(self) -> None:
        """Let the event loop write the lines so far at its next turn."""
        try:
            self._flushing = self._flushing or asyncio.get_running_loop().call_soon(self._write)
        except RuntimeError:  # in another thread, or at the end of the process
            self._write()

    def _write(self) -> None:
        self._flushing = None
        super().flush()


def make_log_config(level: str) -> dict[str, object]:
    """Return the configuration of all logs of a service: on standard error."""
    loggers = {"keyhole.serve": "requests", "uvicorn": "stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {
            "requests": {"()": RequestLogHandler, "formatter": "json"},
            "stderr": {"class": "logging.StreamHandler", "formatter": "json"},
        },
        "loggers": {
            name: {"handlers": [handler], "level": level.upper(), "propagate": False}
            for name, handler in loggers.items()
        },
    }
