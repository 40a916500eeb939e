"""Options that several commands have, and examples for their help."""

from pathlib import Path
from typing import Annotated

import typer

Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads; by default one for each processor.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for the results; the same one resumes."),
]
On = Annotated[str, typer.Option("--on", help="Where: threads, dask[=ADDRESS] or ray[=ADDRESS].")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]


def show_examples(*lines: str) -> str:
    """Return the end of a help text: examples of a command, a line each."""
    # Without the \b the help would join the lines into a paragraph.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
