"""Output for programs: one line of JSON, in which numbers that are not finite are null."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer


def print_json(content: Any) -> None:
    """Print data as one line of JSON."""
    typer.echo(json.dumps(_plain(content)))


def _plain(content: Any) -> Any:
    """Return data with paths as texts, and null for infinities and NaN."""
    match content:
        case Mapping():
            return {str(name): _plain(value) for name, value in content.items()}
        case list() | tuple():
            return [_plain(value) for value in content]
        case Path():
            return str(content)
        case float() if not math.isfinite(content):
            return None
    return content
