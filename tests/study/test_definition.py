"""The definition says what the bytes of the log mean; a setting that differs is refused."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from keyhole import thresholding
from keyhole.resource import RCUCB, Power
from keyhole.study import Study
from keyhole.study.definition import Definition
from keyhole.study.storage.store import digest_of_definition
from keyhole.thresholding import LSA, PerArmStopping, RoundRobin
from keyhole.thresholding.setting import SETTING
from tests.study.studies import labels

pytestmark = pytest.mark.interpreted

FACTS = {"limits": [1.0, 2.0], "cost": Power(slope=0.1), "penalty": Power(slope=0.1)}


@pytest.fixture
def path(tmp_path):
    """Return a study of runs that was told something."""
    with Study.create(tmp_path / "s.db", "runs", RCUCB(), ["a", "b"], **FACTS) as study:
        study.tell(study.ask().id, reward=0.9, consumption=0.3)
        study.change_policy(RCUCB(alpha=0.5))
        study.export(tmp_path / "runs.jsonl")
    return tmp_path / "s.db"


def redefine(path, change):
    """Change the definition of a study, with the checksum that it then has."""
    with closing(sqlite3.connect(path)) as db, db:
        name, at, definition = db.execute("SELECT name, at, head FROM study").fetchone()
        words = json.loads(definition)
        change(words)
        definition = json.dumps(words).encode()
        digest = digest_of_definition(name, at, definition)
        db.execute("UPDATE study SET head = ?, digest = ?", (definition, digest))
        db.execute("DELETE FROM event")
        db.execute("UPDATE tail SET seq = 0")


def swap(words):
    """Swap reward and consumption, as another version of a setting may."""
    fields = words["setting"]["fields"]["feedback"]
    fields[0], fields[1] = fields[1], fields[0]


def test_a_definition_has_the_fields_of_rows(path):
    with closing(sqlite3.connect(path)) as db:
        words = json.loads(db.execute("SELECT head FROM study").fetchone()[0])
    assert words["setting"] == {
        "name": "resource",
        "version": 1,
        "fields": {
            "context": [],
            "decision": [["arm", "int64", []], ["limit", "float64", []]],
            "feedback": [
                ["reward", "float64", []],
                ["consumption", "float64", []],
                ["exceeded", "int64", []],
            ],
            "notes": [["failed", "int64", []]],
        },
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            swap,
            r"feedback must have the fields reward \(float64\), consumption .*, got consumption",
        ),
        (lambda words: words["setting"].update(version=2), "version 2, but this is .* version 1"),
        (lambda words: words["setting"].update(name="other"), "of the setting 'other', version 1"),
        (lambda words: words["setting"]["fields"]["notes"].clear(), "notes must .*, got none"),
        (
            lambda words: words["setting"]["fields"]["decision"][0].__setitem__(1, "float64"),
            r"decision must .*, got arm \(float64\)",
        ),
        (
            lambda words: words["setting"]["fields"]["decision"][1].__setitem__(2, ["arms"]),
            r"got arm \(int64\), limit \(float64 by arms\) in the log",
        ),
        (lambda words: words["setting"].pop("fields"), "is damaged: KeyError"),
        (lambda words: words.update(setting=3), "is damaged: TypeError"),
    ],
)
def test_a_log_that_means_something_else_is_refused(path, change, why):
    redefine(path, change)
    with pytest.raises(ValueError, match=why) as said:
        Study.open(path, "runs")
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("found", [1, 3])
def test_a_definition_of_another_format_is_refused_and_left_as_it_is(path, found):
    redefine(path, lambda words: words.update(format=found, keyhole="0.0"))
    with closing(sqlite3.connect(path)) as db:
        before = db.execute("SELECT head FROM study").fetchone()
    with pytest.raises(
        ValueError, match=r"made by keyhole 0.0, in a format that keyhole .* does not"
    ):
        Study.open(path, "runs")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT head FROM study").fetchone() == before


@pytest.mark.parametrize("found", [1, 4])
def test_an_export_of_another_version_is_refused(path, tmp_path, found):
    with Study.open(path, "runs") as study:
        study.export(tmp_path / "l.jsonl")
    lines = (tmp_path / "l.jsonl").read_text().splitlines(keepends=True)
    lines[0] = json.dumps(json.loads(lines[0]) | {"version": found}) + "\n"
    (tmp_path / "l.jsonl").write_text("".join(lines))
    with pytest.raises(ValueError, match=r"line 1: it is not an export of version 3 or before"):
        Study.restore(tmp_path / "new.db", tmp_path / "l.jsonl")


def test_an_export_may_have_another_order(path, tmp_path):
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    swap(lines[0]["head"])
    swap(lines[3]["head"])
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Study.restore(tmp_path / "other.db", tmp_path / "other.jsonl") as other:
        assert other.history().to_pylist()[1]["reward"] == 0.9
        other.ask()
    with Study.open(path, "runs") as study, Study.open(tmp_path / "other.db", "runs") as other:
        assert other.log()[:3] == study.log()
    lines[3]["head"]["setting"]["version"] = 2
    (tmp_path / "newer.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match=r"line 4: .* version 2"):
        Study.restore(tmp_path / "newer.db", tmp_path / "newer.jsonl")


@pytest.mark.parametrize(
    "change",
    [{"arms": ("x", "y")}, {"seed": 7}, {"time_unit": 2.0}],
)
def test_a_change_of_policy_changes_nothing_else(change):
    first = Definition.create(LSA(), ["a", "b"], {"threshold": 0.5})
    first.check_successor(first.with_policy(LSA(alpha=0.5), {}))
    with pytest.raises(ValueError, match="must leave arms, rule, seed and units as they are"):
        first.check_successor(replace(first, **change))


@pytest.mark.parametrize("version", [0, -1, 1.5, "1", True])
def test_the_version_of_a_setting_is_a_whole_number(version):
    with pytest.raises((TypeError, ValueError), match="version must"):
        replace(SETTING, version=version)


@pytest.mark.parametrize(
    "change",
    [
        lambda words: words["facts"].update(arms=10**12),
        lambda words: words["facts"].update(arms=-1),
        lambda words: words["facts"].update(arms=2.5),
        lambda words: words.update(arms=["a"] * 5),
        lambda words: words.update(arms=3),
        lambda words: words["facts"].update(limits=[1e400]),
        lambda words: words["facts"].update(limits=[]),
        lambda words: words.update(seed=-1),
        lambda words: words.update(seed=2**80),
        lambda words: words.update(rule={"seconds": -1}),
        lambda words: words.update(rule={"hope": 1}),
        lambda words: words.update(scale=[1, 0]),
        lambda words: words.update(time_unit=float("nan")),
        lambda words: words["parameters"].update(alpha=-1),
        lambda words: words["parameters"].update(beta=1),
        lambda words: words.update(policy="../../etc"),
        lambda words: words.clear(),
    ],
)
def test_a_definition_that_cannot_be_is_refused_in_a_line(path, change):
    redefine(path, change)
    with pytest.raises((TypeError, ValueError)) as said:
        Study.open(path, "runs")
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 600


def test_a_base_class_of_policies_is_refused(tmp_path):
    said = r"policy must be one that decides, got Policy\(\), a base class of others"
    with pytest.raises(TypeError, match=said):
        labels(tmp_path / "s.db", policy=thresholding.Policy())
    with labels(tmp_path / "s.db") as study, pytest.raises(TypeError, match=said):
        study.change_policy(thresholding.Policy())


def test_a_study_whose_policy_had_another_name_goes_on(tmp_path):
    path = tmp_path / "s.db"
    start = path, "labels", RoundRobin(), ["a", "b"]
    Study.create(*start, threshold=0.5).close()
    former = {"policy": "Uniform", "module": "keyhole.thresholding.policies.uniform"}
    redefine(path, lambda words: words.update(former))
    with Study.open(path, "labels") as study:
        assert study.policy == RoundRobin()
        study.tell(study.ask().id, 1)
    with Study.create(*start, threshold=0.5, exist_ok=True) as study:
        assert study.ask().arm == "b"


def test_a_study_whose_policys_base_had_another_name_goes_on(tmp_path):
    path = tmp_path / "s.db"
    start = path, "labels", PerArmStopping(RoundRobin()), ["a", "b"]
    Study.create(*start, threshold=0.5).close()
    redefine(path, lambda words: words["parameters"].update(base={"name": "Uniform"}))
    for study in (Study.open(path, "labels"), Study.create(*start, threshold=0.5, exist_ok=True)):
        with study:
            assert study.policy == PerArmStopping(RoundRobin())


def test_facts_of_another_policy_are_in_the_units_of_the_study(tmp_path):
    start = tmp_path / "s.db", "percent", LSA(), ["a", "b"]
    with Study.create(*start, threshold=40.0, scale=(0, 100)) as study:
        with pytest.raises(ValueError, match=r"^threshold must be 40\.0 as before, got 50\.0$"):
            study.change_policy(RoundRobin(), threshold=50.0)
        study.replay(RoundRobin(), threshold=40.0)
        study.change_policy(RoundRobin(), threshold=40.0)
        assert study.policy == RoundRobin()


@pytest.mark.parametrize("scale", [(0, 1), (0, 4)])
def test_a_fact_of_another_policy_that_is_none_is_refused_as_another_value(tmp_path, scale):
    start = tmp_path / "s.db", "labels", LSA(), ["a", "b"]
    with Study.create(*start, threshold=0.5, scale=scale) as study:
        before = study.policy
        with pytest.raises(ValueError, match=r"^threshold must be 0\.5 as before, got None$"):
            study.change_policy(RoundRobin(), threshold=None)
        assert study.policy == before
