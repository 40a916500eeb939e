"""Reader of the user's CSV files with named columns, and its errors."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final

from keyhole.contract.text_formatting import join_words
from keyhole.files import decode_text
from keyhole.validate import check_choice, check_distinct, check_line

_LONGEST: Final = 500  # characters of a message
_START: Final = 100  # characters that remain of a message, if there are several; and its end:
_END: Final = 80
_MOST_NAMED: Final = 5  # rows in an error
_MOST_READ: Final = 1_000  # bad rows, after which a file is not read on: their messages take time
_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_NOTHING: Final = frozenset(["-", "na", "n/a", "nan", "nat", "null", "none", "\\n"])

Reader = Any
"""What `csv.reader` returns, whose class has no public name."""


def shorten_message(message: str) -> str:
    """Return a message, or its first 500 characters and its length.

    Examples
    --------
    >>> shorten_message("label must be 0 or 1, got " + "9" * 1000)[-42:]
    '9999999999999... (1,026 characters in all)'
    """
    if len(message) <= _LONGEST:
        return message
    return f"{message[:_LONGEST]}... ({len(message):,} characters in all)"


def check_column_names(**names: str) -> tuple[str, ...]:
    """Return the names of columns that a user gave, as they are compared; refuse equal ones.

    Examples
    --------
    >>> check_column_names(arm="Button ", reward="clicked")
    ('button', 'clicked')
    """
    texts = [check_line(parameter, name) for parameter, name in names.items()]
    return check_distinct(join_words(list(names)), [text.strip().lower() for text in texts])


def separator_hint(header: Sequence[str], *, is_delimiter_free: bool = False) -> str:
    """Return a hint for an error about a header that is not separated as it must be; else no text.

    Examples
    --------
    >>> separator_hint(["arm;reward"]), separator_hint(["arm", "reward"])
    (': columns must be separated by commas, not semicolons', '')
    >>> separator_hint(["arm;reward"], is_delimiter_free=True)
    ": columns are separated by semicolons: give delimiter=';' (in a shell --delimiter ';')"
    """
    # With two columns or more, the delimiter has separated some, and the hint would mislead.
    for sign, word in _SEPARATORS.items():
        if len(header) != 1 or sign not in header[0]:
            continue
        if is_delimiter_free:
            option = f"delimiter={sign!r} (in a shell --delimiter {sign!r})"
            return f": columns are separated by {word}: give {option}"
        return f": columns must be separated by commas, not {word}"
    return ""


def _nothing_hint(text: str) -> str:
    return ": leave the field empty where there is nothing" if text.lower() in _NOTHING else ""


def is_filled(name: str, text: str) -> bool:
    """Return whether a field is not empty; refuse a word for nothing, such as NULL.

    Examples
    --------
    >>> is_filled("bought_at", "2024-05-31"), is_filled("bought_at", "")
    (True, False)
    """
    if hint := _nothing_hint(text):
        raise ValueError(f"{name} must not be a word for nothing, got {text!r}{hint}")
    return bool(text)


def parse_number(name: str, text: str, decimal: str = ".", *, reason: str = "") -> float:
    """Return the finite number in a field; errors name its column, and a reason to be one.

    Examples
    --------
    >>> parse_number("cost", "0.5"), parse_number("cost", "0,5", decimal=",")
    (0.5, 0.5)
    """
    # Python reads 1_0 as 10; and 1.234 beside decimal commas may mean a thousand.
    misread = "_" if check_choice("decimal", decimal, (".", ",")) == "." else "_."
    try:
        value = math.nan if set(misread) & set(text) else float(text.replace(decimal, "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        hint = _nothing_hint(text)
        if decimal == "." and re.fullmatch(r"-?\d+,\d+", text):
            hint = "; if this is a decimal comma, give decimal=',' (in a shell --decimal ,)"
        raise ValueError(f"{name} must be a number{reason}, got {text!r}{hint}")
    return value


class DateParser:
    """Reads the dates of a file as seconds since 1970.

    Either all have a time zone or none; UTC is assumed where there is none.

    Parameters
    ----------
    date_format : str, optional
        Their form, in the codes of `datetime.strptime`; by default ISO 8601. It is never guessed:
        05.06.2024 is a day in May for some, and in June for others.

    Examples
    --------
    >>> DateParser().seconds("day", "1970-01-02"), DateParser("%d.%m.%Y").seconds("day", "2.1.1970")
    (86400.0, 86400.0)
    """

    def __init__(self, date_format: str | None = None) -> None:
        self._format = date_format
        self._has_zone: bool | None = None

    def seconds(self, name: str, text: str) -> float:
        """Return a date; errors name its column."""
        date = self._parse(name, text)
        has_zone = date.tzinfo is not None
        self._has_zone = has_zone if self._has_zone is None else self._has_zone
        if has_zone != self._has_zone:
            raise ValueError(
                f"{name} must have a time zone if, and only if, the times before it have, "
                f"got {text!r}"
            )
        return (date if has_zone else date.replace(tzinfo=UTC)).timestamp()

    def _parse(self, name: str, text: str) -> datetime:
        try:
            if self._format is None:
                return datetime.fromisoformat(text)
            return datetime.strptime(text, self._format)
        except ValueError:
            hint = _nothing_hint(text)
            if text and not hint:
                hint = (
                    "; give the form of the file's dates, such as date_format='%d.%m.%Y %H:%M' "
                    "(in a shell --date-format)"
                )
            form = "such as 2024-05-31" if self._format is None else f"as {self._format!r} says"
            raise ValueError(f"{name} must be a date {form}, got {text!r}{hint}") from None


def parse_delay(
    parse_time: Callable[[str, str], float], columns: Sequence[str], first: str, second: str
) -> tuple[float, float]:
    """Return a time, and how long after it a second one is: infinite if its field is empty.

    Examples
    --------
    >>> columns = ["shown_at", "bought_at"]
    >>> parse_delay(parse_number, columns, "5", "7"), parse_delay(parse_number, columns, "5", "")
    ((5.0, 2.0), (5.0, inf))
    """
    start = parse_time(columns[0], first)
    if not is_filled(columns[1], second):
        return start, math.inf
    delay = parse_time(columns[1], second) - start
    if delay < 0:
        error = f"{columns[1]} must not be before {columns[0]}, {first}; got {second}"
        if ":" in first:
            error += "; a date alone is its midnight, and times need an offset where clocks change"
        raise ValueError(error)
    return start, delay


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file in UTF-8; a decoding error names the line and the byte."""
    try:
        return decode_text(Path(path).read_bytes(), path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None


def open_rows(text: str, delimiter: str = ",") -> Reader:
    """Return the reader of the rows of a file's text."""
    sign = "\t" if delimiter == "\\t" else delimiter  # as one types a tab in a shell
    if len(sign) != 1 or sign in ' "\r\n':
        raise ValueError(f"delimiter must be one character, such as ';', got {delimiter!r}")
    # Strict: a quotation mark that is never closed is an error, not a field up to the end of the
    # file.
    file = io.StringIO(text, newline="")
    return csv.reader(file, delimiter=sign, strict=True, skipinitialspace=True)


@contextmanager
def errors_at_line(path: str | PathLike[str], reader: Reader) -> Iterator[None]:
    """Let the error of a row, such as the header, name the file and the line."""
    try:
        yield
    except (csv.Error, ValueError) as error:
        text = shorten_message(_row_message(error))
        raise ValueError(f"{path}, line {reader.line_num}: {text}") from None


def _row_message(error: Exception) -> str:
    is_csv = isinstance(error, csv.Error)
    return f"the row must be valid CSV, got an error: {error}" if is_csv else str(error)


def add_rows(
    path: str | PathLike[str], reader: Reader, fields: int, add: Callable[[list[str]], None]
) -> None:
    """Call `add` with each row after the header that is not blank, and has so many fields.

    All rows are read before a ValueError names the first five for which `add` raised one, by their
    lines, and says how many more there are; after 1,000 bad rows the file is not read on.
    """
    errors, rows, found = _RowErrors(), filter(None, reader), False
    is_read = False
    while not is_read:
        try:
            for row in rows:
                found = True
                if len(row) != fields:
                    raise ValueError(f"the row must have {fields} fields, got {len(row)}")
                add(row)
            is_read = True
        except (csv.Error, ValueError) as error:
            errors.add(reader.line_num, _row_message(error))
            # What follows a row that is not valid CSV cannot be told apart into rows.
            is_read = isinstance(error, csv.Error) or errors.count == _MOST_READ
    if errors.count:
        raise ValueError(f"{path}, {errors.text()}")
    if not found:
        raise ValueError(f"{path}: at least one row must follow the header, got none")


def _leave_out_middle(message: str) -> str:
    """Return a message, or its beginning and its end, which has the value."""
    if len(message) <= _START + _END:
        return message
    return f"{message[:_START]} ... {message[-_END:]}"


class _RowErrors:
    """The errors of a file's rows: the first five with their lines, and the number of all."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, message: str) -> None:
        self.count += 1
        if len(self._first) < _MOST_NAMED:
            self._first.append((line, message))

    def text(self) -> str:
        """Return the errors as part of one sentence."""
        shorten = shorten_message if self.count == 1 else _leave_out_middle
        texts = [f"line {line}: {shorten(text)}" for line, text in self._first]
        if more := self.count - len(texts):
            least = "at least " if self.count == _MOST_READ else ""
            texts.append(f"and {least}{more:,} more {'row' if more == 1 else 'rows'}")
        return "; ".join(texts)


def read_rows(
    path: str | PathLike[str],
    columns: Sequence[str],
    add: Callable[..., None],
    optional: Sequence[str] = (),
    *,
    delimiter: str = ",",
    hint: str = "",
) -> None:
    r"""Read a CSV file whose first row names the columns.

    Each of `columns` must occur once, in any order and case; `optional` ones may be missing; other
    columns and blank lines are ignored. `add` is called for each row with the texts of these
    columns, empty for a missing one. All errors, also those of `add`, name the file and the line;
    those of bad rows are the errors of `add_rows`. `hint` ends an error about the header.

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
    rows = open_rows(text, delimiter)
    with errors_at_line(path, rows):
        header = [name.strip().lower() for name in next(filter(None, rows), [])]
        for name in (*columns, *optional):
            if header.count(name) != 1 and (name in columns or name in header):
                reason = separator_hint(header, is_delimiter_free=True) or hint
                raise ValueError(f"the header must have one column {name}, got {header}{reason}")
    wanted = [header.index(name) if name in header else None for name in (*columns, *optional)]

    def add_row(row: list[str]) -> None:
        add(*("" if at is None else row[at].strip() for at in wanted))

    add_rows(path, rows, len(header), add_row)
