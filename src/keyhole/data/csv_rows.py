"""Reader of users' CSV files with named columns, whose errors name the file and the line."""

import csv
import io
import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from time import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole import validation
from keyhole.contract.state_arrays import FloatArray
from keyhole.files import decode_text, read_file
from keyhole.text_formatting import count_text, join_words

_MAX_LENGTH: Final = 500  # characters of a message that stands alone
_MAX_LENGTH_OF_SEVERAL: Final = 180  # characters of each message where several are joined
_MAX_NAMED_ROWS: Final = 5  # bad rows that an error names
# After this many bad rows, the rest of a file is not read, because messages take time.
_MAX_BAD_ROWS: Final = 1_000
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Texts, in lower case, that programs write where there is no value.
_PLACEHOLDERS: Final = frozenset(["-", "na", "n/a", "nan", "nat", "null", "none", "\\n"])
# Days that programs write where there is no date: the first and the last days of their calendars,
# and the day from which Unix counts.
_DEFAULT_DAYS: Final = ("0000-00-00", "0001-01-01", "1900-01-01", "1970-01-01", "9999-12-31")
_LEAVE_EMPTY: Final = ": leave the field empty where there is no value"
# Each value of `date_format` for numbers since 1970, and the unit of these numbers.
_EPOCH_UNITS: Final = {"unix": "seconds", "unix_ms": "milliseconds", "unix_us": "microseconds"}
_EPOCH_TIME: Final = re.compile(r"1\d{9}(\d{3}){0,2}(\.\d*)?")  # a time of the years 2001 to 2033
# A time to the second. Midnight does not match, because it may stand for a whole day.
_EXACT_TIME: Final = re.compile(r"\d[T ](?!00:00:00(\.0*)?(?![\d.]))\d\d?:\d\d:\d\d")

Reader = Any
"""What `csv.reader` returns, whose class has no public name."""


def shorten_message(message: str, length: int = _MAX_LENGTH) -> str:
    """Return a message; cut a long one after `length` characters, and append its full length.

    Examples
    --------
    >>> shorten_message("label must be 0 or 1, got " + "9" * 1000)[-42:]
    '9999999999999... (1,026 characters in all)'
    """
    if len(message) <= length:
        return message
    return f"{message[:length]}... ({len(message):,} characters in all)"


def check_column_names(**names: str) -> tuple[str, ...]:
    """Return a user's names of columns, stripped and in lower case; refuse equal names.

    Examples
    --------
    >>> check_column_names(arm="Button ", reward="clicked")
    ('button', 'clicked')
    """
    texts = [validation.check_line(parameter, name) for parameter, name in names.items()]
    return validation.check_distinct(
        join_words(list(names)), [text.strip().lower() for text in texts]
    )


def hint_at_delimiter(header: Sequence[str], *, can_choose_delimiter: bool = False) -> str:
    """Return a hint if a header seems to have an unexpected delimiter; else an empty text.

    `can_choose_delimiter` says whether the user has an option for the delimiter.

    Examples
    --------
    >>> hint_at_delimiter(["arm;reward"]), hint_at_delimiter(["arm", "reward"])
    (': columns must be separated by commas, not semicolons', '')
    >>> hint_at_delimiter(["arm;reward"], can_choose_delimiter=True)
    ": columns are separated by semicolons: give delimiter=';' (in a shell --delimiter ';')"
    """
    # With two columns or more, the delimiter has separated some, and the hint would mislead.
    delimiters = [sign for sign in _DELIMITERS if len(header) == 1 and sign in header[0]]
    if not delimiters:
        return ""
    if can_choose_delimiter:
        option = f"delimiter={delimiters[0]!r} (in a shell --delimiter {delimiters[0]!r})"
        return f": columns are separated by {_DELIMITERS[delimiters[0]]}: give {option}"
    return f": columns must be separated by commas, not {_DELIMITERS[delimiters[0]]}"


def _is_placeholder(text: str) -> bool:
    return text.lower() in _PLACEHOLDERS or text[:10] in _DEFAULT_DAYS


