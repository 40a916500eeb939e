"""Command `bench`: run the benchmark, and print the best policies of each situation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer import Argument, Option

from keyhole.cli.options import AsJson, AsLatex, Out, Quiet, Threads, Verbose, examples_epilog
from keyhole.cli.output import check_one_format, print_heading, print_json
from keyhole.extras import require_extra

if TYPE_CHECKING:
    from keyhole.benchmark.summary import SituationSummary

EXAMPLES: Final = examples_epilog(
    "keyhole bench thresholding --out results",
    "keyhole bench delayed --policies mine.py:Mine --out results",
)


def run_bench(
    setting: Annotated[str | None, Argument(help="One setting; by default all.")] = None,
    out: Out = None,
    scale: Annotated[str, Option(help="quick or paper.")] = "quick",
    problems: Annotated[
        list[str] | None, Option(help="Problem (with *) or part (tuning, judging); repeatable.")
    ] = None,
    policies: Annotated[list[str] | None, Option(help="Name or FILE.py:CLASS; repeatable.")] = None,
    seed: Annotated[int, Option(help="Seed of all random numbers.")] = 29,
    threads: Threads = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    as_latex: AsLatex = False,
    quiet: Quiet = False,
) -> None:
    """Compare policies on a fixed list of problems."""
    check_one_format(as_json=as_json, as_latex=as_latex)
    if out is None:
        raise ValueError("--out must be given: a folder for the results")
    require_extra("files,plots,scipy", "keyhole bench")
    from keyhole.benchmark import RESULTS_FILE, bench
    from keyhole.benchmark.report import write_benchmark_page
    from keyhole.benchmark.summary import summarize
    from keyhole.play.progress import print_step_name

    try:
        content = bench(
            setting,
            scale=scale,
            out=out,
            problems=problems or (),
            policies=policies or (),
            seed=seed,
            threads=threads,
            progress=not quiet,
        )
    except (ValueError, FileNotFoundError) as error:
        # The error names an argument of `bench`, which is an option of the same name here.
        if str(error).startswith(("policies", "problems", "seed")):
            raise type(error)(f"--{error}") from error
        raise
    if not quiet:
        print_step_name("writing the page")
    # The page is written before anything is printed, since a closed pipe makes printing fail.
    paths = {"results": out / RESULTS_FILE, "report": write_benchmark_page(out, content)}
    summaries = summarize(content)
    if as_json:
        print_json(paths | {"situations": [summary.as_json() for summary in summaries]})
        return
    if as_latex:
        _print_latex(summaries)
        return
    # Yardsticks are policies that know what is unknown in practice. They are not ranked, so a
    # situation in which only yardsticks have played has no best policy.
    ranked_summaries = [summary for summary in summaries if summary.ranked]
    if verbose or not ranked_summaries:
        _print_standings(summaries)
    else:
        _print_best(ranked_summaries)
    for name, path in paths.items():
        typer.echo(f"{name}: {path}")


def _print_latex(summaries: "Sequence[SituationSummary]") -> None:
    """Print tables for LaTeX: each situation and its problems, with unbeaten policies in bold."""
    from keyhole.benchmark.summary import policies_on_problem_table, situation_table
    from keyhole.results.latex import latex_table

    note = "Bold: no other is clearly better, by a paired 95 % interval."
    for summary in summaries:
        table = situation_table(summary)
        bold = {
            (row, 0)
            for row, standing in enumerate(summary.standings)
            if not standing.is_yardstick and standing.first_places == len(standing.ranks)
        }
        typer.echo(latex_table(f"{table.caption}. {note}", table.head, table.rows, bold) + "\n")
        for problem in summary.problems:
            table = policies_on_problem_table(problem)
            rank = table.head.index("rank")
            bold = {(i, 1) for i, row in enumerate(table.rows) if row[rank] == "1"}
            typer.echo(latex_table(f"{table.caption}. {note}", table.head, table.rows, bold) + "\n")


def _print_standings(summaries: "Sequence[SituationSummary]") -> None:
    from keyhole.benchmark.summary import situation_table
    from keyhole.pages.notebook_html import text_table

    for summary in summaries:
        table = situation_table(summary)
        print_heading(f"{summary.setting}: {table.caption}")
        typer.echo(text_table(table.head, table.rows))
        typer.echo()


def _print_best(summaries: "Sequence[SituationSummary]") -> None:
    from keyhole.pages.notebook_html import text_table

    head = ["setting", "situation (part)", "best, by regret", "next"]
    rows = [
        [item.setting, f"{item.situation} ({item.part})", item.best.policy, item.runner_up]
        for item in summaries
    ]
    typer.echo(text_table(head, rows))
    typer.echo("All policies: --verbose, or the report.")
