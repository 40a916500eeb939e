"""The pages of the reference, and the pictures of settings, that tools write."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import keyhole.semibandit
from tools import draw_models, write_papers, write_reference

WIDE = 9.5  # a letter of 16 px in the widest of usual fonts, on average
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", draw_models.PICTURES)
def test_words_of_a_picture_lie_within_it(name):
    height, draw = draw_models.PICTURES[name]
    root = ElementTree.fromstring(draw_models.picture(height, draw()))
    texts = root.findall(f"{SVG}text")
    assert len(texts) > 5
    for text in texts:
        width = WIDE * len(text.text or "")
        share = {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
        begin = float(text.get("x")) - share * width
        assert begin >= 0, text.text
        assert begin + width <= draw_models.WIDTH, text.text
        assert 12 < float(text.get("y")) < height, text.text


def test_the_page_of_a_policy_leads_to_its_guide_and_has_its_rows_of_the_benchmark():
    pages = write_reference.pages()
    text = pages[write_reference.class_page("keyhole.semibandit", "CSBDT")]
    assert "[censored semi-bandits](../../semibandit.md)" in text
    rows = [line for line in text.splitlines() if line.startswith("| Each arm has a threshold")]
    assert ["| `CSBDT(as_printed=0)` |" in row for row in rows] == [True, False]
    other = pages[write_reference.class_page("keyhole.thresholding", "PerArmStopping")]
    assert "It is not in [the benchmark](../../benchmark.md)." in other
    assert "## Measured" not in other


def test_kernels_and_states_are_not_shown():
    hidden = write_reference.hidden_members(keyhole.semibandit.CSBDT)
    assert {"State", "select", "update", "recommend"} <= hidden
    assert "search_rounds" not in hidden


def test_a_page_without_a_place_for_its_classes_is_refused():
    with pytest.raises(ValueError, match=r"the page of keyhole\.tune must have the lines <!-- cl"):
        write_reference.with_classes("# keyhole.tune\n", "keyhole.tune", ("Tuner",))


def test_the_page_of_papers_has_every_claim_of_every_entry():
    assert write_papers.PAGE.read_text() == write_papers.page(), "python tools/write_papers.py"


def test_verdicts_are_taken_over_by_the_place_of_the_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(write_papers, "VERDICTS", tmp_path / "verdicts.json")
    write_papers.write_verdicts({"one": ["holds"], "two": ["holds"]})
    claims = [
        {"entry": "two", "id": f"two/{place}", "verdict": verdict}
        for place, verdict in [(10, "undecided"), (9, "does not hold")]
    ]
    file = tmp_path / "claims.json"
    file.write_text(json.dumps({"claims": claims}))
    write_papers.take_over(file)
    found = write_papers.read_verdicts()
    assert found == {"one": ["holds"], "two": ["does not hold", "undecided"]}


def test_an_entry_whose_claims_have_changed_must_be_run_again():
    entry = type("Entry", (), {"claims": [1, 2], "title": "An entry"})
    with pytest.raises(ValueError, match="one has 2 claims, and 1 verdicts: run it again"):
        write_papers.section("one", entry, ["holds"])


def test_the_fold_of_an_entry_and_the_finding_about_it_link_to_each_other():
    findings = {file.name: file.read_text() for file in write_papers.FINDINGS.glob("[!i]*.md")}
    links = write_papers.find_findings()
    for name, text in findings.items():
        entries = [entry for entry, link in links.items() if link.endswith(f"(findings/{name})")]
        assert entries, (
            f"docs/findings/{name} has no line 'The claims about it, with verdicts: ...'"
        )
        assert f"keyhole reproduce {entries[0]} " in text
    page = write_papers.PAGE.read_text()
    for entry, link in links.items():
        assert f"`keyhole reproduce {entry}` \N{MIDDLE DOT} the finding: {link}\n" in page


def test_a_number_is_not_parted_from_its_mark():
    assert write_papers.count(["holds", "undecided"]) == "1\u00a0\u2713, 1\u00a0?"
