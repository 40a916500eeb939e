"""`--json` of the commands: one line, which says what the text says."""

import json
import math

import pytest

from keyhole.cli.json_output import print_json


@pytest.fixture
def read(keyhole):
    """Return a function that runs a command with `--json`, and reads its only line."""

    def call(*words):
        code, out, err = keyhole(*words, "--json")
        assert (code, out.count("\n")) == (0, 1), err
        return json.loads(out)

    return call


def test_numbers_that_are_not_finite_are_null(capsys, tmp_path):
    print_json({"a": [1.5, math.inf, (math.nan, 2)], "path": tmp_path})
    content = json.loads(capsys.readouterr().out)
    assert content == {"a": [1.5, None, [None, 2]], "path": str(tmp_path)}


def test_a_run_prints_its_metrics(read, spec, tmp_path):
    found = read("run", spec, "--out", tmp_path / "out", "--quiet")
    (point,) = found["points"]
    assert (point["point"], point["rounds"], point["replications"]) == ({}, 60, 40)
    values = point["metrics"]["simple_regret"]["ours"]
    assert 0.0 <= values["low"] <= values["mean"] <= values["high"] <= 3.0
    assert found["report"] == str(tmp_path / "out" / "report.html")
    assert read("report", tmp_path / "out") == {"report": found["report"]}


def test_a_sweep_prints_each_point(read, spec, tmp_path):
    spec.write_text(spec.read_text() + '[sweep]\n"problem.threshold" = [0.4, 0.5]\n')
    found = read("run", spec, "--out", tmp_path / "out", "--quiet")
    assert [len(point["point"]) for point in found["points"]] == [1, 1]
    assert found["points"][0]["metrics"].keys() == found["points"][1]["metrics"].keys()


def test_a_forecast(read, spec):
    found = read("run", spec, "--dry-run")
    assert (found["points"], found["runs"], found["on"]) == (1, 2, "threads")
    assert found["seconds"] > 0.0


def test_cache_and_doctor(read, monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    assert read("cache", "info")["pieces"] == 0
    assert read("cache", "clear") == {"folder": str(tmp_path), "removed": 0}
    assert {"keyhole", "cores", "slow"} <= read("doctor").keys()


def test_the_list_of_reproductions(read):
    found = {entry["name"]: entry for entry in read("reproduce", "--list")}
    assert found["tao2019-setup1"]["claims"] > 0
    assert found["tao2019-setup1"]["replications"].keys() == {"quick", "paper"}


def test_a_study_is_checked_and_replayed(read, keyhole, tmp_path):
    spec, storage = tmp_path / "study.toml", str(tmp_path / "items.db")
    spec.write_text(
        'setting = "thresholding"\nname = "s"\narms = ["a", "b"]\npolicy = "LSA"\n'
        "facts.threshold = 0.5\n"
    )
    assert keyhole("study", "create", storage, spec)[0] == 0
    decision = read("study", "ask", storage, "s")
    assert keyhole("study", "tell", storage, "s", decision["id"], "reward=1")[0] == 0
    assert read("study", "check", storage) == {
        "is_whole": True,
        "damage": "",
        "studies": [{"name": "s", "events": 2, "whole": 2, "damage": ""}],
    }
    found = read("study", "replay", storage, "s", "Uniform")
    assert (found["policy"], found["asked"], len(found["decisions"])) == ("Uniform()", 1, 1)
