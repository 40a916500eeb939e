"""List of the published experiments that can be reproduced, without slow imports."""

from typing import Any

from keyhole.cli.json_output import print_json
from keyhole.cli.terminal_output import print_heading, print_paragraph
from keyhole.papers.entry_files import FILES, entry_folder, read_tables


def show_entries(*, as_json: bool = False) -> None:
    """Print the available reproductions."""
    # Unchecked tables suffice: a check of an entry creates its problems, which takes seconds.
    tables = {name: read_tables(*entry_folder(name)) for name in FILES}
    if as_json:
        print_json([_entry_as_json(name, table) for name, table in tables.items()])
        return
    for name, table in tables.items():
        print_heading(name, 0)
        print_paragraph(table["title"], 2)
        runs = ", ".join(
            f"{scale} {size['replications']:,} replications"
            for scale, size in table["scales"].items()
        )
        problems = ", ".join(table["problems"])
        print_paragraph(f"problems: {problems}; claims: {_count_claims(table)}; {runs}", 2)
        print_paragraph(table["source"], 2)


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
