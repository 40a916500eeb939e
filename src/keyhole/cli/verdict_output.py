"""Output of the commands on published experiments: entries, verdicts, and the exit code."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

from keyhole.cli import output
from keyhole.papers.entry_files import ENTRY_FILES, entry_path, read_tables
from keyhole.text_formatting import count_text

if TYPE_CHECKING:
    from keyhole.papers import ReproducedEntries, Reproduction
    from keyhole.papers.report.judged_entry import JudgedEntry
    from keyhole.papers.verdicts import Verdict

_MOST_LINES: Final = 12  # of a printed reproduction, so that it fits on a screen


def show_entries(*, as_json: bool = False) -> None:
    """Print the available reproductions."""
    # Tables are read unchecked, since a check of an entry makes its problems, which takes seconds.
    entries = [_describe_entry(name, read_tables(entry_path(name))) for name in ENTRY_FILES]
    if as_json:
        output.print_json(entries)
        return
    for entry in entries:
        output.print_heading(entry["name"], 0)
        output.print_paragraph(entry["title"], 2)
        replications = entry["replications"].items()
        runs = ", ".join(f"{scale} {number:,} replications" for scale, number in replications)
        problems = ", ".join(entry["problems"])
        output.print_paragraph(f"problems: {problems}; claims: {entry['claims']}; {runs}", 2)
        output.print_paragraph(entry["source"], 2)


def _describe_entry(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return what the list shows of an entry; a claim counts once for each of its problems."""
    return {
        "name": name,
        "title": table["title"],
        "source": table["source"],
        "problems": list(table["problems"]),
        "claims": sum(len(claim.get("problems", [""])) for claim in table.get("claims", [])),
        "replications": {scale: size["replications"] for scale, size in table["scales"].items()},
    }


def print_verdicts(result: "Reproduction", *, as_json: bool, verbose: bool) -> None:
    """Print the answer of each entry, or the verdict on each claim, and the path of the report."""
    if as_json:
        output.print_json(_verdicts_as_json(result.verdicts) | {"report": result.report})
        return
    if verbose:
        _print_every_verdict(result.verdicts)
    else:
        _print_answers(result.parts)
    typer.echo(f"report: {result.report}")


def _print_every_verdict(verdicts: "Iterable[Verdict]") -> None:
    for verdict in verdicts:
        output.print_heading(f"{verdict.status}: {verdict.claim}")
        output.print_paragraph(verdict.detail, 4)


def _print_answers(parts: "Sequence[JudgedEntry]") -> None:
    """Print the answer of each entry, and its claims that do not hold or are open."""
    from keyhole.papers.report.judged_entry import answer_sentence, verdicts_by_id

    all_verdicts = verdicts_by_id(parts)
    # Each entry has two more lines, a heading and an answer; and there are two lines at the end.
    claim_lines = (_MOST_LINES - 2) // len(parts) - 2
    for judged_entry in parts:
        output.print_heading(judged_entry.entry.heading)
        output.print_paragraph(answer_sentence(judged_entry, all_verdicts), 2)
        verdicts = [verdict for verdict in judged_entry.verdicts if verdict.status != "holds"]
        _print_refuted_and_open(verdicts, claim_lines)
    typer.echo("Each claim with its numbers: --verbose, or the report.")


def _print_refuted_and_open(verdicts: "Sequence[Verdict]", lines: int) -> None:
    """Print claims that do not hold, then claims that are open, in at most `lines` lines."""
    from keyhole.papers.verdicts import VERBS

    verdicts = sorted(verdicts, key=lambda verdict: verdict.status)  # "does not hold" comes first
    listed_verdicts = verdicts if len(verdicts) <= lines else verdicts[: lines - 1]
    for verdict in listed_verdicts:
        status = VERBS[verdict.status][0]
        subject = "our check" if verdict.origin == "ours" else "claim"
        about_text = f"{verdict.about}: " if verdict.about else ""
        output.print_paragraph(
            f"{subject} {status}: {about_text}{verdict.headline} ({verdict.id})", 4
        )
    if len(listed_verdicts) < len(verdicts):
        output.print_paragraph(f"and {len(verdicts) - len(listed_verdicts)} more", 4)


def print_verdict_counts(result: "ReproducedEntries", *, as_json: bool, verbose: bool) -> None:
    """Print how many claims hold, and which claims do not."""
    verdicts = result.verdicts
    if as_json:
        output.print_json(_verdicts_as_json(verdicts) | {"index": result.index})
        return
    if verbose:
        _print_every_verdict(verdicts)
    entries = count_text(len(result.parts), "entry")
    lines = [*result.counts, f"{entries}, {len(verdicts)} claims in all"]
    typer.echo("\n".join(lines))
    refuted_verdicts = [verdict for verdict in verdicts if verdict.status == "does not hold"]
    refuted_verdicts.sort(key=lambda verdict: verdict.origin == "ours")
    _print_refuted_and_open(refuted_verdicts, _MOST_LINES - len(lines) - 1)
    typer.echo(f"index: {result.index}")


def _verdicts_as_json(verdicts: "Iterable[Verdict]") -> dict[str, Any]:
    fields = ("id", "status", "detail", "origin", "source")
    return {
        "claims": [
            {"claim": verdict.text} | {field: getattr(verdict, field) for field in fields}
            for verdict in verdicts
        ]
    }


def print_latex(entries: "Sequence[JudgedEntry]") -> None:
    """Print for each entry the means on each problem, and its verdicts, as tables for LaTeX."""
    from keyhole.results.latex import latex_table

    for judged_entry in entries:
        entry = judged_entry.entry
        for problem, curves in judged_entry.curves.items():
            title = entry.title
            if len(judged_entry.curves) > 1:
                title += f", {entry.problems[problem].title}"
            typer.echo(curves.to_latex(metrics=entry.metrics, caption=title) + "\n")
        verdicts = judged_entry.verdicts
        if rows := [[verdict.headline, verdict.about, verdict.status] for verdict in verdicts]:
            head = ["claim", "about", "verdict"]
            typer.echo(latex_table(f"{entry.title}: claims.", head, rows) + "\n")


def exit_by_status(verdicts: "Iterable[Verdict]") -> NoReturn:
    """End the command with code 1 if a claim does not hold, else with 0."""
    has_failed = any(verdict.status == "does not hold" for verdict in verdicts)
    raise typer.Exit(output.CLAIM_FAILED if has_failed else 0)
