"""Logs as lines of JSON."""

import logging
from datetime import UTC, datetime

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


def make_log_config(level: str) -> dict[str, object]:
    """Return the configuration of all logs of a service: on standard error."""
    handler = {"class": "logging.StreamHandler", "formatter": "json"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": handler},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("keyhole.serve", "uvicorn")
        },
    }
