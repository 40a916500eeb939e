"""All entries in one command: one index page, one file of claims, nothing simulated twice."""

import json
import re
from dataclasses import replace

import pytest

import keyhole.clusters.cluster
import keyhole.papers.reproduction
import keyhole.play.simulation_job
from keyhole.clusters.cluster import ClusterLostError
from keyhole.experiment import spec
from keyhole.papers import ENTRY_FILES, Entry, ReproducedEntries, reproduce, reproduce_all
from keyhole.papers.report.judged_entry import verdicts_by_id
from keyhole.papers.report.reproduction_page import write_reproduction_page
from keyhole.papers.reproduction import report_again
from tests.html import check_page
from tests.papers.conftest import draw_nothing, make_once

pytestmark = [
    pytest.mark.interpreted,
    pytest.mark.filterwarnings("ignore:.* gives up no arm within the horizon"),
]
MINE = """
title = "Mine"
source = "my notes"
metrics = ["aggregate_regret"]

[scales.quick]
replications = 12

[scales.paper]
replications = 24

[problems.logged]
title = "Logged"
horizon = 40
problem = { setting = "thresholding", samples = "rewards.csv", threshold = 0.3 }

[[policies]]
name = "LSA"
label = "LSA"

[[claims]]
kind = "estimate"
of = "value"
problems = ["logged"]
text = "No label is ever wrong."
origin = "ours"
source = "my notes."
value = 0.0
"""
FEW = ("tao2019-lemma-19", "pikeburke2018-appendix-f")


