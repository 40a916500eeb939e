import json
import re
import shutil
from dataclasses import replace

import pytest

import keyhole.clusters.cluster
import keyhole.papers.reproduction
import keyhole.play.progress
import keyhole.play.simulation_job
from keyhole import load_run
from keyhole.clusters.cluster import ClusterLostError
from keyhole.experiment import spec
from keyhole.papers import Entry, demo, is_reproduction_folder, report_again, reproduce
from tests.html import check_page
from tests.papers.conftest import draw_nothing, make_once


@pytest.fixture
def done(load, reproduced, tmp_path):
    """Return a copy of a reproduction."""
    copied = shutil.copytree(reproduced.report.parent, tmp_path / "out")
    return replace(reproduced, report=copied / reproduced.report.name)


def test_a_reproduction_judges_every_claim(done):
    assert [(v.claim, v.status) for v in done.verdicts] == [
        ("Easy: No label is ever wrong.", "holds"),
        ("Hard: No label is ever wrong.", "does not hold"),
        ("Uniform on Easy, Hard: An arm near the threshold makes the problem hard.", "holds"),
    ]


def test_the_report_holds_claims_figures_and_tables(done):
    text = done.report.read_text()
    check_page(text)
    assert done.report.name == "report.html"
    for words in ("A tiny entry", "does not hold", "Two problems &amp; two policies.", "<svg"):
        assert words in text
    for words in ("Far from the threshold.", "Provenance", "Holm"):
        assert words in text


def test_the_report_needs_no_network(done):
    text = done.report.read_text()
    assert not re.search(r"src=|<link|@import|url\((?!#)", text)


def test_there_are_figure_files_for_the_metrics_of_each_problem(done):
    kinds = ("svg", "png", "pdf")
    names = {path.name for kind in kinds for path in done.report.parent.glob(f"*.{kind}")}
    stems = {f"{p}-aggregate_regret{more}" for p in ("easy", "hard") for more in ("", "-ratio")}
    assert names == {f"{s}.{k}" for s in (*stems, "overview-1") for k in kinds}


def test_the_report_shows_parameter_figures_and_ratios(done):
    text = done.report.read_text()
    assert ">Wrong labels against the number of arms</h2>" in text
    (chart,) = [
        one for one in check_page(text).all("figure") if one.attrs["id"] == "chart-overview-1"
    ]
    assert "Wrong labels against the number of arms" in chart.words()
    assert '<th scope="col">arms = 2</th><th scope="col">arms = 3</th>' in text
    assert text.count("mean number of wrong labels / that of Uniform</div>") == 2
    assert "delta method" in text


def test_the_report_shows_published_values(done):
    tables = check_page(done.report.read_text()).all("table")
    (one,) = [table for table in tables if "Table 1." in table.all("caption")[0].words()]
    cells = [[cell.words() for cell in row.inner][:3] for row in one.all("tr")[1:]]
    assert cells == [
        ["Easy: Uniform", "60", "0.50"],
        ["Hard: LSA", "60", "0.25"],
        ["Hard: Uniform", "60", "1.00"],
    ]


def test_runs_can_be_read_back(done):
    curves = load_run(done.report.parent / "hard")
    assert curves.labels == ("LSA", "Uniform")
    assert curves.replications == 40


def test_an_interrupted_reproduction_resumes(load, plain_figures, tmp_path, monkeypatch):
    out, played = tmp_path / "out", []
    real = keyhole.play.simulation_job.simulate_replications

    def failing(self, label, part, **kwargs):
        played.append(type(self.policies[label]).__name__)
        if len(played) == 3:
            raise KeyboardInterrupt
        return real(self, label, part, **kwargs)

    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", failing)
    with pytest.raises(KeyboardInterrupt):
        reproduce("tiny", out=out, threads=1)
    again = reproduce("tiny", out=out, threads=1)
    assert played == ["LSA", "RoundRobin", "LSA", "LSA", "RoundRobin"]
    assert len(again.verdicts) == 3


