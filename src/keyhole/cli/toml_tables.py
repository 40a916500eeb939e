"""Tables of the TOML file that describes a study."""

import tomllib
from pathlib import Path
from typing import Any

from keyhole.files import explain_read_error
from keyhole.validate import short_repr


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; refuse one that is not valid, by its name."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    # tomllib parses by recursion: without this, deep nesting would end in a traceback.
    except RecursionError:
        raise ValueError(f"{path} is not valid TOML: it is nested too deeply") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {explain_read_error(error)}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from error


def check_table(name: str, value: object) -> dict[str, Any]:
    """Return a table of a TOML file; refuse another value."""
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a table, got {short_repr(value)}")
    return dict(value)
