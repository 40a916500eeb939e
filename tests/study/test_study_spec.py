import pytest

from keyhole.study import Study, StudyExistsError, UnknownArmError
from keyhole.thresholding import APT, LSA
from tests.study.studies import labels

pytestmark = pytest.mark.interpreted

TABLE = {
    "setting": "thresholding",
    "name": "labels",
    "arms": ["cat", "dog"],
    "policy": {"name": "LSA", "alpha": 2},
    "timeout": "1h",
    "on_timeout": "ask_again",
    "facts": {"threshold": 0.5},
}
OWN = """
from keyhole.stochastic import UCB1

raise SystemError("this file was run")
"""


def test_a_table_describes_a_study(address):
    with Study.create_from(address, TABLE) as study:
        assert study.policy == LSA(alpha=2)
        assert study.arms == ("cat", "dog")
        assert study.definition.rule.timeout == 3600
        assert study.definition.facts["threshold"] == 0.5
        study.ask()
    with Study.create_from(address, TABLE, exist_ok=True) as study:
        assert study.pending_count == 1
    assert TABLE["facts"] == {"threshold": 0.5}


def test_costs_are_read_as_in_a_file(tmp_path):
    cost = {"function": "Power", "slope": 0.01}
    table = {"setting": "resource", "name": "runs", "arms": ["a"], "policy": "RCUCB"}
    facts = {"limits": [1, 10], "cost": cost, "penalty": cost}
    with Study.create_from(tmp_path / "s.db", table | {"facts": facts}) as study:
        assert study.ask().arm == "a"


@pytest.mark.parametrize("name", ["/own.py:Mine", "own.py:Mine", "own.py", "nowhere.py:Mine"])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_with_a_policy_is_run_only_if_that_is_allowed(tmp_path, name, as_text):
    (tmp_path / "own.py").write_text(OWN)
    name = name.replace("/own", f"{tmp_path}/own")
    table = TABLE | {"policy": name if as_text else {"name": name}}
    with pytest.raises(ValueError, match=r"^policy\.name must be a policy of Keyhole here, got"):
        Study.create_from(tmp_path / "s.db", table, folder=tmp_path)
    with pytest.raises(ValueError, match=r"this file was run|has no|must be|there is no file"):
        Study.create_from(tmp_path / "s.db", table, folder=tmp_path, own_policies=True)
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"arm": ["a"]}, "an entry must be one of .*did you mean 'arms'"),
        (
            {"threshold": 0.5},
            r"^threshold must be an entry of facts \(in a file, below the heading "
            r"\[facts\]\), since it is a fact of the setting 'thresholding'$",
        ),
        ({"setting": "threshold", "feedback": "censored"}, "^feedback must be an entry of facts"),
        ({"interpreted": True}, "^an entry must be one of .*; got 'interpreted'$"),
        ({"setting": ["x"], "threshold": 0.5}, "^an entry must be one of .*; got 'threshold'"),
        ({"policy": 3}, "policy must be a table, got 3"),
        ({"policy": {"name": 3}}, "policy.name must be"),
        ({"policy": {"alpha": 3}}, "policy.name must be given"),
        ({"policy": {"name": "LSA", "beta": 3}}, "policy.*beta"),
        ({"policy": "UCB1"}, "policy.name must be one of"),
        ({"policy": {"name": "PerArmStopping", "base": "own.py:Mine"}}, "base.name must be one of"),
        ({"facts": [1]}, "facts must be a table"),
        ({"facts": {"threshold": 0.5, "name": "x"}}, "facts must have no entry 'name'"),
        ({"facts": {"threshold": 0.5, "exist_ok": True}}, "exist_ok"),
        ({"facts": {"threshold": 0.5, "storage": "x"}}, "storage"),
        ({"setting": 3}, "setting must be one of"),
        ({"arms": 3}, "arms must"),
        ({"name": 3}, "name must"),
        ({"seed": "x"}, "seed must"),
    ],
)
def test_a_table_that_describes_none_is_refused(tmp_path, change, text):
    with pytest.raises((TypeError, ValueError), match=text):
        Study.create_from(tmp_path / "s.db", TABLE | change)
    assert not (tmp_path / "s.db").exists()


def test_entries_that_are_missing_are_named(tmp_path):
    for entry in ("setting", "name", "arms", "policy"):
        table = {name: value for name, value in TABLE.items() if name != entry}
        with pytest.raises(ValueError, match=f"a study must have the entry '{entry}'"):
            Study.create_from(tmp_path / "s.db", table)
    with pytest.raises(TypeError, match="table must be a table, got 3"):
        Study.create_from(tmp_path / "s.db", 3)


def test_a_study_that_is_there_is_opened_if_it_is_the_same(address):
    with labels(address) as study:
        study.add_arm("d")
        study.retire("a")
        study.ask()
    with labels(address, exist_ok=True) as study:
        assert study.pending_count == 1
        with pytest.raises(UnknownArmError):
            study.retire("a")
    with pytest.raises(StudyExistsError, match="name must be new, got 'labels'"):
        labels(address)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"arms": ["a", "b"]}, r"; arms is \['a', 'b', 'c'\], not \['a', 'b'\]$"),
        ({"seed": 7}, "in that study seed is 0, not 7$"),
        ({"policy": LSA(alpha=3)}, "in that study parameters is .*1.35.*, not .*3"),
        ({"threshold": 0.25}, "in that study facts is .*0.5.*, not .*0.25"),
        ({"timeout": 5, "seed": 1}, "in that study rule is .*; seed is 0, not 1$"),
        ({"policy": APT()}, "in that study policy is 'LSA', not 'APT'; module is"),
    ],
)
def test_another_study_of_the_same_name_is_refused_with_what_differs(tmp_path, options, text):
    labels(tmp_path / "s.db").close()
    with pytest.raises(StudyExistsError, match=text):
        labels(tmp_path / "s.db", exist_ok=True, **options)