def test_a_second_reproduction_simulates_nothing(done, load, plain_figures, monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", None)
    assert reproduce("tiny", out=done.report.parent, threads=1).verdicts == done.verdicts


def test_the_report_can_be_written_again(done, load, only_svg):
    before = done.report.read_text()
    done.report.unlink()
    assert is_reproduction_folder(done.report.parent)
    assert report_again(done.report.parent).verdicts == done.verdicts
    assert done.report.read_text() == before


def test_a_folder_of_another_scale_is_refused(done, load):
    with pytest.raises(ValueError, match="holds another reproduction"):
        reproduce("tiny", scale="paper", out=done.report.parent, threads=1)


@pytest.mark.parametrize("again", [reproduce, None])
def test_a_folder_of_something_else_is_refused_and_left_alone(load, tmp_path, again):
    (tmp_path / "thesis.tex").write_text("chapter 1")
    with pytest.raises(ValueError, match="something other than a reproduction"):
        reproduce("tiny", out=tmp_path) if again else report_again(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_folder_is_refused(load, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="out must be a folder"):
        reproduce("tiny", out=tmp_path / "file")


def test_a_newer_marker_is_refused(done, load):
    marker = done.report.parent / "reproduction.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"version": 99}))
    with pytest.raises(ValueError, match="newer version"):
        report_again(done.report.parent)


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": 3},
        {"parts": 3},
        {"parts": [3]},
        {"parts": [{}]},
        {"parts": [{"entry": "no such", "scale": "quick", "problems": ["one"]}]},
        {"parts": [{"entry": "tiny", "scale": "huge", "problems": ["one"]}]},
        {"parts": [{"entry": "tiny", "scale": "quick", "problems": ["no such"]}]},
        {"parts": [{"entry": "tiny", "scale": "quick", "problems": []}]},
    ],
    ids=str,
)
def test_a_damaged_marker_is_refused(done, load, wrong):
    marker = done.report.parent / "reproduction.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | wrong))
    with pytest.raises(ValueError, match=r"reproduction.json is damaged: "):
        report_again(done.report.parent)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": "huge"}, "scale must be one of quick, paper"),
        ({"threads": 0}, "threads must lie"),
    ],
)
def test_bad_arguments_leave_nothing_behind(load, tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        reproduce("tiny", out=tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_a_reproduction_that_cannot_reach_its_cluster_leaves_no_folder(load, tmp_path, monkeypatch):
    def gone(*_, **__):
        raise ClusterLostError("there is no answer")

    monkeypatch.setattr(keyhole.clusters.cluster, "connect", gone)
    with pytest.raises(ClusterLostError):
        reproduce("tiny", out=tmp_path / "out", on="dask=tcp://10.0.0.1:8786")
    assert not (tmp_path / "out").exists()


def make_small(patch):
    """Make the demo small: its entries keep their problems, policies and claims."""
    real = Entry.load

    def small(name):
        entry = real(name)
        scale = entry.scales["paper"].model_copy(update={"replications": 2, "checkpoints": 5})
        return entry.model_copy(update={"scales": {"quick": scale, "paper": scale}})

    patch.setattr(Entry, "load", small)
    patch.setattr(spec, "make_problem", make_once)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return a small demo, and what its policies yielded."""
    yielded, real = {}, keyhole.play.simulation_job.simulate_replications

    def kept(self, label, part, **kwargs):
        return yielded.setdefault((self.horizon, label, part), real(self, label, part, **kwargs))

    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        draw_nothing(patch)
        patch.setattr(keyhole.play.simulation_job, "simulate_replications", kept)
        return demo(tmp_path_factory.mktemp("demo") / "demo", threads=1), yielded


@pytest.mark.interpreted
def test_the_demo_is_set_up_1_and_bluebirds_in_one_report(shown):
    shown, _ = shown
    text = shown.report.read_text()
    assert "Set-up 1" in text
    assert "Bluebirds" in text
    for label in ("LSA", "APT(.05)", "UCBE(4)", "Opt-KG(.5,.5)", "Uniform"):
        assert label in text
    assert {p.name for p in shown.report.parent.iterdir() if p.is_dir()} == {"setup1", "bluebirds"}


@pytest.mark.interpreted
def test_a_demo_of_other_code_is_replaced(shown, plain_figures, monkeypatch):
    make_small(monkeypatch)
    shown, yielded = shown
    folder, played = shown.report.parent, []

    def counted(self, label, part, **kwargs):
        played.append(label)
        return yielded[self.horizon, label, part]

    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", counted)
    assert demo(folder, threads=1).verdicts == shown.verdicts
    assert not played
    monkeypatch.setattr(keyhole.papers.reproduction, "run_digest", lambda spec: "of other code")
    assert demo(folder, threads=1).verdicts == shown.verdicts
    assert len(played) > 10


def test_a_demo_does_not_replace_anything_else(done, monkeypatch):
    marker = done.report.parent / keyhole.papers.reproduction.MARKER_FILE
    text = json.loads(marker.read_text())
    text["parts"] = [{"entry": "tao2019-setup3", "scale": "quick", "problems": ["setup3"]}]
    marker.write_text(json.dumps(text))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="holds another reproduction"):
        demo(done.report.parent, threads=1)


def test_progress_names_the_problem(load, plain_figures, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(keyhole.play.progress, "_SECONDS_BETWEEN_TOTALS", 0.0)
    reproduce("tiny", out=tmp_path / "out", threads=1, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert " % of all rounds; tiny/easy: LSA" in captured.err
