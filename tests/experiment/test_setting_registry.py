import re
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import keyhole
from keyhole.experiment import Spec, setting_registry
from keyhole.experiment.setting_registry import BUILT_IN, find_setting


@pytest.mark.parametrize("setting", BUILT_IN)
def test_environments_of_a_setting_agree_on_their_metrics(setting):
    known = find_setting(setting).metrics
    assert known
    for environment in find_setting(setting).environments:
        for metric in getattr(environment, "metrics", ()):
            assert metric == known[metric.name]


def test_metrics_of_a_setting_are_those_of_its_environments_details_last():
    metrics = find_setting("semibandit").metrics | find_setting("resource").metrics
    assert list(find_setting("resource").metrics)[:5] == [
        "regret", "censored_share", "best_arm_share", "simple_regret", "best_pair_share",
    ]  # fmt: skip
    assert {"gold_agreement", "lemma_19_misses"} < set(find_setting("thresholding").metrics)
    assert list(find_setting("thresholding").metrics)[-1] == "errors"
    assert metrics["regret"].better == "lower"


@pytest.mark.parametrize(
    ("setting", "higher"),
    [
        ("thresholding", {"gold_agreement", "cumulative_reward"}),
        ("stochastic", {"best_share", "cumulative_reward"}),
        ("threshold", {"settled_levels", "reached_share", "cumulative_reward"}),
        ("delayed", {"cumulative_reward"}),
        ("resource", {"best_arm_share", "best_pair_share", "observations", "cumulative_reward"}),
        ("semibandit", set()),
    ],
)
def test_of_what_is_good_more_is_better(setting, higher):
    known = find_setting(setting).metrics
    assert {name for name, metric in known.items() if metric.better == "higher"} == higher


def test_a_module_is_named_after_its_setting():
    for name in BUILT_IN:
        assert find_setting(name).module.SETTING.name == name
        assert getattr(keyhole, name) is find_setting(name).module


@pytest.fixture
def brought(monkeypatch):
    """Return a function that adds settings of packages, given modules by name."""

    def bring(**modules):
        points = []
        for name, found in modules.items():
            for module in found:
                monkeypatch.setitem(sys.modules, module.__name__, module)
                points.append(EntryPoint(name, module.__name__, setting_registry.ENTRY_POINT_GROUP))
        monkeypatch.setattr(
            setting_registry,
            "entry_points",
            lambda group: points if group == setting_registry.ENTRY_POINT_GROUP else [],
        )
        setting_registry._find_plugins.cache_clear()
        setting_registry._load_setting.cache_clear()

    yield bring
    monkeypatch.undo()
    setting_registry._find_plugins.cache_clear()
    setting_registry._load_setting.cache_clear()


def toys(name="toys", module="toy_shop", **other):
    found = ModuleType(module, "Toys.")
    found.SETTING = replace(keyhole.thresholding.SETTING, name=name)
    found.PROBLEM_FACTORIES = {"means": keyhole.thresholding.PROBLEM_FACTORIES["means"]}
    found.__all__ = ["SETTING", "PROBLEM_FACTORIES"]
    for key, value in other.items():
        setattr(found, key, value)
    return found


def test_a_package_adds_a_setting(brought):
    brought(toys=[toys()])
    assert setting_registry.setting_names() == [*BUILT_IN, "toys"]
    assert find_setting("toys").package == "toy_shop"
    assert list(find_setting("toys").problem_factories) == ["means"]
    assert [entry.name for entry in setting_registry.all_settings()] == [*BUILT_IN, "toys"]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"SETTING": None}, "toy_shop.SETTING must be a keyhole.policy.Setting"),
        ({"name": "tosy"}, "toy_shop.SETTING.name must be 'toys', got 'tosy'"),
        (
            {"PROBLEM_FACTORIES": {}},
            "toy_shop.PROBLEM_FACTORIES must be a dict of keyhole.spec_values.ProblemFactory",
        ),
        (
            {"PROBLEM_FACTORIES": {"means": 1}},
            "toy_shop.PROBLEM_FACTORIES['means'] must be a keyhole.spec_values.ProblemFactory",
        ),
        ({"__all__": ["Doll"]}, "toy_shop.__all__ lists 'Doll', which it does not have"),
    ],
)
def test_a_broken_setting_is_named_with_its_reason_and_breaks_no_other(brought, other, reason):
    brought(toys=[toys(**other)])
    text = re.escape(f"the setting 'toys' of toy_shop cannot be used: {reason}")
    with pytest.raises(ValueError, match=f"^{text}$"):
        find_setting("toys")
    with pytest.warns(UserWarning, match=f"^{text}$"):
        assert [entry.name for entry in setting_registry.all_settings()] == list(BUILT_IN)
    assert find_setting("thresholding").policies


