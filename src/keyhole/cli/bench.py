"""`bench`: run the benchmark, and print who is best in which situation."""

from pathlib import Path

import typer

from keyhole.benchmark import RESULTS_FILE, bench
from keyhole.benchmark.report import write_benchmark_page
from keyhole.benchmark.summary import summarize
from keyhole.benchmark.tables import situation_table
from keyhole.cli.terminal_output import print_heading
from keyhole.pages.notebook import text_table
from keyhole.play.progress import print_step


def run_bench(
    setting: str | None,
    scale: str,
    out: Path,
    problems: list[str] | None,
    policies: list[str] | None,
    add: list[Path] | None,
    threads: int | None,
) -> None:
    """Run the benchmark; print a table for each situation, and the paths of file and page."""
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
