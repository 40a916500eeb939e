"""The commands `keyhole tune`: learn which of several commands to run, with which time limit."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from keyhole.cli.options import AsJson, On, Out, Quiet, add_command, examples_epilog
from keyhole.cli.output import print_json, print_result, try_to_write
from keyhole.durations import parse_seconds
from keyhole.extras import has_extra, missing_extra_error, require_extra
from keyhole.status_output import print_status
from keyhole.text_formatting import count_text
from keyhole.validation import check_integer, escape_controls, suggestion

if TYPE_CHECKING:
    from keyhole.tune import Spec
    from keyhole.tune.saved_tune import AnyTune

_RUN: Final = "run"
_DRY_RUN_COUNT: Final = 10


class _DefaultRunGroup(TyperGroup):
    """A group of commands in which `run` may be left out before the name of a file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front of the name of a file; without arguments, show the help."""
        args = args or ["--help"]
        # A first word that is no command is taken for the file of a spec.
        if args[0] not in (*self.commands, "--help"):
            hint = suggestion(args[0], self.commands)
            if hint and not args[0].startswith("-") and not Path(args[0]).exists():
                raise ValueError(f"there is no command or file {args[0]!r}{hint}")
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_DefaultRunGroup,
    help="Tune commands and time limits: keyhole tune SPEC.toml --out DIR --budget 2h; "
    "for --workers, --runs, --dry-run see keyhole tune run --help.",
    epilog=examples_epilog(
        "keyhole tune spec.toml --out results --budget 2h --workers 2",
        "keyhole tune show results",
        "keyhole tune best results --json",
    ),
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A tune folder.")]


@add_command(
    app,
    "keyhole tune run spec.toml --dry-run",
    "keyhole tune run spec.toml --out results --runs 200 --workers 2",
    "keyhole tune run spec.toml --out results --budget 2h --quiet --json",
    name=_RUN,
)
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Commands, limits, instances.")],
    out: Out = None,
    workers: Annotated[int, typer.Option("--workers", help="How many runs at a time.")] = 1,
    budget: Annotated[
        str | None, typer.Option("--budget", help="Time in all, such as 90s, 2h, 1d12h.")
    ] = None,
    runs: Annotated[int | None, typer.Option("--runs", help="How many runs in all.")] = None,
    on: On = "threads",
    warm_start: Annotated[
        Path | None,
        typer.Option("--warm-start", metavar="DIR", help="An earlier tune of these parameters."),
    ] = None,
    weight: Annotated[
        float, typer.Option("--weight", help="How much a run of that tune counts, at most 1.")
    ] = 1.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print ten command lines without running them.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn which command to run, with which time limit; the same call resumes a tune."""
    from keyhole.clusters.cluster import check_cluster_address

    # Other imports take a while: a bad address is refused before them.
    check_cluster_address(on, None)
    if spec.is_dir():
        raise ValueError(
            f"{spec} cannot be read: Is a directory; keyhole tune show shows a saved tune"
        )
    from keyhole.tune import Spec, Tuner, summary
    from keyhole.tune.tuner import WORKERS

    tune_spec = Spec.from_file(spec)
    check_integer("workers", workers, WORKERS)
    seconds = None if budget is None else parse_seconds("--budget", budget)
    if dry_run:
        _print_dry_run(tune_spec, as_json=as_json)
        return
    if out is None:
        raise ValueError("--out must be given: a folder for the results")
    if budget is None and runs is None:
        raise ValueError("--budget or --runs must be given: the time or the number of runs")
    tune = Tuner(tune_spec, out).run(
        runs=runs, budget=seconds, workers=workers, on=on, progress=not quiet,
        warm_start=warm_start, weight=weight,
    )  # fmt: skip
    page = _write_report(tune)  # before anything is printed: a closed pipe makes printing fail
    if as_json:
        print_json(summary.tune_as_json(tune) | {"report": page})
        return
    _print_tune(tune)
    if page is not None:
        typer.echo(f"report: {page}")
    elif tune.runs and not has_extra("plots"):
        typer.echo(str(missing_extra_error("plots", "the report")))


@add_command(app, "keyhole tune show results")
def show(folder: Folder, as_json: AsJson = False) -> None:
    """Print progress and results of a tune."""
    from keyhole.tune import load_tune, summary

    tune = load_tune(folder)
    if as_json:
        print_json(summary.tune_as_json(tune))
    else:
        _print_tune(tune)


@add_command(app, "keyhole tune best results --json")
def best(folder: Folder, as_json: AsJson = False) -> None:
    """Print the best command and limit, with the probability that no other is better."""
    from keyhole.pages.notebook_html import text_table
    from keyhole.tune import load_tune, summary

    tune = load_tune(folder)
    result = summary.summarize(tune)
    # Warnings go to standard error: standard output begins with the command, for scripts.
    for text in summary.format_warnings(tune):
        typer.echo(text, err=True)
    command = f"{summary.shell_command(result.arm)}    # for at most {result.estimate.limit:g} s"
    lines = [command, text_table(*result.table), *result.sentences]
    lines.append(summary.format_validation(tune))
    print_result(summary.best_as_json(tune), *filter(None, lines), as_json=as_json)


