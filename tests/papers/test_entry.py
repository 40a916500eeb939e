from pathlib import Path

import pytest

import keyhole.papers
from keyhole import papers
from keyhole.papers import ENTRY_FILES, SCALES, Entry
from keyhole.papers.entry_files import PAPERS
from tests.papers.conftest import entry_of

FOLDER = Path(keyhole.papers.__file__).parent
SHARED = {
    "pikeburke2018/policies.toml",
    "abernethy2016/policies.toml",
    "bengs2022/policies.toml",
    "verma2019/policies.toml",
    "tao2019/policies.toml",
    "tao2019/setups.toml",
}
pytestmark = pytest.mark.usefixtures("problems_made_once")
each_entry = pytest.mark.parametrize("name", ENTRY_FILES)


def test_every_file_is_an_entry_or_shared_by_entries():
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.toml")}
    tables = {"entries.toml", "claims/former_kinds.toml"}
    papers = {f"{paper}/paper.toml" for paper in PAPERS}
    assert found == set(ENTRY_FILES.values()) | SHARED | papers | tables


@each_entry
def test_shipped_entries_pass_the_checks_of_a_users_file(name):
    path = FOLDER / ENTRY_FILES[name]
    found = Entry.from_file(path.parent, path.name, name)  # makes every problem at every scale
    assert found.model_dump() == entry_of(name).model_dump()
    assert tuple(found.scales) == SCALES
    for problem in found.problems.values():
        assert problem.checkpoints is None or problem.checkpoints[-1] == problem.horizon


@each_entry
def test_claims_name_their_source_and_end_as_sentences(name):
    entry = entry_of(name)
    for claim in entry.claims:
        assert claim.text.rstrip('"').endswith((".", ").")) or claim.text.endswith('"')
        assert claim.source.endswith(".")
        assert claim.reading == "" or claim.reading.endswith(".")
        if claim.origin.startswith("paper"):
            assert "section" in claim.source or "Figure" in claim.source


def test_a_statement_that_several_entries_judge_is_named_both_ways():
    claims = {claim.id: claim for name in ENTRY_FILES for claim in entry_of(name).claims}
    pairs = [(claim, other) for claim in claims.values() for other in claim.same_as]
    assert len(pairs) >= 10
    for claim, other in pairs:
        assert other in claims
        assert claim.id in claims[other].same_as
        assert other.partition("/")[0] != claim.id.partition("/")[0]
        assert (claim.metric, claim.origin, claim.setup) == (
            claims[other].metric,
            claims[other].origin,
            claims[other].setup,
        )


@each_entry
def test_claims_say_whose_their_set_ups_are(name):
    entry = entry_of(name)
    for claim in entry.claims:
        if claim.origin == "ours":
            assert claim.setup != "any"  # a claim of ours is of what is run
        if not entry.paper:
            assert (claim.origin, claim.setup) == ("ours", "ours")


@pytest.mark.parametrize(
    "name",
    ["pikeburke2018-figure3a", "pikeburke2018-figure3b", "bengs2022-figure4", "bengs2022-ames"],
)
def test_set_ups_that_could_not_be_read_are_not_the_papers(name):
    entry = entry_of(name)
    assert "could not be read" in entry.about
    assert {claim.setup for claim in entry.claims} == {"replica"}


def test_set_ups_1_to_3_are_run_as_often_as_in_the_paper():
    for name in ("tao2019-setup1", "tao2019-setup2", "tao2019-setup3"):
        entry = entry_of(name)
        assert entry.scales["paper"].replications == 5000
        assert len(entry.policies) == 11


def test_the_set_ups_are_those_of_section_5():
    first, second, third = (
        entry_of(f"tao2019-setup{i}").spec(f"setup{i}", "paper").plan.problem for i in (1, 2, 3)
    )
    tens = [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8]
    assert first.means.tolist() == tens
    assert second.means.tolist() == pytest.approx([0.405 + i / 100 for i in range(20)])
    assert third.means.tolist() == [0.45] * 5 + [0.505] * 5
    assert {p.threshold for p in (first, second, third)} == {0.5}


def test_crowd_budgets_are_shares_of_labels_that_can_be_bought_once():
    entry = entry_of("crowd-labels")
    assert len(entry.problems) == 6
    for problem in entry.problems:
        plan = entry.spec(problem, "quick").plan
        labels = plan.problem.rounds
        assert list(plan.checkpoints) == [labels * quarters // 4 for quarters in (1, 2, 3)]


def test_some_problems_bring_only_claims_about_them():
    entry = entry_of("crowd-labels").with_problems("bluebirds")
    assert list(entry.problems) == ["bluebirds"]
    assert {claim.problem_keys for claim in entry.claims} == {("bluebirds",)}


def test_an_unknown_entry_gets_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'tao2019-alpha'"):
        Entry.load("tao2019-alph")


def test_an_unknown_scale_gets_the_nearest():
    with pytest.raises(ValueError, match="scale must be one of quick, paper; got 'quik'"):
        Entry.load("tao2019-setup1").spec("setup1", "quik")


def test_a_file_with_an_unknown_problem_is_refused(tmp_path):
    (tmp_path / "bad.toml").write_text('title = "x"\nuse.problems = ["nowhere"]\n')
    with pytest.raises(ValueError, match=r"bad\.toml: .*nowhere"):
        Entry.from_file(tmp_path, "bad.toml", "bad")


def test_a_set_up_is_a_problem_by_name():
    assert papers.problem("tao2019-setup1").arms == 10
    assert papers.problem("bengs2022-figure4", "negcorr").arms == 10
    for names, message in [
        (("tao2019-setup9",), "did you mean 'tao2019-setup"),
        (("tao2019-setup1", "setup2"), "problem must be one of setup1; got 'setup2'"),
        (("bengs2022-figure4",), "problem must be given, .* several: poscorr, negcorr, indep"),
        (("mine.toml",), "there is no file mine.toml"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            papers.problem(*names)
