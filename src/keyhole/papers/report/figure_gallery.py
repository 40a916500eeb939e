"""Gallery: small figures of each reproduced experiment, with its question and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from keyhole.pages.page import Answer
from keyhole.papers.report.entry_answer import entry_answer
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import Verdict


@dataclass(frozen=True)
class Thumbnail:
    """A figure of an entry."""

    file: str  # from the index
    alt: str


@dataclass(frozen=True)
class GalleryTile:
    """An entry with its figures, the main one first."""

    part: JudgedEntry
    answer: Answer
    thumbnails: Sequence[Thumbnail]

    @property
    def status(self) -> str:
        """What became of the paper's claims; empty where it judges none."""
        return self.answer.status

    @property
    def words(self) -> str:
        """The answer in a word."""
        return self.answer.mark or (self.answer.status if self.status else "Checks alone.")

    @property
    def page(self) -> str:
        """The address of the entry's page."""
        return f"entries/{self.part.entry.name}/report.html"


@dataclass(frozen=True)
class FigureGallery:
    """Tiles of entries, in a grid."""

    tiles: Sequence[GalleryTile]
    template: ClassVar[str] = "papers/report/templates/figure_gallery.html.j2"


def gallery_tile(part: JudgedEntry, known: Mapping[str, Verdict]) -> GalleryTile:
    """Return the tile of an entry; `known` are all verdicts by id."""
    answer = next(one for one in entry_answer(part, known, "") if isinstance(one, Answer))
    return GalleryTile(part, answer, _thumbnails(part))


def _thumbnails(part: JudgedEntry) -> list[Thumbnail]:
    """Return all figures of an entry: against parameters, of problems, and of metrics."""
    entry, shown = part.entry, list[tuple[str, str]]()
    shown += [(f"overview-{i}", one.title) for i, one in enumerate(entry.parameter_figures, 1)]
    shown += [(f"drawing-{i}", one.title) for i, one in enumerate(entry.problem_figures, 1)]
    for problem, curves in part.curves.items():
        for metric in part.metrics_of(problem):
            title = f"{entry.problems[problem].title}: {curves.metric(metric).title}"
            shown.append((f"{problem}-{metric}", title))
            if entry.ratio_to is not None:
                ratio = f"{title} relative to {entry.ratio_to}"
                shown.append((f"{problem}-{metric}-ratio", ratio))
    return [Thumbnail(f"entries/{entry.name}/{name}.png", title) for name, title in shown]
