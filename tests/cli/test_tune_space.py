"""`keyhole tune` of a parameter space."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_figures")

SPEC = """
limits = [0.05, 0.5]
instances = "all/*.txt"
[[arm]]
name = "waits"
command = "sh -c 'sleep {nap}; cat {instance}; echo {much}' -e {much}"
[parameters]
nap = { categories = ["0", "0.2"], default = "0.2" }
much = { range = [1, 9], integer = true, default = 3, when = { nap = "0" } }
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """Return a spec file with three instances, and three kept aside."""
    for folder in ("all", "held"):
        (tmp_path / folder).mkdir()
        for name in "abc":
            (tmp_path / folder / f"{name}.txt").write_text(name)
    (tmp_path / "mine.toml").write_text(SPEC.replace("; echo {much}", ""))
    monkeypatch.chdir(tmp_path)
    return "mine.toml"


def test_all_commands_on_a_space(keyhole, spec, tmp_path):
    code, text, error = keyhole("tune", spec, "--dry-run")
    assert code == 0
    assert "2 parameters, 1 arm, 2 limits, 3 instances" in error
    assert text.startswith("sh -c 'sleep 0.2; cat all/")
    code, text, error = keyhole("tune", spec, "--runs", 12, "--out", "out")
    assert code == 0, error
    for sentence in ("mine: 12 runs in", "best: nap=0", "default, full cut-off", "report: "):
        assert sentence in text
    assert keyhole("tune", "show", "out")[1].startswith("mine: 12 runs in")
    code, text, _ = keyhole("tune", "best", "out")
    assert text.startswith("sh -c 'sleep 0; cat {instance}' -e ")
    best = json.loads(keyhole("tune", "best", "out", "--json")[1])
    assert best["parameters"]["nap"] == "0"
    assert best["default"]["parameters"] == {"nap": "0.2"}
    code, text, error = keyhole("tune", "validate", "out", "--instances", "held/*.txt")
    assert code == 0, error
    assert "kept aside " in text
    assert "kept aside " in keyhole("tune", "best", "out")[1]
    rows = json.loads(keyhole("tune", "show", "out", "--json")[1])["validation"]
    assert rows["recommended"]["gain_over_default"]["value"] > 0.1
    assert keyhole("tune", "report", "out")[1] == "report: out/report.html\n"
    assert keyhole("tune", "export", "out", "--aslib", "scenario")[0] == 0
    code, text, error = keyhole("tune", spec, "--runs", 3, "--out", "next", "--warm-start", "out")
    assert (code, "mine: 3 runs" in text) == (0, True), error
    page = Path("next/report.html").read_text()
    for place in (text, keyhole("tune", "show", "next")[1], page):
        assert "begun with 12 of 12 runs of out, weight 1" in place
    assert "begun with" not in keyhole("tune", "show", "out")[1]


def test_a_validation_on_one_instance_has_values_without_infinite_intervals(keyhole, spec):
    keyhole("tune", spec, "--runs", 12, "--out", "out", "--quiet")
    code, text, error = keyhole("tune", "validate", "out", "--instances", "held/a.txt", "--json")
    assert code == 0, error
    difference = json.loads(text)["validation"]["recommended"]["gain_over_default"]
    assert (difference["low"], difference["high"]) == (None, None)
    text = keyhole("tune", "show", "out")[1]
    assert "kept aside " in text
    assert "inf" not in text


def test_a_tune_of_a_list_is_neither_validated_nor_a_warm_start(keyhole, spec, tmp_path):
    (tmp_path / "list.toml").write_text('limits = [1]\n[[arm]]\nname = "a"\ncommand = "true"\n')
    keyhole("tune", "list.toml", "--runs", 2, "--out", "list", "--quiet")
    words = "list must be a tune with [parameters] in its spec, got one of a list of commands; "
    for command in (
        ("validate", "list", "--instances", "held/*.txt"),
        (spec, "--runs", 2, "--out", "out", "--warm-start", "list"),
    ):
        code, text, error = keyhole("tune", *command)
        assert (code, text, error.count("\n")) == (2, "", 1)
        assert words in error


def test_bad_input_of_a_validation_is_one_line(keyhole, spec):
    keyhole("tune", spec, "--runs", 2, "--out", "out", "--quiet")
    for words, expected in (
        (("--instances", "all/*.txt"), "must not be instances of the tune"),
        (("--instances", "none/*"), "instances must be at least one file, got none for"),
        (("--instances", "held/*", "--workers", 0), "workers must lie in [1, 1024], got 0"),
    ):
        code, text, error = keyhole("tune", "validate", "out", *words)
        assert (code, text, error.count("\n")) == (2, "", 1)
        assert expected in error
