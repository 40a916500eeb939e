"""The command `keyhole study import`: begin a study from results that were recorded before."""

from pathlib import Path
from typing import Annotated, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson, show_examples
from keyhole.cli.study import Name, Own, Storage, open_study
from keyhole.contract.text_formatting import count_text

EXAMPLES: Final = show_examples(
    "keyhole study import items.db labels past.csv",
    "keyhole study import items.db labels past.csv --arm item --reward label",
)


def import_results(
    storage: Storage,
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A row for each decision.")],
    arm: Annotated[str, typer.Option("--arm", help="The column of the arm's name.")] = "arm",
    reward: Annotated[str, typer.Option("--reward", help="The column of its reward.")] = "reward",
    as_json: AsJson = False,
    own: Own = None,
) -> None:
    """Begin a new study, just created, from past decisions and their rewards.

    All rows are imported or none; the same file again changes nothing. Import only for policies
    that learn as well from decisions of others, and only rows in the order of time that were not
    selected by their rewards. Other commands that write to the study wait meanwhile.
    """
    with open_study(storage, name, own) as study:
        imported = study.import_csv(path, arm=arm, reward=reward)
    if as_json:
        print_json({"imported": imported})
    elif imported:
        typer.echo(f"{name}: {count_text(imported, 'decision')} imported")
    else:
        typer.echo(f"{name}: imported before, nothing is changed")
