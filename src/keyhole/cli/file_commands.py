"""The commands `init` and `new`, which write files to start from."""

from pathlib import Path
from typing import Annotated, Final

import typer

from keyhole.cli.options import AsJson, show_examples

INIT_EXAMPLES: Final = show_examples(
    "keyhole init",
    "keyhole init --goal simulate --setting stochastic --horizon 5000 --out test.toml",
    "keyhole init --goal study --setting thresholding --arms 'cat, dog, owl'",
    "keyhole init --goal tune --command 'make test' --command 'make -j4 test' --limit 10m",
)
NEW_EXAMPLES: Final = show_examples(
    "keyhole new policy Mine --setting thresholding",
    "keyhole new problem narrow_gap --out problems",
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
    as_json: AsJson = False,
) -> None:
    """Answer three questions, and get a file to run.

    The file is commented, and runs as it stands: an experiment, a study, or the spec of a tune.
    Options answer the questions beforehand; without a terminal, the options of the goal are needed.
    To extend Keyhole by a policy, setting, problem or entry of your own, there is keyhole new.
    """
    from keyhole.cli.init import write_first_file

    given = {"setting": setting, "horizon": horizon, "arms": arms, "command": command}
    given |= {"limit": limit, "instances": instances}
    write_first_file(goal, given, out, force=force, as_json=as_json)


def new(
    kind: Annotated[str, typer.Argument(metavar="policy|setting|entry|problem", help="What.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As NarrowGap or narrow_gap.")],
    setting: Annotated[
        str | None, typer.Option("--setting", help="The setting of a policy.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the new files.")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a stub with its test, to extend Keyhole.

    It is code of a policy, setting, problem or entry of your own. For a file that uses Keyhole as
    it is (an experiment, a study, or the spec of a tune), there is keyhole init.
    """
    from keyhole.cli.new import write_stubs

    write_stubs(kind, name, setting, out, as_json=as_json)