def test_a_setting_that_cannot_be_imported_is_one_line(brought, monkeypatch, tmp_path):
    (tmp_path / "toy_shop.py").write_text("raise RuntimeError('no\\nstock')\n")
    monkeypatch.syspath_prepend(tmp_path)
    brought(toys=[toys()])
    monkeypatch.delitem(sys.modules, "toy_shop")
    with pytest.raises(ValueError, match=r"cannot be used: RuntimeError: no stock$"):
        find_setting("toys")


def test_two_packages_cannot_add_one_setting(brought):
    brought(toys=[toys(), toys(module="another_shop")])
    message = "the setting 'toys' of another_shop and toy_shop cannot be used: two packages"
    with pytest.raises(ValueError, match=message):
        find_setting("toys")


def test_a_built_in_setting_is_not_replaced(brought):
    brought(delayed=[toys("delayed")])
    with pytest.warns(UserWarning, match=r"'delayed' of toy_shop is left out: .* Keyhole's own"):
        assert setting_registry.setting_names() == list(BUILT_IN)
    assert find_setting("delayed").module is keyhole.delayed


def test_an_unknown_setting_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"setting must be one of .*\(did you mean 'resource'\?\)"):
        find_setting("resuorce")


GOOD = "from keyhole.thresholding import IndexPolicy\n"


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("def f(:\n", r"SyntaxError: .* \(line 1\)"),
        ("import math\nimport nowhere_to_be_found\n", r"ModuleNotFoundError: .* \(line 2\)"),
        (GOOD + "x = 1\n\ny = 1 / (x - 1)\n", r"ZeroDivisionError: division by zero \(line 4\)"),
        (GOOD + "raise SystemExit(3)\n", r"SystemExit: 3 \(line 2\)"),
        (GOOD + "raise KeyboardInterrupt\n", r"KeyboardInterrupt \(line 2\)"),
        ("class Stop(BaseException): pass\nraise Stop('no')\n", r"Stop: no \(line 2\)"),
        (GOOD + "raise ValueError('one\\ntwo')\n", r"ValueError: one two \(line 2\)"),
        (
            GOOD + "class Mine(IndexPolicy):\n    needs = ('nothing',)\n",
            r"ValueError: Mine.needs must be one of .*got 'nothing' \(line 2\)",
        ),
    ],
    ids=["syntax", "import", "run", "exit", "interrupt", "base", "two lines", "policy"],
)
def test_a_users_file_that_cannot_be_imported_is_one_line(tmp_path, text, code, complaint):
    (tmp_path / "mine.py").write_text(code)
    text = text.replace('name = "LSA"', 'name = "mine.py:Mine"')
    message = rf"^policy\[0\].name: 'mine.py' cannot be imported: {complaint}"
    with pytest.raises(ValueError, match=message) as caught:
        Spec.from_text(text, folder=tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('name = "mine.py:Mine"', r"weight must be given"),
        ('name = "mine.py:Mine"\nweight = -1', r"weight must be at least 0, got -1"),
        ('name = "mine.py:Mine"\nwieght = 1', r"wieght is not known; known are weight \(did you"),
        ('name = "RoundRobin"\nx = 1', "x must be left out: RoundRobin has no parameters"),
        ('name = "labels.csv:Mine"', "name: 'labels.csv' must be a Python file"),
    ],
)
def test_errors_name_the_parameter(tmp_path, text, entry, complaint):
    (tmp_path / "labels.csv").write_text("")
    (tmp_path / "mine.py").write_text(
        "from keyhole import parameter\n" + GOOD + "class Mine(IndexPolicy):\n"
        "    weight: float = parameter(ge=0)\n"
        "    def index(p, pulls, total):\n"
        "        return -pulls\n"
    )
    with pytest.raises(ValueError, match=rf"^policy\[0\].{complaint}"):
        Spec.from_text(text.replace('name = "LSA"', entry), folder=tmp_path)


def test_a_users_class_that_cannot_be_made_is_one_line(tmp_path, text):
    (tmp_path / "mine.py").write_text(
        GOOD + "class Mine(IndexPolicy):\n"
        "    def __post_init__(self):\n"
        "        raise KeyError('oops')\n"
        "    def index(p, pulls, total):\n"
        "        return -pulls\n"
    )
    message = r"^policy\[0\].name: 'mine.py:Mine' cannot be made: KeyError: 'oops' \(line 4\)$"
    with pytest.raises(ValueError, match=message):
        Spec.from_text(text.replace('name = "LSA"', 'name = "mine.py:Mine"'), folder=tmp_path)
