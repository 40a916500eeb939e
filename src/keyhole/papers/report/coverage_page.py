"""Page of which figures and statements of each paper are reproduced, and which are not, and why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.pages.page import Answer, Page, Section, Text, write_page
from keyhole.pages.table import Table
from keyhole.papers.paper_coverage import Coverage, Item


@dataclass(frozen=True)
class CoveredItems:
    """Table of a paper's items, and the entries that cover each."""

    items: Sequence[Item]
    pages: Collection[str]  # the entries that have a page
    template: ClassVar[str] = "papers/report/templates/covered.html.j2"

    @property
    def caption(self) -> str:
        """The numbers of items that entries, tests and nothing cover."""
        kinds = [item.covered for item in self.items]
        return (
            f"{len(kinds)} items: {kinds.count('by entries')} covered by entries, "
            f"{kinds.count('by tests')} by tests, {kinds.count('not')} not."
        )


def write_coverage_page(
    folder: Path, papers: Mapping[str, Coverage], pages: Collection[str]
) -> Path:
    """Write ``coverage.html``; return its path.

    Parameters
    ----------
    folder : Path
        The folder of the index.
    papers : mapping of str to Coverage
        Every paper, by the folder of its entries.
    pages : collection of str
        The entries that have been run.
    """
    items = [item for paper in papers.values() for item in paper.items]
    covered = [item.covered for item in items]
    answer = (
        f"Of {len(items)} figures, tables and statements {covered.count('by entries')} are "
        f"covered by entries, {covered.count('by tests')} by tests, {covered.count('not')} by "
        "nothing."
    )
    page = Page(
        title="What of the papers is covered, and by what",
        answer=[Answer(answer)],
        sections=[
            Section(
                key,
                paper.title,
                [Text(paper.citation), CoveredItems(paper.items, pages)],
                is_open=len(papers) == 1,
            )
            for key, paper in papers.items()
        ],
    )
    return write_page(folder / "coverage.html", page)


def uncovered_table(paper: Coverage) -> Table | None:
    """Return the table of a paper's items that nothing covers, with the reasons; None if empty."""
    rows = [[item.name, item.says, item.why] for item in paper.items if item.covered == "not"]
    if not rows:
        return None
    return Table(paper.short_citation, ["where", "what", "why not"], rows)
