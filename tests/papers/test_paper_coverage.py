"""Checks of the coverage files of papers against the entries and the bibliography."""

import pkgutil
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from keyhole.cli.cite import bibliography
from keyhole.contract.policy import Policy
from keyhole.papers import ENTRY_FILES
from keyhole.papers.entry_files import PAPERS
from keyhole.papers.paper_coverage import Coverage, PaperItem
from tests.papers.conftest import entry_of

COVERAGES = {paper: Coverage.load(paper) for paper in PAPERS}
ITEMS = [item for coverage in COVERAGES.values() for item in coverage.items]
NUMBERED = r"(?:Figure|Table|Theorem|Lemma|Proposition|Corollary|Equation|Example|Appendix) "
NUMBER = r"\(?[A-Z]?\.?\d[\d.]*\)?"
SEVERAL = rf"\b(\w+)s ({NUMBER}(?:(?:, | and | to ){NUMBER})+)"


def mentions(text, name):
    """Whether a text says where it is from as an item does, or with several in one breath."""
    text = text.replace("eq. ", "equation ")
    for word, numbers in re.findall(SEVERAL, text):
        text += "".join(f"; {word} {number}" for number in re.findall(NUMBER, numbers))
    parts = (rf"(?<!\w){re.escape(part)}(?!\w|\.\d)" for part in name.split(", "))
    return all(re.search(part, text, re.IGNORECASE) for part in parts)


def test_names_are_found_alone_and_among_others():
    assert mentions("sections 5.1 and 5.2, Theorems 4 and 5, of OPTIM.", "Section 5.2, Theorem 4")
    assert mentions("section 4, eq. (7).", "Equation (7)")
    assert not mentions("section 5.1, Lemma 14 and Theorem 4.1.", "Section 5")
    assert not mentions("section 5.1, Lemma 14 and Theorem 4.1.", "Lemma 1")
    assert not mentions("section 5.1, Lemma 14 and Theorem 4.1.", "Theorem 4")


@pytest.mark.parametrize("paper", PAPERS)
def test_numbered_items_are_listed_once(paper):
    items = COVERAGES[paper].items
    names = Counter(item.name for item in items)
    assert [n for n in names if names[n] > 1 and re.match(rf"{NUMBERED}|Algorithm", n)] == []
    assert len({(item.name, item.says) for item in items}) == len(items)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_entry_of_a_paper_covers_something_of_it_and_no_others_do(paper):
    covering = {name for item in COVERAGES[paper].items for name in item.entries}
    assert covering == {name for name, file in ENTRY_FILES.items() if file.startswith(f"{paper}/")}


@pytest.mark.parametrize("name", [name for name, file in ENTRY_FILES.items() if "/" in file])
def test_what_a_claim_says_of_a_paper_is_an_item_that_its_entry_covers(name):
    entry = entry_of(name)
    covered = [item for item in COVERAGES[entry.paper].items if name in item.entries]
    for claim in entry.claims:
        if claim.origin.startswith("paper"):
            assert any(mentions(claim.source, item.name) for item in covered), claim.text


def test_an_item_with_a_number_is_named_or_played_by_what_covers_it():
    for item in ITEMS:
        computes = pkgutil.resolve_name(item.function) if item.function else None
        for entry in map(entry_of, item.entries):
            if isinstance(computes, type) and issubclass(computes, Policy):
                assert computes.__name__ in {policy["name"] for policy in entry.policies}
            elif re.match(NUMBERED, item.name):
                texts = [f"{claim.text} {claim.source} {claim.reading}" for claim in entry.claims]
                texts = [entry.title, entry.source, entry.about, *texts]
                assert mentions(" ".join(texts), item.name), item.name


def test_what_is_named_as_computing_an_item_does_and_is_tested():
    for function in {item.function for item in ITEMS if item.function}:
        assert callable(pkgutil.resolve_name(function))
        setting, name = function.split(".")[1], function.rpartition(".")[2]
        tests = (Path(__file__).parents[1] / setting).rglob("test_*.py")
        assert any(re.search(rf"\b{name}\b", path.read_text()) for path in tests), function


@pytest.mark.parametrize("paper", PAPERS)
def test_items_are_sentences(paper):
    for item in COVERAGES[paper].items:
        assert item.says.endswith((".", '."')), item.name
        assert item.why == "" or item.why.endswith("."), item.name


def test_an_item_that_no_entry_covers_needs_a_reason():
    with pytest.raises(ValueError, match="why must be given for 'Lemma 1', which has no entries"):
        PaperItem(name="Lemma 1", says="It is so.", function="math.log")


def test_an_entry_covers_before_a_function_does():
    item = PaperItem(name="Lemma 1", says="It is so.", why="A device.")
    assert item.coverage == "not"
    computed = item.model_copy(update={"function": "math.log"})
    assert computed.coverage == "by tests"
    played = computed.model_copy(update={"entries": ["tao2019-setup1"]})
    assert played.coverage == "by entries"


def test_an_entry_or_paper_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'tao2019-setup1'"):
        PaperItem(name="Figure 1", says="It is so.", entries=["tao2019-setup_1"])
    with pytest.raises(ValueError, match="did you mean 'tao2019'"):
        Coverage.load("tao2018")


def plain(text):
    """Return a text without braces, accents and their commands."""
    text = unicodedata.normalize("NFKD", re.sub(r"[{}]|\\[`'\"]", "", text))
    return "".join(letter for letter in text if not unicodedata.combining(letter))


@pytest.mark.parametrize("paper", PAPERS)
def test_papers_are_as_the_bibliography_has_them(paper):
    entry = bibliography()[paper]
    fields = {key: plain(value) for key, value in re.findall(r"(\w+) = {(.*)},?\n", entry)}
    coverage = COVERAGES[paper]
    assert fields["title"] == coverage.title
    assert fields["author"] == " and ".join(map(plain, coverage.authors))
    assert fields["year"] == str(coverage.year)
    assert coverage.venue in (fields.get("booktitle"), fields.get("journal"))
    for name, file in ENTRY_FILES.items():
        if file.startswith(f"{paper}/"):
            assert ("arXiv" in entry_of(name).source) == bool(coverage.arxiv)
            assert coverage.arxiv in entry_of(name).source
