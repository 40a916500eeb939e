"""Coverage of a paper: which of its figures, tables and statements are reproduced, and by what."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from keyhole.files import read_toml
from keyhole.papers.entry_files import FILES, FOLDER, PAPERS
from keyhole.spec_values import error_message
from keyhole.validate import check_choice

EntryName = Annotated[str, AfterValidator(lambda name: check_choice("entry", name, FILES))]


class Item(BaseModel):
    """A figure, table, numbered statement, comparison or number of a paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str  # its place in the paper, as claims cite it: "Section 5, Comparisons"
    says: str
    # that reproduce it
    entries: list[EntryName] = Field(default_factory=list)
    # import path of the function that computes it; tests compare it with the paper
    function: str = ""
    why: str = ""  # why there is no entry, or none that covers all of it

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if not self.entries and not self.why:
            raise ValueError(f"why must be given for {self.name!r}, which has no entries")
        return self

    @property
    def covered(self) -> Literal["by entries", "by tests", "not"]:
        """Whether entries cover it, or else tests of a function, or nothing."""
        if self.entries:
            return "by entries"
        return "by tests" if self.function else "not"


class Coverage(BaseModel):
    """A paper, with all its figures, tables and statements in order.

    Examples
    --------
    >>> paper = Coverage.load("tao2019")
    >>> next(item.entries for item in paper.items if item.name == "Theorem 1")
    ['tao2019-theorem-1']
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    authors: Annotated[list[str], Field(min_length=1)]
    year: int
    venue: str
    arxiv: str = ""
    items: Annotated[list[Item], Field(min_length=1)]

    @property
    def short_citation(self) -> str:
        """The first author, or both of two, and the year."""
        first, *others = [name.partition(", ")[0] for name in self.authors]
        authors = first
        if len(others) == 1:
            authors = f"{first} and {others[0]}"
        elif others:
            authors = f"{first} et al."
        return f"{authors} ({self.year})"

    @classmethod
    def load(cls, paper: str) -> Self:
        """Read the coverage of a paper, by the folder of its entries."""
        file = f"{check_choice('paper', paper, PAPERS)}/paper.toml"
        try:
            return cls.model_validate(read_toml(FOLDER / file))
        except ValidationError as error:
            raise ValueError(f"{file}: {error_message(error)}") from None
