"""The pages of findings say what their commands find."""

import re
from pathlib import Path

import pytest

from keyhole import load_run
from keyhole.papers import ENTRY_FILES, Entry, reproduce
from tests.papers.conftest import entry_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(set(DOCS.glob("findings/*.md")) - {DOCS / "findings" / "index.md"})
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
NUMBER = r"[\d,.]+ ± [\d,.]*\d"
# Of problems or commands that the page describes beside its own.
OTHERS = {
    "rcucb_radius": {"3,404 ± 17", "3,614 ± 32"},
    "delay_by_arm": {"8,230 ± 390"},
}
# The problems in a page's table, where they are few of its entry's: its figure shows all.
IN_TABLE = {
    "csbdt_epsilon": ("e01", "e05", "e10", "e30", "e80"),
    "delay_by_arm": ("late-100", "late-1000", "poor-100", "poor-1000"),
    "delay_regression": ("e10", "e100", "e1000"),
    "rcucb_radius": tuple(
        f"{instance}-{alpha}"
        for instance in ("poscorr", "indep")
        for alpha in ("005", "010", "050", "101")
    ),
}
REFUTED = {"theorem3": 9}  # claims that do not hold: they are the finding


def commands(page):
    return re.findall(r"keyhole reproduce (\S+) --out (\S+) +# (\S+)/overview-1\.png", page)


@each_page
def test_a_finding_has_a_sentence_a_figure_and_its_command(page):
    text = page.read_text()
    ((entry, folder, shown),) = commands(text)
    assert entry in ENTRY_FILES
    assert folder == shown
    assert entry_of(entry).parameter_figures
    (image,) = re.findall(r"!\[[^]]{20,}\]\((\.\./images/finding-\S+\.png)\)", text)
    assert (page.parent / image).read_bytes().startswith(b"\x89PNG")
    title, finding = text.split("\n\n")[:2]
    assert title.startswith("# ")
    assert re.fullmatch(r"\*\*.+\.\*\*", finding, re.DOTALL)
    assert "\n## What to do\n" in text
    assert len(text.splitlines()) <= 110
    index = (page.parent / "index.md").read_text()
    assert f"]({page.name})" in index
    assert f"\n{page.stem}\n" in index


@pytest.mark.slow
@each_page
def test_the_numbers_of_a_finding_are_those_of_its_command(
    page, tmp_path, plain_figures, monkeypatch
):
    ((name, _, _),) = commands(page.read_text())
    entry = entry_of(name)
    if page.stem in IN_TABLE:
        entry = entry.with_problems(*IN_TABLE[page.stem])
    monkeypatch.setattr(Entry, "load", lambda _: entry)
    found = reproduce(name, out=tmp_path / "out")
    unmet = [verdict.id for verdict in found.verdicts if verdict.status != "holds"]
    assert len(unmet) == REFUTED.get(page.stem, 0)
    texts = set()
    for problem in entry.problems:
        curves = load_run(tmp_path / "out" / problem)
        for metric in curves.metrics:
            for label in curves.labels:
                texts.add(curves.estimates(label, metric)[-1].plus_minus())
    numbers = set(re.findall(NUMBER, page.read_text())) - OTHERS.get(page.stem, set())
    assert numbers
    assert numbers - texts == set()
