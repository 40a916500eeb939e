"""Tables of one's own: CSV files with named columns, read row by row."""

import csv
import io
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path


def read_text(path: str | PathLike[str]) -> str:
    """Return what a file says.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.

    Returns
    -------
    str
        Its text.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not UTF-8; the message names the line and the byte.
    """
    try:
        data = Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        line = len((data[: error.start] + b".").splitlines())
        byte = data[error.start]
        raise ValueError(
            f"{path}, line {line}: the text must be UTF-8, got byte {byte:#x}"
        ) from None


def read_rows(path: str | PathLike[str], columns: Sequence[str], add: Callable[..., None]) -> None:
    r"""Read a CSV file whose first row names the columns.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8, separated by commas. Blank lines are ignored.
    columns : sequence of str
        Those that are wanted, each once in the file, in any order and case; others are ignored.
    add : callable
        Called for each row with the text of these columns; a ValueError that it raises is reported
        with the file and the line.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column is missing, a row has too few or too many fields, or there is no row; the
        message names the file and the line.

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
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    found = 0
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        for name in columns:
            if header.count(name) != 1:
                raise ValueError(f"the header must have one column {name}, got {header}")
        for row in filter(None, rows):
            if len(row) != len(header):
                raise ValueError(f"the row must have {len(header)} fields, got {len(row)}")
            add(*(row[header.index(name)].strip() for name in columns))
            found += 1
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from None
    if not found:
        raise ValueError(f"{path}: at least one row must follow the header, got none")
