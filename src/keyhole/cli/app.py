"""The commands of the command line. Exit codes and errors: see `command_execution`."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli import bench, study, study_check, study_policies, tune
from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson, On, Quiet, Threads, show_examples
from keyhole.cli.verdict_output import conclude, conclude_all, print_verdicts
from keyhole.clusters.cluster_address import check_address
from keyhole.extras import require_extra

app = typer.Typer(
    name="keyhole",
    help="Bandits that decide from partial feedback: simulate, reproduce, report.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command(name="bench", epilog=bench.EXAMPLES)(bench.run_bench)
for command in (study_policies.replay, study_policies.change, study_check.check):
    study.app.command()(command)
app.add_typer(study.app, name="study", short_help="Decide for real, in a database.")
app.add_typer(tune.app, name="tune", short_help="Learn time limits of real commands.")


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


@app.command(
    epilog=show_examples(
        "keyhole catalog thresholding",
        "keyhole catalog --json",
    )
)
def catalog(
    setting: Annotated[str | None, typer.Argument(help="One setting; by default all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List problems, policies, parameters, sources."""
    # Each command imports what it needs, so that help and refusals of bad arguments come at once.
    from keyhole.cli.setting_catalog import print_catalog

    print_catalog(setting, as_json)


@app.command(
    epilog=show_examples(
        "keyhole run spec.toml --out results",
        "keyhole run spec.toml --dry-run",
        "keyhole run spec.toml --out results --quiet --json",
    )
)
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    threads: Threads = None,
    on: On = "threads",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the size of the run and its expected time.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment, or resume one."""
    # Before the imports, which take a while, so that a bad address is refused at once.
    check_address(on, threads)
    require_extra("files,plots,scipy", "keyhole run")
    from keyhole.cli.experiments import run_spec, show_forecast

    if dry_run:
        show_forecast(spec, threads, on, as_json=as_json)
    elif out is None:
        raise ValueError("--out must be given: a folder for the results")
    else:
        run_spec(spec, out, threads, on, as_json=as_json, quiet=quiet)


@app.command(
    epilog=show_examples(
        "keyhole report results",
    )
)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A finished run.")],
    as_json: AsJson = False,
) -> None:
    """Write the report of a finished run again."""
    require_extra("files,plots,scipy", "keyhole report")
    from keyhole.experiment.report import write_report
    from keyhole.papers import is_reproduction, report_again

    if is_reproduction(folder):
        # This ends the command.
        conclude(report_again(folder), as_json=as_json)
    written = write_report(folder)
    if as_json:
        print_json({"report": written})
    else:
        typer.echo(f"report: {written}")


@app.command(
    epilog=show_examples(
        "keyhole reproduce --list",
        "keyhole reproduce tao2019-setup1 --out results",
        "keyhole reproduce --all --scale paper --out results",
    )
)
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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Rerun published experiments and judge their claims."""
    if list_:
        from keyhole.cli.reproduction_list import show_entries

        show_entries(as_json=as_json)
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
        one = papers.reproduce(
            name, scale=scale, out=out, threads=threads, progress=not quiet, on=on
        )
        conclude(one, as_json=as_json)
    several = papers.reproduce_all(
        out=out, paper=paper, scale=scale, threads=threads, progress=not quiet, on=on
    )
    conclude_all(several, as_json=as_json)


@app.command(
    name="compile",
    epilog=show_examples("keyhole compile thresholding", "keyhole compile spec.toml"),
)
def compile_(
    what: Annotated[
        str | None, typer.Argument(metavar="[SETTING|SPEC.toml]", help="By default all settings.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compile a setting or an experiment in advance."""
    from keyhole.cli.compilation import compile_ahead

    compile_ahead(what, as_json=as_json, quiet=quiet)


@app.command(
    epilog=show_examples(
        "keyhole cache info",
        "keyhole cache clear",
    )
)
def cache(
    action: Annotated[str, typer.Argument(metavar="info|clear", help="Show, or remove.")],
    as_json: AsJson = False,
) -> None:
    """Show the size of the compile cache, or empty it."""
    from keyhole.cli.compilation import empty_cache, show_cache
    from keyhole.validate import check_choice

    actions = {"info": show_cache, "clear": empty_cache}
    actions[check_choice("action", action, actions)](as_json=as_json)


@app.command(
    epilog=show_examples(
        "keyhole doctor",
        "keyhole doctor --json",
    )
)
def doctor(as_json: AsJson = False) -> None:
    """Show versions and folders, and what is slow here and why."""
    from keyhole.cli.doctor import show_doctor

    show_doctor(as_json=as_json)


@app.command(
    epilog=show_examples(
        "keyhole init",
        "keyhole init --goal simulate --setting stochastic --horizon 5000 --out test.toml",
        "keyhole init --goal study --setting thresholding --arms 'cat, dog, owl'",
        "keyhole init --goal tune --command 'make test' --command 'make -j4 test' --limit 10m",
    )
)
def init(
    goal: Annotated[str | None, typer.Option("--goal", help="simulate, study or tune.")] = None,
    setting: Annotated[
        str | None, typer.Option("--setting", help="Of a simulation or a study: what you have.")
    ] = None,
    horizon: Annotated[
        str | None, typer.Option("--horizon", metavar="N", help="Decisions of a simulation.")
    ] = None,
    arms: Annotated[
        str | None, typer.Option("--arms", metavar="NAME,NAME,...", help="The arms of a study.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Option("--command", help="A command of a tune; repeatable.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option("--limit", help="The time limit of its commands, such as 10m.")
    ] = None,
    instances: Annotated[
        str | None, typer.Option("--instances", help="The files of {instance}, as 'cnf/*.cnf'.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="By default experiment.toml, study.py or tune.toml, here.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Answer three questions, and get a file to run.

    The file is commented, and runs as it stands: an experiment, a study, or the spec of a tune.
    Options answer the questions beforehand; without a terminal, the options of the goal are needed.
    To extend Keyhole by a policy, setting, problem or entry of your own, there is keyhole new.
    """
    from keyhole.cli.init import write_first_file

    given = {"setting": setting, "horizon": horizon, "arms": arms, "command": command}
    given |= {"limit": limit, "instances": instances}
    write_first_file(goal, given, out, force=force)


@app.command(
    epilog=show_examples(
        "keyhole new policy Mine --setting thresholding",
        "keyhole new problem narrow_gap --out problems",
    )
)
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
    """Write a stub with its test, to extend Keyhole.

    It is code of a policy, setting, problem or entry of your own. For a file that uses Keyhole as
    it is (an experiment, a study, or the spec of a tune), there is keyhole init.
    """
    from keyhole.cli.new import write_stubs

    write_stubs(kind, name, setting, out)


@app.command(
    epilog=show_examples(
        "keyhole demo",
        "keyhole demo --out results --threads 2",
    )
)
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path(
        "keyhole-out/demo"
    ),
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's figure, and label real items."""
    require_extra("files,plots,scipy", "keyhole demo")
    from keyhole import papers

    print_verdicts(papers.demo(out, threads=threads, progress=not quiet), as_json=as_json)
