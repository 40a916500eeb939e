"""The command `keyhole study import`: begin a study from results that were recorded before."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson, show_examples
from keyhole.cli.study import Name, Own, Storage, open_study
from keyhole.text_formatting import count_text

EXAMPLES: Final = show_examples(
    "keyhole study import items.db labels past.csv",
    "keyhole study import items.db labels past.csv --arm item --reward label",
    "keyhole study import shop.db buttons past.csv --shown-at shown --converted-at bought "
    "--key visitor --delimiter ';' --date-format '%d.%m.%Y %H:%M'",
)


def import_results(
    storage: Storage,
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A row for each decision.")],
    arm: Annotated[str, typer.Option("--arm", help="The column of the arm's name.")] = "arm",
    reward: Annotated[str, typer.Option("--reward", help="The column of its reward.")] = "reward",
    converted_at: Annotated[
        str | None, typer.Option("--converted-at", help="The column that is empty for a reward 0.")
    ] = None,
    shown_at: Annotated[
        str | None, typer.Option("--shown-at", help="The column of the decisions' times.")
    ] = None,
    within: Annotated[
        str | None, typer.Option("--within", help="The length of a window: 7d (default: timeout).")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The column of keys; younger rows become pending.")
    ] = None,
    delimiter: Annotated[str, typer.Option("--delimiter", help="Such as ';' or '\\t'.")] = ",",
    date_format: Annotated[
        str | None, typer.Option("--date-format", help="'%d.%m.%Y %H:%M', unix, unix_ms.")
    ] = None,
    decimal: Annotated[str, typer.Option("--decimal", help="The decimal sign.")] = ".",
    as_json: AsJson = False,
    own: Own = None,
) -> None:
    """Begin a new study, just created, from past decisions and their rewards.

    All rows are imported or none; the same file again changes nothing. Import only for policies
    that learn as well from decisions of others, and only rows in the order of time that were not
    selected by their rewards. Other commands that write to the study wait meanwhile.

    Rows that may yet convert would count as 0: leave them out, or give --shown-at and
    --converted-at. They are then left out for you or, with --key, are pending until they are told
    (keyhole study tell --by-key) or expire.
    """
    columns = {"arm": arm, "reward": reward, "converted_at": converted_at, "shown_at": shown_at}
    form = {"key": key, "delimiter": delimiter, "date_format": date_format, "decimal": decimal}
    options: dict[str, Any] = {**columns, **form, "within": within}
    with open_study(storage, name, own) as study:
        imported = study.import_csv(path, **options)
        pending = len(study.pending) if imported else 0
    if as_json:
        print_json({"imported": imported, "pending": pending})
    elif imported:
        waiting = f", {pending:,} of them pending" if pending else ""
        typer.echo(f"{name}: {count_text(imported, 'decision')} imported{waiting}")
    else:
        typer.echo(f"{name}: imported before, nothing is changed")
