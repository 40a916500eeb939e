"""Options that several commands have."""

from typing import Annotated

import typer

Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads; by default one for each processor.")
]
