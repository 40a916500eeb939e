"""Write docs/papers.md: every claim of every entry, with its verdict at paper scale.

`make lists` runs it. The words of claims come from the entries, the verdicts from
docs/paper_verdicts.json. After a reproduction of all entries its verdicts are taken over by::

    keyhole reproduce --all --scale paper --out FOLDER
    python tools/write_papers.py FOLDER/claims.json
"""

import html
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERDICTS = ROOT / "docs" / "paper_verdicts.json"
PAGE = ROOT / "docs" / "papers.md"
FINDINGS = ROOT / "docs" / "findings"
COLUMNS = ("holds", "undecided", "does not hold")
MARKS = {"holds": "\N{CHECK MARK}", "undecided": "?", "does not hold": "\N{BALLOT X}"}

INTRO = """\
# Papers

```{{index}} ! reproduce a paper, ! reproducing a paper, ! figures of a paper
```

All claims that Keyhole judges: those of five papers, some conclusions that the papers do not draw,
and those on its own rules, in the words of their source where these are quoted. The verdicts
([how claims are judged](experiments.md)) are those of `keyhole reproduce NAME --scale paper`, whose
report has the numbers behind each: {counts}.
Each entry has the command that reproduces its results.

{legend}
{missing}"""
PAPER = """\
(papers-{folder})=
## {heading}

{coverage}{folds}
"""
COVERAGE = """\
<details class="folded"><summary>What of the paper is covered, and by what ({counts})</summary>

{items}

</details>

"""
# The target makes the identifier of the fold one that other pages can link to.
FOLD = """\
({name})=
<details class="folded claims" id="{name}"><summary>{title} ({counts})</summary>

`keyhole reproduce {name}`{finding}

{claims}

</details>
"""
CLAIMS_LINE = re.compile(r"^The claims about it, with verdicts:(.+)$", re.MULTILINE)  # of a finding
LETTERS = {"Huellermeier": "H\N{LATIN SMALL LETTER U WITH DIAERESIS}llermeier"}  # titles are ASCII
OTHERS = "Other entries"  # those of no paper, or of several
MEANINGS = {
    "holds": "the claim *holds*: all its 95 % intervals, adjusted for their number, support it",
    "undecided": "it is *undecided*: no interval contradicts it, and not all support it",
    "does not hold": "it *does not hold*: an interval contradicts it",
}


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
    from keyhole.papers.entry_files import ENTRY_FILES

    verdicts = read_verdicts()
    entries = {name: Entry.load(name) for name in ENTRY_FILES}
    judged = {name: entry for name, entry in entries.items() if name in verdicts}
    total = Counter(status for found in verdicts.values() for status in found)
    counts = f"{total['holds']} hold, {total['undecided']} are undecided, and " + (
        f"{total['does not hold']} do not hold"
    )
    left = [f"`{name}`" for name in entries if name not in verdicts]
    missing = f"\nNot yet run at paper scale: {', '.join(left)}.\n" if left else ""
    legend = "\n".join(f"- {mark} {MEANINGS[status]}" for status, mark in MARKS.items())
    parts = [INTRO.format(counts=counts, legend=legend, missing=missing)]
    groups: dict[str, list[str]] = {}
    for name, entry in judged.items():
        groups.setdefault(entry.paper, []).append(name)
    papers = dict(sorted(groups.items(), key=lambda group: not group[0]))  # others last
    findings = find_findings()
    parts.append(overview(papers, verdicts))
    for folder, names in papers.items():
        folds = "\n".join(
            section(name, judged[name], verdicts[name], findings.get(name, "")) for name in names
        )
        covered = coverage(folder) if folder else ""
        parts.append(
            PAPER.format(
                folder=folder or "others", heading=heading(folder), coverage=covered, folds=folds
            )
        )
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def name_paper(folder: str) -> str:
    """Return the authors and the year of a paper; other words for no paper."""
    from keyhole.papers.paper_coverage import Coverage

    return Coverage.load(folder).short_citation if folder else OTHERS


def heading(folder: str) -> str:
    """Return the name of a paper and its title; other words for no paper."""
    from keyhole.papers.paper_coverage import Coverage

    return f"{name_paper(folder)}: {Coverage.load(folder).title}" if folder else OTHERS


def coverage(folder: str) -> str:
    """Return the list of all figures, tables and statements of a paper, folded."""
    from keyhole.papers.paper_coverage import Coverage

    lines = []
    items = Coverage.load(folder).items
    for item in items:
        entries = [f"[`{name}`](#{name})" for name in item.entries]
        function = [f"`{item.function}`, by tests"] if item.function else []
        covers = ", ".join([*entries, *function]) or "not covered"
        why = f" ({escape(item.why.rstrip('.'))})" if item.why else ""
        lines.append(f"- {escape(item.name)}: {escape(item.says)} {covers}{why}")
    kinds = Counter(item.coverage for item in items)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("by entries", "by tests", "not"))
    return COVERAGE.format(counts=counts, items="\n".join(lines))


def overview(papers: Mapping[str, Sequence[str]], verdicts: Mapping[str, Sequence[str]]) -> str:
    """Return the table of papers, with the number of claims of each verdict."""
    marks = " | ".join(MARKS[status] for status in COLUMNS)
    lines = [f"| paper | entries | claims | {marks} |", "|---|---|---|---|---|---|"]
    for folder, names in papers.items():
        found = Counter(status for name in names for status in verdicts[name])
        counts = " | ".join(str(found[status] or "") for status in COLUMNS)
        lines.append(
            f"| [{name_paper(folder)}](#papers-{folder or 'others'}) "
            f"| {len(names)} | {found.total()} | {counts} |"
        )
    return "\n".join(lines) + "\n"


def find_findings() -> dict[str, str]:
    """Return links to findings by entry; findings link to the entries with claims about them."""
    links = {}
    for file in sorted(FINDINGS.glob("*.md")):
        text = file.read_text()
        title = text.partition("\n")[0].removeprefix("# ")
        for line in CLAIMS_LINE.findall(text):
            for name in re.findall(r"\(#([^)]+)\)", line):
                links[name] = f"[{title}](findings/{file.name})"
    return links


def section(name: str, entry, verdicts: Sequence[str], finding: str = "") -> str:
    """Return the list of an entry's claims, those that do not hold first, folded."""
    if len(verdicts) != len(entry.claims):
        raise ValueError(
            f"{name} has {len(entry.claims)} claims, and {len(verdicts)} verdicts: run it again"
        )
    order = list(reversed(COLUMNS))
    listed = sorted(zip(verdicts, entry.claims, strict=True), key=lambda pair: order.index(pair[0]))
    lines = [f"- {MARKS[status]} {escape(claim.text)}" for status, claim in listed]
    claims = "\n".join(lines)
    title = entry.title
    for plain, letters in LETTERS.items():
        title = title.replace(plain, letters)
    return FOLD.format(
        name=name,
        title=html.escape(title),
        counts=count(verdicts),
        finding=finding and f" \N{MIDDLE DOT} the finding: {finding}",
        claims=claims,
    )


def count(verdicts: Sequence[str]) -> str:
    """Return the numbers of the verdicts, such as "5 ✓, 1 ✗", not to be broken before a mark."""
    found = Counter(verdicts)
    return ", ".join(
        f"{found[status]}\N{NO-BREAK SPACE}{MARKS[status]}" for status in COLUMNS if found[status]
    )


def escape(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "*_<>[]`$|{}" else c for c in text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take_over(Path(sys.argv[1]))
    PAGE.write_text(page())
