"""The command line's application and its commands; `error_handling` lists the exit codes."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer import Argument, Option

from keyhole.cli import bench, cite, init, new, serve, study_read_commands, tune, verdict_output
from keyhole.cli.options import AsJson, AsLatex, On, Out, Quiet, Threads, Verbose, add_command
from keyhole.cli.output import check_one_format, print_result
from keyhole.extras import require_extra

_DEMO: Final = Path("keyhole-out/demo")

app = typer.Typer(
    name="keyhole",
    help="Bandits that decide from partial feedback: simulate, reproduce, report.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command(name="bench", epilog=bench.EXAMPLES)(bench.run_bench)
app.command(name="cite", epilog=cite.EXAMPLES)(cite.cite)
app.command(name="init", epilog=init.EXAMPLES)(init.init)
app.command(name="new", epilog=new.EXAMPLES)(new.new)
app.add_typer(study_read_commands.app, name="study", short_help="Decide for real, in a database.")
app.add_typer(serve.app, name="serve", short_help="Serve studies over HTTP.")
app.add_typer(tune.app, name="tune", short_help="Learn time limits of real commands.")


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"keyhole {version('keyhole')}")
        raise typer.Exit


@app.callback()
def keyhole(
    context: typer.Context,
    _version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bandits that decide from partial feedback: simulate, reproduce, report."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@add_command(app, "keyhole catalog thresholding", "keyhole catalog --json")
def catalog(
    setting: Annotated[str | None, Argument(help="A setting or policy; by default all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List problems, policies, parameters, sources."""
    # Each command imports what it needs, so that help and refusals of bad arguments come at once.
    from keyhole.cli.setting_catalog import print_catalog

    print_catalog(setting, as_json)


