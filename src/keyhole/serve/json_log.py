"""The logs of a service: lines of JSON on standard error."""

import logging
from datetime import UTC, datetime

import msgspec


class JsonFormatter(logging.Formatter):
    """Formatter that writes a line of JSON for each of a record's `entries`, or one if it has none.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "answer", "levelname": "INFO", "created": 0.0})
    >>> JsonFormatter().format(record)
    '{"time":"1970-01-01T00:00:00+00:00","level":"info","message":"answer"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        entries = getattr(record, "entries", [{}])
        return "\n".join(msgspec.json.encode(content | entry).decode() for entry in entries)


def make_log_config(level: str) -> dict[str, object]:
    """Return the configuration of the logs, for `logging.config`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("keyhole.serve", "uvicorn")
        },
    }
