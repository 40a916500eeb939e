"""Options that several commands have, and examples for their help."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

Threads = Annotated[int | None, typer.Option("--threads", help="By default one per processor.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for the results; if it has results, resume."),
]
On = Annotated[str, typer.Option("--on", help="Where: threads, dask[=ADDRESS] or ray[=ADDRESS].")]
AsLatex = Annotated[
    bool, typer.Option("--latex", help="Print tables for LaTeX, with its package booktabs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _keep_quiet(context: typer.Context, is_quiet: bool) -> bool:
    """Let a quiet command compile without saying so."""
    if is_quiet:
        from keyhole.kernels.compile_cache import quiet_compilation

        context.with_resource(quiet_compilation())
    return is_quiet


Quiet = Annotated[bool, typer.Option("--quiet", help="No progress output.", callback=_keep_quiet)]

Verbose = Annotated[bool, typer.Option("--verbose", help="Print all results, not a summary.")]


def examples_epilog(*lines: str) -> str:
    """Return the end of a help text: examples of a command, one on each line."""
    # The \b keeps the help from joining the lines into a paragraph.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def add_command(app: typer.Typer, *examples: str, name: str | None = None) -> Callable[..., Any]:
    """Return a decorator that makes a function a command, with examples at the end of its help."""
    return app.command(name, epilog=examples_epilog(*examples))
