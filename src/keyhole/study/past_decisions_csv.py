"""Reader of past decisions from a CSV file: each with its reward, or with its times."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from os import PathLike
from typing import Any

from keyhole.data.csv_rows import (
    DateParser,
    check_column_names,
    identify_moment,
    is_filled,
    parse_delay,
    parse_number,
    read_rows,
)
from keyhole.study.past_results import PastDecision
from keyhole.study.storage.rows import LONGEST
from keyhole.validate import check_short_line

Row = tuple[PastDecision, float]
"""A decision with a reward of 1 if it ever converted, and after how many seconds."""


def read_past_decisions(
    path: str | PathLike[str],
    columns: Mapping[str, str],
    check_result: Callable[[str, float], None],
    *,
    delimiter: str,
    date_format: str | None,
    decimal: str,
) -> list[Row]:
    """Return the rows of a file, however old they are; errors name file and line.

    The names of its columns are those of ``arm``, of ``reward`` or ``converted_at``, and, if times
    are known, of ``shown_at`` and ``key``. `check_result` refuses what the study does not have.
    Keys must differ; without them a warning counts rows that repeat times to the second.
    """
    dates = DateParser(date_format)
    rows: list[Row] = []

    def add(*texts: str) -> None:
        fields = dict(zip(columns, texts, strict=True))
        at, delay = 0.0, inf
        if "reward" in fields:
            reward = parse_number(columns["reward"], fields["reward"], decimal)
        else:
            reward = float(is_filled(columns["converted_at"], fields["converted_at"]))
        if "shown_at" in fields:
            names = columns["shown_at"], columns["converted_at"]
            at, delay = parse_delay(
                dates.seconds, names, fields["shown_at"], fields["converted_at"]
            )
        check_result(fields["arm"], reward)
        rows.append((PastDecision(fields["arm"], reward, at, fields.get("key", "")), delay))

    names, key = check_column_names(**columns), columns.get("key")
    form: dict[str, Any] = {"identify": identify_moment}
    if key:
        form = {"identify": lambda *texts: texts[-1], "identity": key, "is_key": True}
    read_rows(path, names, add, delimiter=delimiter, **form)
    return rows


def split_by_age(
    rows: Sequence[Row], window: float, now: float, *, keep_pending: bool
) -> list[PastDecision]:
    """Return decisions in the order of time, with what is known of them in their window.

    Those whose window was not over at the last time in the file are left out if they have no key,
    or if no decision may be pending.
    """
    rows = sorted(rows, key=lambda row: row[0].at)
    first = rows[0][0].at
    last = max(decision.at + (delay if delay < inf else 0) for decision, delay in rows)
    if first <= 0 or last > now:
        raise ValueError(
            f"times must lie between 1970 and now, {_format(now)}, and are UTC where they have no "
            f"zone; got {_format(first)} to {_format(last)}"
        )
    if first + window > last:
        raise ValueError(
            f"the window of a decision must be over, {window / 86400:g} days; got times from "
            f"{_format(first)} to {_format(last)} alone"
        )
    past = []
    for decision, delay in rows:
        is_converted = delay <= window
        if decision.at + window <= last or (is_converted and keep_pending and decision.key):
            past.append(decision._replace(reward=float(is_converted), key=""))
        elif keep_pending and decision.key:
            past.append(decision._replace(reward=None))
    for decision in past:
        if decision.reward is None:
            check_short_line("key", decision.key, LONGEST)
    return past


def _format(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%F %H:%M} UTC"
