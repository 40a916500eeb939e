"""Write docs/papers.md: every claim of every entry, with its verdict at paper scale.

`make lists` runs it. The words of claims come from the entries, the verdicts from
docs/paper_verdicts.json. After a reproduction of all entries its verdicts are taken over by::

    keyhole reproduce --all --scale paper --out FOLDER
    python tools/write_papers.py FOLDER/claims.json
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERDICTS = ROOT / "docs" / "paper_verdicts.json"
PAGE = ROOT / "docs" / "papers.md"
COLUMNS = ("holds", "undecided", "does not hold")
MARKS = {"holds": "\N{CHECK MARK}", "undecided": "?", "does not hold": "\N{BALLOT X}"}

INTRO = """\
# Papers

All claims that Keyhole judges: those of five papers, some conclusions that the papers do not draw,
and those on its own rules, in the words of their source where these are quoted. The verdicts are
those of `keyhole reproduce NAME --scale paper`: {counts}.
A claim *holds* if all its 95 % intervals, adjusted for their number, support it; it *does not hold*
if one contradicts it; else it is *undecided* ([how claims are judged](experiments.md)). The report
that the command writes has the numbers behind each verdict.
{missing}
"""


def take_over(claims: Path) -> None:
    """Write the verdicts of a ``claims.json`` into docs/paper_verdicts.json."""
    verdicts: dict[str, dict[int, str]] = {}
    for claim in json.loads(claims.read_text())["claims"]:
        verdicts.setdefault(claim["entry"], {})[int(claim["id"].rpartition("/")[2])] = claim[
            "verdict"
        ]
    lists = {entry: [found[i] for i in sorted(found)] for entry, found in verdicts.items()}
    write_verdicts(read_verdicts() | lists)


def read_verdicts() -> dict[str, list[str]]:
    """Return the verdicts of each entry, in the order of its claims."""
    found: dict[str, list[str]] = json.loads(VERDICTS.read_text())
    return found


def write_verdicts(verdicts: Mapping[str, Sequence[str]]) -> None:
    """Write the verdicts, an entry a line."""
    lines = [f"{json.dumps(entry)}: {json.dumps(list(found))}" for entry, found in verdicts.items()]
    VERDICTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def page() -> str:
    """Return the text of the page."""
    from keyhole.papers import Entry
    from keyhole.papers.entry_files import FILES

    verdicts = read_verdicts()
    entries = {name: Entry.load(name) for name in FILES}
    total = Counter(status for found in verdicts.values() for status in found)
    counts = f"{total['holds']} hold, {total['undecided']} are undecided, and " + (
        f"{total['does not hold']} do not hold"
    )
    left = [f"`{name}`" for name in entries if name not in verdicts]
    missing = f"\nNot yet run at paper scale: {', '.join(left)}.\n" if left else ""
    parts = [INTRO.format(counts=counts, missing=missing), overview(entries, verdicts)]
    for name, entry in entries.items():
        if name in verdicts:
            parts.append(section(name, entry, verdicts[name]))
    return "\n".join(parts)


def overview(entries, verdicts) -> str:
    """Return the table of entries, with the number of claims of each verdict."""
    lines = [
        "| entry | of | claims | hold | undecided | do not hold |",
        "|---|---|---|---|---|---|",
    ]
    for name, entry in entries.items():
        if name in verdicts:
            found = Counter(verdicts[name])
            counts = " | ".join(str(found[status] or "") for status in COLUMNS)
            lines.append(
                f"| [`{name}`](#{name}) | {entry.title} | {len(verdicts[name])} | {counts} |"
            )
    return "\n".join(lines) + "\n"


def section(name: str, entry, verdicts: Sequence[str]) -> str:
    """Return the list of an entry's claims, those that do not hold first."""
    if len(verdicts) != len(entry.claims):
        raise ValueError(
            f"{name} has {len(entry.claims)} claims, and {len(verdicts)} verdicts: run it again"
        )
    order = list(reversed(COLUMNS))
    listed = sorted(zip(verdicts, entry.claims, strict=True), key=lambda pair: order.index(pair[0]))
    lines = [f"- {MARKS[status]} {escape(claim.text)}" for status, claim in listed]
    return (
        f"({name})=\n## {entry.title}\n\n`keyhole reproduce {name}`\n\n" + "\n".join(lines) + "\n"
    )


def escape(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "*_<>[]`$|{}" else c for c in text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_over(Path(sys.argv[1]))
    PAGE.write_text(page())