def make_few(patch):
    """Leave two entries, with few and short replications."""
    load = Entry.load

    def small(name):
        entry = load(name)
        scale = entry.scales["quick"].model_copy(update={"replications": 3})
        problems = {
            name: one if one.checkpoints else one.model_copy(update={"horizon": 100})
            for name, one in entry.problems.items()
        }
        update = {"scales": {"quick": scale, "paper": scale}, "problems": problems}
        return entry.model_copy(update=update)

    patch.setattr(Entry, "load", small)
    patch.setattr(spec, "make_problem", make_once)
    patch.setattr(
        keyhole.papers.reproduction, "ENTRY_FILES", {name: ENTRY_FILES[name] for name in FEW}
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return what two entries left."""
    out = tmp_path_factory.mktemp("all") / "out"
    with pytest.MonkeyPatch.context() as patch:
        make_few(patch)
        draw_nothing(patch)
        return reproduce_all(out=out, threads=1)


@pytest.fixture
def few(monkeypatch):
    make_few(monkeypatch)


def test_the_index_links_to_all_reports(made):
    page = check_page(made.index.read_text(), known=ENTRY_FILES)
    links = [one.attrs["href"] for one in page.all("a")]
    files = [link.partition("#")[0] for link in links if not link.startswith("#")]
    images = [one.attrs["src"] for one in page.all("img")]
    assert {"claims.json", *(f"entries/{name}/report.html" for name in FEW)} <= set(files)
    assert all((made.index.parent / file).is_file() for file in files + images)
    # Every figure is in the gallery.
    drawn = made.index.parent.glob("entries/*/*.png")
    assert {str(one.relative_to(made.index.parent)) for one in drawn} == set(images)
    for link in links:
        file, _, claim = link.partition("#")
        assert not (file and claim) or f'id="{claim}"' in (made.index.parent / file).read_text()


def test_each_report_links_to_the_index(made):
    for name in FEW:
        report = made.index.parent / "entries" / name / "report.html"
        links = [one.attrs["href"] for one in check_page(report.read_text()).all("a")]
        (back,) = [link for link in links if link.endswith("index.html")]
        assert (report.parent / back).resolve() == made.index.resolve()


def test_every_verdict_is_on_the_index_and_in_the_file(made):
    text, record = made.index.read_text(), json.loads(made.claims.read_text())
    assert len(made.verdicts) == len(record["claims"]) == 6
    assert len(re.findall(r'<a class="square', text)) == len(made.verdicts)
    assert [claim["verdict"] for claim in record["claims"]] == [v.status for v in made.verdicts]


def test_the_index_counts_the_papers_claims_on_their_set_ups_apart(made):
    papers, replicas, ours = made.counts
    assert papers.startswith("3 claims of the papers: ")
    assert replicas.startswith("2 claims of the papers on set-ups of ours: ")
    assert ours.startswith("1 check of Keyhole's own: ")


def test_each_entry_is_its_own_reproduction(made, few, plain_figures):
    again = report_again(made.index.parent / "entries" / FEW[0])
    assert [v.status for v in again.verdicts] == [v.status for v in made.parts[0].verdicts]


def test_a_page_is_rewritten_when_its_statement_is_judged_with_more_runs(made, tmp_path):
    first, other = made.parts
    few = replace(first.verdicts[0], same_as=(other.verdicts[0].id,))
    verdict = replace(
        other.verdicts[0], same_as=(few.id,), replications=9000, status="does not hold"
    )
    parts = {
        first.entry.name: replace(first, verdicts=(few,)),
        other.entry.name: replace(other, verdicts=(verdict,)),
    }
    written = write_reproduction_page(
        tmp_path, [parts[first.entry.name]], verdicts_by_id(parts.values())
    )
    assert [path.name for path in tmp_path.rglob("*.*")] == ["report.html"]
    page = check_page(written.read_text())
    links = {one.attrs["href"]: one.words() for one in page.all("a")}
    address = f"../{other.entry.name}/report.html#{verdict.id}"
    assert links[address] == "in 9,000 runs it does not hold"
    assert "1 verdict from another entry." in page.words()


def test_nothing_is_left_but_results(made):
    names = {path.name for path in made.index.parent.iterdir()}
    assert names == {"index.html", "claims.json", "everything.json", "entries"}


def test_a_second_call_simulates_nothing(made, few, plain_figures, monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", None)
    again = reproduce_all(out=made.index.parent, threads=1)
    assert isinstance(again, ReproducedEntries)
    assert [v.detail for v in again.verdicts] == [v.detail for v in made.verdicts]


def test_results_of_another_paper_are_kept(made, few, plain_figures):
    found = reproduce_all(out=made.index.parent, paper="tao2019", threads=1)
    assert {v.id.partition("/")[0] for v in found.verdicts} == set(FEW)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": "large"}, "scale must be one of quick, paper"),
        ({"paper": "tao2018"}, r"paper must be one of .*did you mean 'tao2019'"),
        ({"threads": 0}, r"threads must lie in \[1, 1024\]"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(few, tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        reproduce_all(out=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_a_batch_that_cannot_reach_its_cluster_leaves_no_folder(few, tmp_path, monkeypatch):
    def gone(*_, **__):
        raise ClusterLostError("there is no answer")

    monkeypatch.setattr(keyhole.clusters.cluster, "connect", gone)
    with pytest.raises(ClusterLostError):
        reproduce_all(out=tmp_path / "out", on="dask=tcp://10.0.0.1:8786")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_refused(made, few, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds something else; choose another folder"):
        reproduce_all(out=tmp_path)
    with pytest.raises(ValueError, match="holds reproductions at scale 'quick'"):
        reproduce_all(out=made.index.parent, scale="paper")


def test_every_entry_belongs_to_its_paper_or_to_none():
    assert {Entry.load(name).paper for name in ENTRY_FILES} == {
        *keyhole.papers.reproduction.PAPERS,
        "",
    }


def test_an_entry_of_the_users_own_is_run_by_the_same_rules(tmp_path, plain_figures):
    (tmp_path / "rewards.csv").write_text("arm,reward\na,1\na,0\nb,1\n")
    mine = tmp_path / "mine.toml"
    mine.write_text(MINE)
    found = reproduce(str(mine), out=tmp_path / "out", threads=1)
    assert [(v.id, v.status) for v in found.verdicts] == [("mine/1", "holds")]
    assert [v.status for v in report_again(tmp_path / "out").verdicts] == ["holds"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("LSA", "LSB"), "mine.toml: .*did you mean 'LSA'"),
        (("kind = ", "kidn = "), "mine.toml: claims"),
        (("[[claims]]", "[[claims"), "mine.toml is not valid TOML: "),
        (("rewards.csv", "gone.csv"), "gone.csv"),
    ],
)
def test_an_error_in_a_users_entry_is_named(tmp_path, change, message):
    (tmp_path / "rewards.csv").write_text("arm,reward\na,1\na,0\nb,1\n")
    (tmp_path / "mine.toml").write_text(MINE.replace(*change))
    with pytest.raises((ValueError, OSError), match=message):
        reproduce(str(tmp_path / "mine.toml"), out=tmp_path / "out")


def test_a_missing_entry_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*mine\.toml"):
        reproduce(str(tmp_path / "mine.toml"), out=tmp_path / "out")


def test_a_folder_of_a_newer_version_is_named_so(few, tmp_path):
    marker = tmp_path / "everything.json"
    marker.write_text('{"format": "keyhole-everything", "version": 2, "scale": "quick"}')
    with pytest.raises(ValueError, match="was written by a newer version of Keyhole"):
        reproduce_all(out=tmp_path)
    assert list(tmp_path.iterdir()) == [marker]


def test_a_project_that_is_moved_is_resumed(tmp_path, plain_figures, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "rewards.csv").write_text("reward,arm\n" + "0.2,cat\n0.4,dog\n" * 5)
    (old / "mine.toml").write_text(MINE)
    first = reproduce(str(old / "mine.toml"), out=old / "results")
    old.rename(new)
    with pytest.raises(FileNotFoundError, match="belongs to an entry that was moved or removed"):
        report_again(new / "results")
    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", None)
    again = reproduce(str(new / "mine.toml"), out=new / "results")
    assert again.verdicts == first.verdicts
    assert report_again(new / "results").verdicts == first.verdicts