@add_command(
    app,
    "keyhole run spec.toml --out results",
    "keyhole run spec.toml --dry-run",
    "keyhole run spec.toml --out results --quiet --json",
)
def run(
    spec: Annotated[Path, Argument(metavar="SPEC.toml", help="The experiment.")],
    out: Out = None,
    threads: Threads = None,
    on: On = "threads",
    dry_run: Annotated[bool, Option("--dry-run", help="Print size and expected time.")] = False,
    as_json: AsJson = False,
    as_latex: AsLatex = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment, or resume one."""
    check_one_format(as_json=as_json, as_latex=as_latex)
    from keyhole.clusters.cluster import check_cluster_address

    # Other imports take a while: a bad address is refused before them.
    check_cluster_address(on, threads)
    from keyhole.experiment import Spec

    # The file is read before extras are required, so that nobody installs packages in vain.
    experiment = Spec.from_file(spec)
    if out is None and not dry_run:
        raise ValueError("--out must be given: a folder for the results")
    require_extra("files,plots,scipy", "keyhole run")
    from keyhole.cli.run import run_spec, show_forecast

    if out is None or dry_run:
        show_forecast(experiment, threads, on, as_json=as_json)
        return
    # The report shows this command, so it has no folders of this machine.
    command = f"keyhole run {spec.name} --out {out.name}"
    run_spec(experiment, out, threads, on, command, as_json=as_json, as_latex=as_latex, quiet=quiet)


@add_command(app, "keyhole report results")
def report(
    folder: Annotated[Path, Argument(metavar="DIR", help="A finished run.")],
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of a finished run again."""
    if folder.is_file():
        raise ValueError(
            f"DIR must be the folder of a finished run, got the file {folder}; a study is shown by "
            "keyhole study show"
        )
    require_extra("files,plots,scipy", "keyhole report")
    from keyhole.experiment.report import write_report
    from keyhole.papers import is_reproduction_folder, report_again

    if is_reproduction_folder(folder):
        result = report_again(folder)
        verdict_output.print_verdicts(result, as_json=as_json, verbose=verbose)
        verdict_output.exit_by_status(result.verdicts)  # which ends the command
    page = write_report(folder)
    print_result({"report": page}, f"report: {page}", as_json=as_json)


@add_command(
    app,
    "keyhole reproduce --list",
    "keyhole reproduce tao2019-setup1 --out results",
    "keyhole reproduce --all --scale paper --out results",
)
def reproduce(
    name: Annotated[
        str | None, Argument(metavar="NAME|ENTRY.toml", help="An entry, or a file of yours.")
    ] = None,
    out: Out = None,
    scale: Annotated[str, Option(help="quick or paper.")] = "quick",
    threads: Threads = None,
    on: On = "threads",
    all_: Annotated[bool, Option("--all", help="All entries, with an index page.")] = False,
    paper: Annotated[str | None, Option(help="All entries of a paper.")] = None,
    list_: Annotated[bool, Option("--list", help="List the entries.")] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    as_latex: AsLatex = False,
    quiet: Quiet = False,
) -> None:
    """Rerun published experiments and judge their claims."""
    check_one_format(as_json=as_json, as_latex=as_latex)
    if list_:
        verdict_output.show_entries(as_json=as_json)
        return
    from keyhole.clusters.cluster import check_cluster_address

    check_cluster_address(on, threads)
    require_extra("files,plots,scipy", "keyhole reproduce")
    from keyhole import papers

    are_many = all_ or paper is not None
    if are_many and name is not None:
        raise ValueError(f"NAME must be left out with --all and --paper, got {name!r}")
    if not are_many and name is None:
        raise ValueError("NAME, --all or --paper must be given; see keyhole reproduce --list")
    if out is None:
        if name is not None:
            papers.Entry.find(name)  # a wrong name is refused before a missing --out
        raise ValueError("--out must be given: a folder for the results")
    options: dict[str, Any] = {"out": out, "scale": scale, "threads": threads, "on": on}
    result: papers.Reproduction | papers.ReproducedEntries
    if name is not None:
        result = papers.reproduce(name, progress=not quiet, **options)
    else:
        result = papers.reproduce_all(paper=paper, progress=not quiet, **options)
    if as_latex:
        verdict_output.print_latex(result.parts)
    elif isinstance(result, papers.Reproduction):
        verdict_output.print_verdicts(result, as_json=as_json, verbose=verbose)
    else:
        verdict_output.print_verdict_counts(result, as_json=as_json, verbose=verbose)
    verdict_output.exit_by_status(result.verdicts)


@add_command(app, "keyhole compile thresholding", "keyhole compile spec.toml", name="compile")
def compile_(
    target: Annotated[
        str | None, Argument(metavar="[SETTING|SPEC.toml]", help="By default all settings.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compile a setting or an experiment in advance."""
    from keyhole.cli.compilation import compile_ahead

    compile_ahead(target, as_json=as_json)


@add_command(app, "keyhole cache info", "keyhole cache clear", "keyhole cache why mine.py:Mine")
def cache(
    action: Annotated[str, Argument(metavar="info|clear|why", help="Show, empty, or explain.")],
    policy: Annotated[str | None, Argument(metavar="[POLICY]", help="Or FILE.py:CLASS.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or empty the compile cache, or say why it lacks code."""
    from keyhole.cli.compilation import empty_cache, explain_cache, show_cache
    from keyhole.validation import check_choice

    check_choice("action", action, ("info", "clear", "why"))
    if action == "why" and policy is None:
        raise ValueError("POLICY must be given with keyhole cache why")
    if action != "why" and policy is not None:
        raise ValueError("POLICY must be left out without keyhole cache why")
    if policy is not None:
        explain_cache(policy, as_json=as_json)
    else:
        {"info": show_cache, "clear": empty_cache}[action](as_json=as_json)


@add_command(app, "keyhole doctor", "keyhole doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Show versions and folders, and what is slow here and why."""
    from keyhole.cli.doctor import show_doctor

    show_doctor(as_json=as_json)


@add_command(app, "keyhole demo", "keyhole demo --out results --threads 2")
def demo(
    out: Out = _DEMO,
    threads: Threads = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's figure, and label real items."""
    require_extra("files,plots,scipy", "keyhole demo")
    from keyhole import papers

    result = papers.demo(out or _DEMO, threads=threads, progress=not quiet)
    verdict_output.print_verdicts(result, as_json=as_json, verbose=verbose)
