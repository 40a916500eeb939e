"""Coverage of a paper: the entries or tests that reproduce its figures, tables and statements."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from keyhole.files import read_toml
from keyhole.papers.entry_files import ENTRY_FILES, FOLDER, PAPERS
from keyhole.papers.field_types import TableModel
from keyhole.spec_values import error_message
from keyhole.validation import check_choice

EntryName = Annotated[str, AfterValidator(lambda name: check_choice("entry", name, ENTRY_FILES))]


class PaperItem(TableModel):
    """A figure, table, numbered statement, comparison or number of a paper."""

    name: str  # its place in the paper, as claims cite it: "Section 5, Comparisons"
    says: str
    entries: list[EntryName] = Field(default_factory=list)  # the entries that reproduce it
    # the import path of a function that computes the item; tests compare its values with the
    # paper's
    function: str = ""
    why: str = ""  # the reason why entries do not cover all of it

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if not self.entries and not self.why:
            raise ValueError(f"why must be given for {self.name!r}, which has no entries")
        return self

    @property
    def coverage(self) -> Literal["by entries", "by tests", "not"]:
        """Whether entries cover the item, only tests of its function do, or nothing does."""
        if self.entries:
            return "by entries"
        return "by tests" if self.function else "not"


class Coverage(TableModel):
    """A paper with all its figures, tables and statements, in order.

    Examples
    --------
    >>> paper = Coverage.load("tao2019")
    >>> next(item.entries for item in paper.items if item.name == "Theorem 1")
    ['tao2019-theorem-1']
    """

    title: str
    authors: Annotated[list[str], Field(min_length=1)]
    year: int
    venue: str
    arxiv: str = ""
    items: Annotated[list[PaperItem], Field(min_length=1)]

    @property
    def short_citation(self) -> str:
        """The family names of up to two authors, or the first with "et al.", and the year."""
        names = [name.partition(", ")[0] for name in self.authors]
        if len(names) > 2:
            names = [f"{names[0]} et al."]
        return f"{' and '.join(names)} ({self.year})"

    @classmethod
    def load(cls, paper: str) -> Self:
        """Read the coverage of a paper, given the name of its folder."""
        file = f"{check_choice('paper', paper, PAPERS)}/paper.toml"
        try:
            return cls.model_validate(read_toml(FOLDER / file))
        except ValidationError as error:
            raise ValueError(f"{file}: {error_message(error)}") from None
