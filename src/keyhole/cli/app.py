"""The commands of the command line, their output and exit codes.

Exit codes: 0 done; 1 a claim does not hold, or a study is damaged; 2 bad input; 3 try again later
(a study waits for feedback, its database failed, a cluster does not answer); 4 a study is done, and
has no further decision; 130 interrupted. Codes 2 to 4 come with one line on standard error. Results
go to standard output, progress to standard error. A command whose reader ends early, as before
``| head``, ends with 0.
"""

import os
import sys
import warnings
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from keyhole.cli import bench, exit_codes, study, study_check, tune
from keyhole.cli.options import Threads
from keyhole.cli.terminal_output import one_line_text, print_heading, print_paragraph
from keyhole.clusters.cluster_address import check_address
from keyhole.extras import require_extra
from keyhole.validate import short_repr

if TYPE_CHECKING:
    from keyhole.papers import BatchReproduction, Reproduction

_NUMBERS: Final = {"int": "a whole number", "float": "a number"}

app = typer.Typer(
    name="keyhole",
    help="Bandits that decide from partial feedback: simulate, reproduce, report.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command(name="bench")(bench.run_bench)
study.app.command()(study_check.check)
app.add_typer(study.app, name="study", short_help="Decide for real, in a database.")
app.add_typer(tune.app, name="tune", short_help="Learn time limits of real commands.")

On = Annotated[
    str,
    typer.Option("--on", help="Where: threads, dask[=ADDRESS] or ray[=ADDRESS]."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keyhole {version('keyhole')}")
        raise typer.Exit


@app.callback()
def keyhole(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Bandits that decide from partial feedback: simulate, reproduce, report."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def catalog(
    setting: Annotated[str | None, typer.Argument(help="One setting; by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List problems, policies, parameters, sources."""
    # Each command imports what it needs, so that help and refusals of bad arguments come at once.
    from keyhole.cli.setting_catalog import print_catalog

    print_catalog(setting, as_json)


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    threads: Threads = None,
    on: On = "threads",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the size of the run and its expected time.")
    ] = False,
) -> None:
    """Run an experiment, or resume one."""
    # Before the imports, which take a while, so that a bad address is refused at once.
    check_address(on, threads)
    require_extra("files,plots,scipy", "keyhole run")
    from keyhole.cli.experiments import run_spec, show_forecast

    if dry_run:
        show_forecast(spec, threads, on)
    elif out is None:
        raise ValueError("--out must be given: a folder for the results")
    else:
        run_spec(spec, out, threads, on)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A finished run.")],
) -> None:
    """Write the report of a finished run again."""
    require_extra("files,plots,scipy", "keyhole report")
    from keyhole.experiment.report import write_report
    from keyhole.papers import is_reproduction, report_again

    if is_reproduction(folder):
        # This ends the command.
        _conclude(report_again(folder))
    typer.echo(f"report: {write_report(folder)}")


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME|ENTRY.toml", help="Which entry, or your own.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    scale: Annotated[str, typer.Option("--scale", help="quick or paper.")] = "quick",
    threads: Threads = None,
    on: On = "threads",
    all_: Annotated[bool, typer.Option("--all", help="All entries, with an index page.")] = False,
    paper: Annotated[str | None, typer.Option("--paper", help="All entries of a paper.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the entries.")] = False,
) -> None:
    """Rerun published experiments and judge their claims."""
    if list_:
        from keyhole.cli.reproduction_list import show_entries

        show_entries()
        return
    check_address(on, threads)
    require_extra("files,plots,scipy", "keyhole reproduce")
    from keyhole import papers

    everything = all_ or paper is not None
    if everything and name is not None:
        raise ValueError(f"NAME must be left out with --all and --paper, got {name!r}")
    if not everything and name is None:
        raise ValueError("NAME must be given, or --all; see keyhole reproduce --list")
    if out is None:
        raise ValueError("--out must be given: a folder for the results")
    if name is not None:
        _conclude(
            papers.reproduce(name, scale=scale, out=out, threads=threads, progress=True, on=on)
        )
    _conclude_all(
        papers.reproduce_all(
            out=out, paper=paper, scale=scale, threads=threads, progress=True, on=on
        )
    )


@app.command(name="compile")
def compile_(
    what: Annotated[
        str | None, typer.Argument(metavar="[SETTING|SPEC.toml]", help="By default all settings.")
    ] = None,
) -> None:
    """Compile a setting or an experiment in advance."""
    from keyhole.cli.compilation import compile_ahead

    compile_ahead(what)


@app.command()
def cache(
    action: Annotated[str, typer.Argument(metavar="info|clear", help="Show, or remove.")],
) -> None:
    """Show the size of the compile cache, or empty it."""
    from keyhole.cli.compilation import empty_cache, show_cache
    from keyhole.validate import check_choice

    actions = {"info": show_cache, "clear": empty_cache}
    actions[check_choice("action", action, actions)]()


@app.command()
def doctor() -> None:
    """Show versions, folders, and how commands are isolated."""
    from keyhole.cli.doctor import show_doctor

    show_doctor()


@app.command()
def new(
    kind: Annotated[str, typer.Argument(metavar="policy|setting|entry|problem", help="What.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As NarrowGap or narrow_gap.")],
    setting: Annotated[
        str | None, typer.Option("--setting", help="The setting of a policy.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder; created if it does not exist.")
    ] = Path(),
) -> None:
    """Write a working stub with its test, to begin from."""
    from keyhole.cli.new import write_stubs

    write_stubs(kind, name, setting, out)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path(
        "keyhole-out/demo"
    ),
    threads: Threads = None,
) -> None:
    """Reproduce a paper's figure, and label real items."""
    require_extra("files,plots,scipy", "keyhole demo")
    from keyhole import papers

    result = papers.demo(out, threads=threads, progress=True)
    _print_verdicts(result)


def _print_verdicts(result: "Reproduction") -> None:
    for verdict in result.verdicts:
        print_heading(f"{verdict.status}: {verdict.claim}")
        print_paragraph(verdict.detail, 4)
    typer.echo(f"report: {result.report}")


def _conclude(result: "Reproduction") -> None:
    """Print the verdicts, and end with 1 if a claim does not hold."""
    _print_verdicts(result)
    failed = any(verdict.status == "does not hold" for verdict in result.verdicts)
    raise typer.Exit(exit_codes.CLAIM_FAILED if failed else 0)


def _conclude_all(result: "BatchReproduction") -> None:
    """Print how many claims hold, by their origin, and end with 1 if one does not."""
    entries = "entry" if len(result.parts) == 1 else "entries"
    for line in result.counts:
        typer.echo(line)
    typer.echo(f"{len(result.parts)} {entries}, {len(result.verdicts)} claims in all")
    typer.echo(f"index: {result.index}")
    failed = any(verdict.status == "does not hold" for verdict in result.verdicts)
    raise typer.Exit(exit_codes.CLAIM_FAILED if failed else 0)


def main() -> None:
    """Run the command line and exit; see the module's docstring for the codes."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _warned(message)
        code = _code()
    if code == exit_codes.INTERRUPTED:  # Typer may also return it by itself
        print("keyhole: interrupted; the same command resumes from here", file=sys.stderr)  # noqa: T201
    sys.exit(code or 0)


def _code() -> int | None:
    """Run the command line; return its exit code."""
    code: int | None
    try:
        # Otherwise Typer handles errors itself: several lines, and exit codes of its own.
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = exit_codes.INTERRUPTED
    except BrokenPipeError:
        code = _discard_output()
    except SystemExit as end:  # Typer turns a broken pipe into an exit with another code
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        code = _discard_output()
    except MemoryError as error:
        code = _refused(str(error) or "there is not enough memory")
    # These carry a message for the user. Any other is a fault of Keyhole, and keeps its traceback.
    except (TypeError, ValueError, OSError, ArithmeticError, RuntimeError, ImportError) as error:
        code = _refused(str(error), exit_codes.exit_code_of(error))
    except Exception as error:
        # Typer's usage errors have no public base class, but all of them have this method.
        if not hasattr(error, "format_message"):
            raise
        code = _refused(_usage_message(error))
    return code


def _usage_message(error: Any) -> str:
    """Return the message of a usage error; of a number, without Pydantic's message."""
    message: str = error.format_message()
    # Typer begins such a message with the name of the option or argument.
    where = message.removeprefix("Invalid value for ").partition(": ")[0].strip("'")
    for found in getattr(error.__cause__, "errors", list)():
        wanted = _NUMBERS.get(found["type"].partition("_")[0])
        if wanted:
            return f"{where} must be {wanted}, got {short_repr(found['input'])}"
    return message


def _warned(message: Warning | str) -> None:
    """Show a warning on one line, without the place in the code."""
    with suppress(OSError):  # standard error may be closed
        print(f"keyhole: warning: {one_line_text(str(message))}", file=sys.stderr)  # noqa: T201


def _discard_output() -> int:
    """Discard all further output, whose reader has ended, as after ``| head``."""
    # Python flushes the buffer when the process ends, which would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _refused(message: str, code: int = exit_codes.BAD_INPUT) -> int:
    with suppress(OSError):  # standard error may be closed
        print(f"keyhole: {one_line_text(message)}", file=sys.stderr)  # noqa: T201
    return code