@add_command(app, "keyhole tune report results")
def report(folder: Folder, as_json: AsJson = False) -> None:
    """Write the report again; a tuner may be at work."""
    require_extra("plots", "keyhole tune report")
    from keyhole.tune import load_tune
    from keyhole.tune.report import write_report

    page = write_report(load_tune(folder))
    print_result({"report": page}, f"report: {page}", as_json=as_json)


@add_command(app, "keyhole tune export results --aslib scenario")
def export(
    folder: Folder,
    aslib: Annotated[Path, typer.Option("--aslib", help="Folder for an ASlib scenario.")],
    as_json: AsJson = False,
) -> None:
    """Export all runs for other programs."""
    from keyhole.tune import load_tune
    from keyhole.tune.saved_tune import write_scenario

    scenario = write_scenario(load_tune(folder), aslib)
    print_result({"scenario": scenario}, f"scenario: {scenario}", as_json=as_json)


@add_command(
    app, "keyhole tune validate results --instances 'held_out/*.cnf' --workers 2", name="validate"
)
def validate(
    folder: Folder,
    instances: Annotated[
        str,
        typer.Option(
            "--instances",
            help="Files that the tune has not used, or their list FILE.txt or FILE.csv.",
        ),
    ],
    workers: Annotated[int, typer.Option("--workers", help="How many runs at a time.")] = 1,
    on: On = "threads",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare the recommended parameters with the default on instances kept aside."""
    from keyhole.tune import SavedSpaceTune, Tuner, summary

    path = Path(instances).absolute()
    list_key = {".txt": "file", ".csv": "csv"}.get(path.suffix)
    entry: str | dict[str, str] = str(path)  # as in a spec: a pattern, or a list of instances
    if list_key and path.is_file():
        entry = {list_key: str(path)}
    tuner = Tuner(SavedSpaceTune.load(folder).spec, folder)
    tuner.validate(entry, workers=workers, on=on, progress=not quiet)
    tune = SavedSpaceTune.load(folder)
    page = _write_report(tune)
    content = {"validation": summary.tune_as_json(tune)["validation"], "report": page}
    lines = [summary.format_validation(tune), page and f"report: {page}"]
    print_result(content, *filter(None, lines), as_json=as_json)


def _print_dry_run(spec: "Spec", *, as_json: bool) -> None:
    from keyhole.tune.tuner import make_dry_run

    trials = make_dry_run(spec, _DRY_RUN_COUNT)
    if as_json:
        names = ("arm", "limit", "command")
        print_json([dict(zip(names, trial, strict=True)) for trial in trials])
        return
    entries = {"arm": spec.arms, "limit": spec.limits, "instance": spec.instances}
    if spec.search:
        entries = {"parameter": spec.search.space.names, **entries}
    counts_text = ", ".join(count_text(len(values), noun) for noun, values in entries.items())
    if len(spec.arms) > 1:
        # The hazard policies try a new arm in every second run.
        run_count = 2 * len(spec.arms)
        counts_text += (
            f"; each arm is run once within about {run_count:,} runs, and an answer takes more"
        )
    print_status(f"keyhole: {counts_text}; the first runs could be")
    for arm, limit, argv in trials:
        typer.echo(f"{escape_controls(shlex.join(argv))}    # {arm}, at most {limit:g} s")


def _write_report(tune: "AnyTune") -> Path | None:
    """Write the report of a tune, if it has runs and the extra `plots` is installed."""
    if not (tune.runs and has_extra("plots")):
        return None
    from keyhole.tune.report import write_report

    return try_to_write(write_report, tune)


def _print_tune(tune: "AnyTune") -> None:
    from keyhole.pages.notebook_html import text_table
    from keyhole.tune import summary
    from keyhole.tune.parameter_effects import FAILED_RUNS, effects_table

    typer.echo(summary.format_progress(tune))
    if not tune.runs:
        return
    result = summary.summarize(tune)
    lines = [*summary.format_warnings(tune), f"best: {result.name}"]
    lines += [text_table(*result.table), *result.sentences]
    if tune.spec.search is None:
        lines += [text_table(*summary.tried_table(tune)), summary.tried_table_note(tune)]
    lines.append(summary.format_validation(tune))
    if effects := tune.effects():
        lines.append(text_table(*effects_table(effects, f"{tune.noun}s")))
        if any(record.outcome == "failed" for record in tune.runs):
            lines.append(FAILED_RUNS)
    for line in filter(None, lines):
        typer.echo(line)