def check_field(name: str, text: str) -> bool:
    """Refuse a placeholder, such as NULL or 1970-01-01; return whether a field has a value.

    Examples
    --------
    >>> check_field("bought_at", "2024-05-31"), check_field("bought_at", "")
    (True, False)
    """
    if _is_placeholder(text):
        raise ValueError(f"{name} must not be a placeholder, got {text!r}{_LEAVE_EMPTY}")
    return bool(text)


def parse_number(
    name: str,
    text: str,
    decimal: str = ".",
    *,
    reason: str = "",
    if_missing: str = "leave the row out",
) -> float:
    """Return the finite number in a field; errors name its column.

    In an error, `reason` says why there must be a number, such as ", since unit is a number". If
    the field has no value, `if_missing` says what to do with the row.

    Examples
    --------
    >>> parse_number("cost", "0.5"), parse_number("cost", "0,5", decimal=",")
    (0.5, 0.5)
    """
    validation.check_choice("decimal", decimal, (".", ","))
    # Texts with these signs would be misread: Python takes 1_0 for 10, and 1.234 may mean 1,234
    # where the decimal sign is a comma.
    ambiguous_signs = "_" if decimal == "." else "_."
    try:
        value = math.nan if set(ambiguous_signs) & set(text) else float(text.replace(decimal, "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        hint = f": {if_missing} where there is none" if not text or _is_placeholder(text) else ""
        if decimal == "." and re.fullmatch(r"-?\d+,\d+", text):
            hint = "; if this is a decimal comma, give decimal=',' (in a shell --decimal ,)"
        separator = "," if decimal == "." else "."  # of thousands
        if re.fullmatch(rf"-?\d{{1,3}}(\{separator}\d{{3}})+(\{decimal}\d+)?", text):
            hint += f"; if {separator!r} separates thousands, leave it out of numbers"
        raise ValueError(f"{name} must be a number{reason}, got {text!r}{hint}")
    return value


class DateParser:
    """Parser of the dates in one file, which turns them into seconds since 1970.

    Either all dates of the file have a time zone or none has; without time zones, UTC is assumed.

    Parameters
    ----------
    date_format : str, optional
        The form of dates, in the codes of `datetime.strptime`; by default ISO 8601. It is never
        guessed: 05.06.2024 is a day in May for some, and in June for others. "unix", "unix_ms" and
        "unix_us" are numbers of seconds, milliseconds and microseconds since 1970.

    Examples
    --------
    >>> DateParser().parse_seconds("day", "1970-01-02")
    86400.0
    >>> DateParser("%d.%m.%Y").parse_seconds("day", "2.1.1970")
    86400.0
    >>> DateParser("unix_ms").parse_seconds("day", "1717142400500")
    1717142400.5
    """

    def __init__(self, date_format: str | None = None) -> None:
        if "%Z" in (date_format or ""):
            raise ValueError(
                "date_format must have %z, for offsets such as +02:00, and not %Z, for names of "
                f"time zones, whose clocks show some hours twice; got {date_format!r}"
            )
        self._format = date_format
        self._has_zone: bool | None = None

    def parse_seconds(self, name: str, text: str) -> float:
        """Return a date as seconds since 1970; errors name its column."""
        date = self._parse_datetime(name, text)
        if date.date().isoformat() in _DEFAULT_DAYS:
            raise ValueError(f"{name} must not be a default date, got {text!r}{_LEAVE_EMPTY}")
        has_zone = date.tzinfo is not None
        if self._has_zone is None:
            self._has_zone = has_zone
        if has_zone != self._has_zone:
            raise ValueError(
                f"{name} must have a time zone if, and only if, the times read before it have "
                f"one, got {text!r}"
            )
        seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
        # Times up to a day from now are accepted. A time without a zone may be a local time up to
        # 14 hours ahead of UTC, but is taken as UTC.
        if seconds > time() + 86_400:
            raise ValueError(f"{name} must not lie in the future, got {text!r}{_LEAVE_EMPTY}")
        return seconds

    def _parse_datetime(self, name: str, text: str) -> datetime:
        epoch_format = _find_epoch_format(text)
        try:
            if self._format in _EPOCH_UNITS:
                if epoch_format in (None, self._format):
                    units_per_second = 1000 ** list(_EPOCH_UNITS).index(self._format)
                    return datetime.fromtimestamp(parse_number(name, text) / units_per_second, UTC)
            elif self._format is not None:
                return datetime.strptime(text, self._format)
            elif epoch_format is None:  # Python would read 1710061200000 as a day in 1710
                return datetime.fromisoformat(text)
        except (ValueError, OverflowError, OSError):
            pass
        hint = _LEAVE_EMPTY * _is_placeholder(text)
        if text and not hint:
            hint = "; give the form of the file's dates, such as"
            if epoch_format:
                hint = f": it looks like {_EPOCH_UNITS[epoch_format]} since 1970; give"
            hint += f" date_format={epoch_format or '%d.%m.%Y %H:%M'!r} (in a shell --date-format)"
        form = "such as 2024-05-31" if self._format is None else f"as {self._format!r} says"
        raise ValueError(f"{name} must be a date {form}, got {text!r}{hint}")


def _find_epoch_format(text: str) -> str | None:
    """Return the format, such as "unix_ms", of a text that may be a time since 1970; else None."""
    # Times in seconds have 10 digits before the point, in milliseconds 13, in microseconds 16.
    digit_count = len(text.partition(".")[0])
    return list(_EPOCH_UNITS)[(digit_count - 10) // 3] if _EPOCH_TIME.fullmatch(text) else None


def identify_by_time(*texts: str) -> tuple[str, ...] | None:
    """Return the texts of a row, which identify it if one is a time to the second; else None.

    Two rows seldom have the same second, so rows with equal texts are probably repetitions.

    Examples
    --------
    >>> identify_by_time("red", "2024-05-31 18:30:07"), identify_by_time("red", "2024-05-31 18:30")
    (('red', '2024-05-31 18:30:07'), None)
    """
    for text in texts:
        if _EXACT_TIME.search(text) or (_EPOCH_TIME.fullmatch(text) and float(text) % 86_400):
            return texts
    return None


def parse_time_and_delay(
    parse_time: Callable[[str, str], float], columns: Sequence[str], start_text: str, end_text: str
) -> tuple[float, float]:
    """Return the start time and the delay until the end, infinite if `end_text` is empty.

    `parse_time` takes the name of a column and a field; `columns` are those of start and end.

    Examples
    --------
    >>> columns = ["shown_at", "bought_at"]
    >>> [parse_time_and_delay(parse_number, columns, "5", text) for text in ("7", "")]
    [(5.0, 2.0), (5.0, inf)]
    """
    start = parse_time(columns[0], start_text)
    if not check_field(columns[1], end_text):
        return start, math.inf
    delay = parse_time(columns[1], end_text) - start
    if delay < 0:
        error = f"{columns[1]} must not be before {columns[0]}, {start_text}; got {end_text}"
        if ":" in start_text:
            error += "; a date alone means midnight, and times need offsets where clocks change"
        raise ValueError(error)
    return start, delay


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file in UTF-8; a decoding error names the line and the byte."""
    return decode_text(read_file(Path(path), "a text file"), path)


def make_row_reader(text: str, delimiter: str = ",") -> Reader:
    """Return the reader of the rows of a file's text."""
    character = delimiter.replace("\\t", "\t")  # as one types a tab in a shell
    if len(character) != 1 or character in ' "\r\n':
        raise ValueError(f"delimiter must be one character, such as ';', got {delimiter!r}")
    # Without `strict`, a quotation mark that is never closed would begin a field that ends with the
    # file. With it, such a mark is an error.
    file = io.StringIO(text, newline="")
    return csv.reader(file, delimiter=character, strict=True, skipinitialspace=True)


@contextmanager
def add_line_to_errors(path: str | PathLike[str], reader: Reader) -> Iterator[None]:
    """Put the file and the current line before the message of an error about a row."""
    try:
        yield
    except (csv.Error, ValueError) as error:
        text = shorten_message(_row_error_message(error))
        raise ValueError(f"{path}, line {reader.line_num}: {text}") from None


def _row_error_message(error: Exception) -> str:
    if isinstance(error, csv.Error):
        return f"the row must be valid CSV, got an error: {error}"
    return str(error)


def for_each_row(
    path: str | PathLike[str], reader: Reader, field_count: int, add: Callable[[list[str]], None]
) -> None:
    """Call `add` with each row after the header, except blank rows.

    A row is bad if it does not have `field_count` fields, or if `add` raises a ValueError. After
    all rows are read, a ValueError names the first five bad ones by their lines, and says how many
    more there are. Reading ends early after 1,000 bad rows, and at text that is not CSV.
    """
    errors: list[tuple[int, str]] = []
    has_rows = False
    try:
        for row in filter(None, reader):
            has_rows = True
            try:
                if len(row) != field_count:
                    raise ValueError(f"the row must have {field_count} fields, got {len(row)}")
                add(row)
            except ValueError as error:
                # Of further bad rows only the number is told, so their messages are not kept.
                message = str(error) if len(errors) < _MAX_NAMED_ROWS else ""
                errors.append((reader.line_num, message))
                if len(errors) == _MAX_BAD_ROWS:
                    break
    except csv.Error as error:  # the text that follows cannot be divided into rows
        errors.append((reader.line_num, _row_error_message(error)))
    if errors:
        raise ValueError(f"{path}, {_join_errors(errors)}")
    if not has_rows:
        raise ValueError(f"{path}: at least one row must follow the header, got none")


def _join_errors(errors: Sequence[tuple[int, str]]) -> str:
    """Return the first five errors with their lines, and how many more there are."""
    length = _MAX_LENGTH if len(errors) == 1 else _MAX_LENGTH_OF_SEVERAL
    named_errors = errors[:_MAX_NAMED_ROWS]
    texts = [f"line {line}: {shorten_message(text, length)}" for line, text in named_errors]
    if more_count := len(errors) - len(texts):
        at_least = "at least " * (len(errors) == _MAX_BAD_ROWS)
        texts.append(f"and {at_least}{count_text(more_count, 'more row')}")
    return "; ".join(texts)


def read_rows(
    path: str | PathLike[str],
    columns: Sequence[str],
    add: Callable[..., None],
    optional: Sequence[str] = (),
    *,
    delimiter: str = ",",
    hint: str = "",
    identify: Callable[..., Hashable] = lambda *_: None,
    identity_name: str = "the times and the arm",
    is_key: bool = False,
    nonempty: Sequence[str] = (),
) -> None:
    r"""Read a CSV file whose first row names the columns; call `add` with the fields of each row.

    The header may name columns in any order, in upper or lower case. It must have each of `columns`
    once; columns of `optional` may be missing. Other columns and blank lines are ignored. The
    arguments of `add` are the texts of the columns and of the optional ones; the text of a missing
    column is empty. Fields of the columns in `nonempty` must not be empty. Errors about the header
    and about rows, also those that `add` raises, name the file and the line; `for_each_row` says
    how bad rows are reported. `hint` ends an error about the header.

    `identify` takes the same arguments as `add`, and returns the identity of a row: a value that
    should differ by row, or a false value for a row that may equal others, such as one that names
    nobody. Messages call it `identity_name`. With `is_key`, rows that repeat an identity are
    refused. Without it, they are accepted, and a warning counts them, and names the line of the
    first repetition.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("Name,age\ncat,3\n\ndog,5\n")
    ...     read_rows(path, ["age", "name"], lambda age, name: print(name, age))
    cat 3
    dog 5
    """
    text = read_text(path)
    if not text.strip():
        raise ValueError(f"{path}: the file must start with a header, got an empty file")
    rows = make_row_reader(text, delimiter)
    with add_line_to_errors(path, rows):
        header = [name.strip().lower() for name in next(filter(None, rows), [])]
        for name in (*columns, *optional):
            if header.count(name) != 1 and (name in columns or name in header):
                advice = hint_at_delimiter(header, can_choose_delimiter=True) or hint
                raise ValueError(f"the header must have one column {name}, got {header}{advice}")

    first_lines: dict[Hashable, int] = {}
    repeat_lines: list[int] = []

    def add_row(row: list[str]) -> None:
        fields = {name: text.strip() for name, text in zip(header, row, strict=True)}
        if empty_names := [name for name in nonempty if not fields[name]]:
            raise ValueError(f"{empty_names[0]} must not be empty, got ''")
        texts = [fields.get(name, "") for name in (*columns, *optional)]
        if identity := identify(*texts):
            # A hash takes less memory than the texts, and a file may have millions of rows.
            known_identity = identity if is_key else hash(identity)
            first_line = first_lines.setdefault(known_identity, rows.line_num)
            if first_line < rows.line_num and is_key:
                raise ValueError(
                    f"{identity_name} must differ by row, got {identity!r} as in line {first_line}"
                )
            if first_line < rows.line_num:
                repeat_lines.append(rows.line_num)
        add(*texts)

    for_each_row(path, rows, len(header), add_row)
    if repeat_lines:
        validation.warn_user(
            f"{path}: rows with {identity_name} of an earlier one: {len(repeat_lines):,}, the "
            f"first in line {repeat_lines[0]}; each counts, so remove what was recorded or joined "
            "twice"
        )


def check_column(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of a flat list of numbers as floats; refuse an empty list."""
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        got = shorten_message(repr(values))
        raise TypeError(f"{name} must be a flat list of numbers, got {got}")
    if not len(column):
        raise ValueError(f"{name} must have at least one entry, got none")
    column = column.astype(np.float64)
    column.setflags(write=False)
    return column


def check_whole_numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array of integers; refuse all other types, also floats that are whole numbers."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got {numbers.dtype}")
    return numbers


def check_arm_columns(
    name: str,
    lists: Sequence[Any],
    arms: Sequence[str],
    check: Callable[[str, Any], FloatArray] = check_column,
) -> tuple[FloatArray, ...]:
    """Return a checked list of numbers for each arm."""
    if len(lists) != len(arms):
        raise ValueError(f"{name} must have one list for each arm, {len(arms)}; got {len(lists)}")
    return tuple(check(f"{name}[{arm}]", values) for arm, values in enumerate(lists))


def read_rewards_csv(
    path: str | PathLike[str], *, delimiter: str = ",", decimal: str = "."
) -> dict[str, list[float]]:
    r"""Read recorded rewards from a CSV file with one row for each reward.

    The first row names the columns: ``arm`` and ``reward``; other columns and blank lines are
    ignored. The problems' ``replay`` accepts the result. If outcomes take time, leave out rows that
    are too young to have an outcome, because nothing in the file tells "not yet" from "never".

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    delimiter : str, default ","
        The sign between columns.
    decimal : {".", ","}, default "."
        The decimal sign.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "adverts.csv")
    ...     _ = path.write_text("arm,reward\nred,1\nblue,0.5\nred,0\n")
    ...     rewards = read_rewards_csv(path)
    >>> rewards
    {'red': [1.0, 0.0], 'blue': [0.5]}
    >>> from keyhole.stochastic import Problem
    >>> Problem.replay(rewards).means
    array([0.5, 0.5])
    """
    return read_rewards(path, validation.ANY, delimiter=delimiter, decimal=decimal)


def read_rewards(
    path: str | PathLike[str],
    allowed: validation.Range,
    *,
    delimiter: str = ",",
    decimal: str = ".",
) -> dict[str, list[float]]:
    """Return recorded rewards in a range; errors name the file and the line."""
    rewards_by_arm: dict[str, list[float]] = {}

    def add(arm: str, reward: str) -> None:
        value = parse_number("reward", reward, decimal)
        rewards_by_arm.setdefault(arm, []).append(validation.check_number("reward", value, allowed))

    read_rows(path, ("arm", "reward"), add, delimiter=delimiter, nonempty=("arm",))
    validation.check_names("arms", rewards_by_arm)
    return rewards_by_arm
