"""Reader of the user's CSV files with named columns, and its errors."""

import csv
import io
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from keyhole.contract.text_formatting import join_words
from keyhole.validate import check_distinct, check_line

_LONGEST: Final = 500  # characters of a message


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


def separator_hint(header: Sequence[str]) -> str:
    """Return a hint for an error about a header that is not separated by commas; else no text.

    Examples
    --------
    >>> separator_hint(["arm;reward"]), separator_hint(["arm", "reward"])
    (': columns must be separated by commas, not semicolons', '')
    """
    # With two columns or more, commas have separated some, and the hint would mislead.
    for sign, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and sign in header[0]:
            return f": columns must be separated by commas, not {word}"
    return ""


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file in UTF-8; a decoding error names the line and the byte."""
    try:
        data = Path(path).read_bytes()
        # Spreadsheets write a byte order mark in front, which this encoding removes.
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        # The added byte counts the line of the error even if the error is at its beginning.
        line = len((data[: error.start] + b".").splitlines())
        byte = data[error.start]
        raise ValueError(
            f"{path}, line {line}: the text must be UTF-8, got byte {byte:#x}"
        ) from None


def read_rows(
    path: str | PathLike[str],
    columns: Sequence[str],
    add: Callable[..., None],
    optional: Sequence[str] = (),
) -> None:
    r"""Read a CSV file whose first row names the columns.

    Each of `columns` must occur once, in any order and case; `optional` ones may be missing; other
    columns and blank lines are ignored. `add` is called for each row with the texts of these
    columns, empty for a missing one. All errors, also those of `add`, name the file and the line.

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
    # Strict: a quotation mark that is never closed is an error, not a field up to the end of the
    # file.
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    found = 0
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        for name in (*columns, *optional):
            if header.count(name) != 1 and (name in columns or name in header):
                raise ValueError(
                    f"the header must have one column {name}, got {header}{separator_hint(header)}"
                )
        wanted = [header.index(name) if name in header else None for name in (*columns, *optional)]
        for row in filter(None, rows):
            if len(row) != len(header):
                raise ValueError(f"the row must have {len(header)} fields, got {len(row)}")
            add(*("" if at is None else row[at].strip() for at in wanted))
            found += 1
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {shorten_message(str(error))}") from None
    if not found:
        raise ValueError(f"{path}: at least one row must follow the header, got none")
