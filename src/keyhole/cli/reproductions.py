"""Published experiments: their list, verdicts on their claims, and the exit code of these."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from keyhole.cli import output
from keyhole.papers.entry_files import FILES, entry_folder, read_tables
from keyhole.text_formatting import count_text

if TYPE_CHECKING:
    from keyhole.papers import ReproducedEntries, Reproduction
    from keyhole.papers.verdicts import Verdict


def show_entries(*, as_json: bool = False) -> None:
    """Print the available reproductions."""
    # Unchecked tables suffice: a check of an entry creates its problems, which takes seconds.
    tables = {name: read_tables(*entry_folder(name)) for name in FILES}
    if as_json:
        output.print_json([_entry_as_json(name, table) for name, table in tables.items()])
        return
    for name, table in tables.items():
        output.print_heading(name, 0)
        output.print_paragraph(table["title"], 2)
        runs = ", ".join(
            f"{scale} {size['replications']:,} replications"
            for scale, size in table["scales"].items()
        )
        problems = ", ".join(table["problems"])
        output.print_paragraph(f"problems: {problems}; claims: {_count_claims(table)}; {runs}", 2)
        output.print_paragraph(table["source"], 2)


def _count_claims(table: dict[str, Any]) -> int:
    """Return the number of claims of an entry: a claim about two problems counts twice."""
    return sum(len(claim.get("problems", [""])) for claim in table.get("claims", []))


def _entry_as_json(name: str, table: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "title": table["title"],
        "source": table["source"],
        "problems": list(table["problems"]),
        "claims": _count_claims(table),
        "replications": {s: size["replications"] for s, size in table["scales"].items()},
    }


def print_verdicts(result: "Reproduction", *, as_json: bool) -> None:
    """Print the verdict on each claim, and the path of the report."""
    if as_json:
        output.print_json(_verdicts_as_json(result.verdicts) | {"report": result.report})
        return
    for verdict in result.verdicts:
        output.print_heading(f"{verdict.status}: {verdict.claim}")
        output.print_paragraph(verdict.detail, 4)
    typer.echo(f"report: {result.report}")


def print_verdicts_and_exit(result: "Reproduction", *, as_json: bool) -> None:
    """Print the verdicts, and end with 1 if a claim does not hold."""
    print_verdicts(result, as_json=as_json)
    _exit_by_status(result.verdicts)


def print_all_verdicts_and_exit(result: "ReproducedEntries", *, as_json: bool) -> None:
    """Print how many claims hold, by their origin, and end with 1 if one does not."""
    output.print_result(
        _verdicts_as_json(result.verdicts) | {"index": result.index},
        *result.counts,
        f"{count_text(len(result.parts), 'entry')}, {len(result.verdicts)} claims in all",
        f"index: {result.index}",
        as_json=as_json,
    )
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
    raise typer.Exit(output.CLAIM_FAILED if failed else 0)
