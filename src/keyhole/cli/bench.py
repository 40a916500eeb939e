"""`bench`: run the benchmark, and print who is best in which situation."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.options import Threads
from keyhole.cli.terminal_output import print_heading
from keyhole.extras import require_extra


def run_bench(
    setting: Annotated[str | None, typer.Argument(help="One setting; by default all.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    scale: Annotated[str, typer.Option("--scale", help="quick or paper.")] = "quick",
    problems: Annotated[
        list[str] | None,
        typer.Option("--problems", help="A pattern of names, tuning or judging; repeatable."),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option("--policies", help="A name, or your FILE.py:CLASS; repeatable."),
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", help="A results file to show beside; repeatable."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Compare policies on a fixed list of problems."""
    if out is None:
        raise ValueError("--out must be given: a folder for the results")
    require_extra("files,plots,scipy", "keyhole bench")
    from keyhole.benchmark import RESULTS_FILE, bench
    from keyhole.benchmark.report import write_benchmark_page
    from keyhole.benchmark.summary import summarize
    from keyhole.benchmark.tables import situation_table
    from keyhole.pages.notebook import text_table
    from keyhole.play.progress import print_step

    content = bench(
        setting,
        scale=scale,
        out=out,
        problems=problems or (),
        policies=policies or (),
        add=add or (),
        threads=threads,
        progress=True,
    )
    for summary in summarize(content):
        table = situation_table(summary)
        print_heading(f"{summary.setting}: {table.caption}")
        typer.echo(text_table(table.head, table.rows))
        typer.echo()
    print_step("writing the page")
    typer.echo(f"results: {out / RESULTS_FILE}")
    typer.echo(f"report: {write_benchmark_page(out, content)}")
