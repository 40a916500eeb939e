"""The verdicts on claims of a paper, as text or JSON, and the exit code that follows from them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from keyhole.cli import exit_codes
from keyhole.cli.json_output import print_json
from keyhole.cli.terminal_output import print_heading, print_paragraph

if TYPE_CHECKING:
    from keyhole.papers import ReproducedEntries, Reproduction
    from keyhole.papers.verdicts import Verdict


def print_verdicts(result: "Reproduction", *, as_json: bool) -> None:
    """Print the verdict on each claim, and the path of the report."""
    if as_json:
        print_json(_verdicts_as_json(result.verdicts) | {"report": result.report})
        return
    for verdict in result.verdicts:
        print_heading(f"{verdict.status}: {verdict.claim}")
        print_paragraph(verdict.detail, 4)
    typer.echo(f"report: {result.report}")


def conclude(result: "Reproduction", *, as_json: bool) -> None:
    """Print the verdicts, and end with 1 if a claim does not hold."""
    print_verdicts(result, as_json=as_json)
    _exit_by_status(result.verdicts)


def conclude_all(result: "ReproducedEntries", *, as_json: bool) -> None:
    """Print how many claims hold, by their origin, and end with 1 if one does not."""
    if as_json:
        print_json(_verdicts_as_json(result.verdicts) | {"index": result.index})
    else:
        for line in result.counts:
            typer.echo(line)
        entries = "1 entry" if len(result.parts) == 1 else f"{len(result.parts)} entries"
        typer.echo(f"{entries}, {len(result.verdicts)} claims in all")
        typer.echo(f"index: {result.index}")
    _exit_by_status(result.verdicts)


def _verdicts_as_json(verdicts: "Iterable[Verdict]") -> dict[str, Any]:
    return {
        "claims": [
            {
                "id": verdict.id,
                "claim": verdict.text,
                "status": verdict.status,
                "detail": verdict.detail,
                "origin": verdict.origin,
                "source": verdict.source,
            }
            for verdict in verdicts
        ]
    }


def _exit_by_status(verdicts: "Iterable[Verdict]") -> NoReturn:
    failed = any(verdict.status == "does not hold" for verdict in verdicts)
    raise typer.Exit(exit_codes.CLAIM_FAILED if failed else 0)
