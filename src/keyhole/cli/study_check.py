"""The command `keyhole study check`: search a database of decisions and outcomes for damage."""

from dataclasses import asdict
from typing import Annotated, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson
from keyhole.cli.study import Own, Storage
from keyhole.cli.user_policies import load_user_policies

DAMAGED: Final = 1
"""The exit code of `check` if anything is damaged."""


def check(
    storage: Storage,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The study; by default all.")
    ] = None,
    repair_to: Annotated[
        int | None,
        typer.Option(
            "--repair-to",
            metavar="EVENT",
            help="Copy the events up to this one to --out, where the study continues.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", help="Another database: a file, or postgresql://...")
    ] = None,
    as_json: AsJson = False,
    own: Own = None,
) -> None:
    """Check a database: every page, definition, event and snapshot.

    Prints a line a study, and ends with 1 if anything is damaged. --repair-to leaves the damaged
    database as it is.
    """
    from keyhole.study import check_database, copy_intact_events
    from keyhole.text_formatting import count_text

    if (repair_to is None) != (out is None):
        raise ValueError("--repair-to and --out must be given together")
    if repair_to is not None and out is not None:
        if name is None:
            raise ValueError("--repair-to must be given with the NAME of a study")
        found = copy_intact_events(storage, name, repair_to, out, policies=load_user_policies(own))
        lost = found.events - repair_to
        if as_json:
            print_json(asdict(found) | {"continues_after": repair_to, "storage": out})
            return
        typer.echo(str(found))
        without = f", without the last {count_text(lost, 'event')}" if lost else ""
        typer.echo(f"{name}: goes on after event {repair_to} in {out}{without}")
        return
    result = check_database(storage, name, policies=load_user_policies(own))
    if as_json:
        print_json({"is_whole": result.is_whole, **asdict(result)})
    else:
        if result.damage:
            typer.echo(f"{storage}: damaged: {result.damage}")
        for study in result.studies:
            typer.echo(str(study))
    raise typer.Exit(0 if result.is_whole else DAMAGED)
