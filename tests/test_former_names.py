"""Names that the reference listed once are found where they were, with a warning."""

import importlib
import pickle
import subprocess
import sys

import pytest

import keyhole.data
import keyhole.papers
from keyhole import stochastic
from keyhole.former_names import find_new_policy
from keyhole.stochastic import BestArmStopping
from keyhole.thresholding import PerArmStopping, RoundRobin
from keyhole.validation import check_vector

MODULES = {
    "keyhole.contract.environment": "Environment",
    "keyhole.contract.index_policy": "IndexPolicy",
    "keyhole.contract.known_quantities": "fact",
    "keyhole.delayed.study_adapter": "StudyVocabulary",
    "keyhole.papers.bengs2022.problem_statistics": "mean_rewards",
    "keyhole.play.arm_learner": "ArmLearner",
    "keyhole.resource.study_adapter": "StudyVocabulary",
    "keyhole.semibandit.study_adapter": "StudyVocabulary",
    "keyhole.stochastic.study_adapter": "StudyVocabulary",
    "keyhole.threshold.study_adapter": "StudyVocabulary",
    "keyhole.thresholding.study_adapter": "StudyVocabulary",
    "keyhole.tune.executor": "CommandExecutor",
    "keyhole.tune.survival": "Survival",
    "keyhole.tune.value_estimates": "ValueEstimates",
    "keyhole.validate": "check_integer",
}
NAMES = {
    "keyhole.benchmark": {"BenchmarkFile": "BenchmarkResults"},
    "keyhole.data": {"aslib": "aslib_problem", "Events": "DailyCounts"},
    "keyhole.distributions": {"TabulatedDistribution": "TabulatedSciPyDistribution"},
    "keyhole.experiment": {"open_run": "load_run_folder"},
    "keyhole.papers": {"FILES": "ENTRY_FILES", "is_reproduction": "is_reproduction_folder"},
    "keyhole.policy": {"argmin": "argmin_tree_find", "integer": "int_input"},
    "keyhole.resource": {"replica": "reconstructed_problem", "Independent": "IndependentPair"},
    "keyhole.runner": {"Runner": "CommandRunner"},
    "keyhole.stochastic": {"UCBPolicy": "DeviationUCBPolicy"},
    "keyhole.thresholding": {"ConfidenceCoverageProblem": "BoundCoverageProblem"},
    "keyhole.tune": {"Executor": "CommandExecutor", "CommandLimitEstimate": "PairEstimate"},
}


@pytest.mark.parametrize(("module", "name"), MODULES.items())
def test_a_name_is_found_where_the_reference_listed_it(module, name, monkeypatch):
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.warns(
        DeprecationWarning, match=rf"^{module} will be gone in 0.4: import from "
    ) as said:
        old = getattr(importlib.import_module(module), name)
    new = str(said[0].message).rpartition(" ")[2]
    assert old is getattr(importlib.import_module(new), name)


@pytest.mark.parametrize(
    ("module", "former", "package", "name"),
    [
        ("keyhole.stochastic.policies.uniform", "Uniform", "keyhole.stochastic", "RoundRobin"),
        ("keyhole.threshold.policies.uniform", "Uniform", "keyhole.threshold", "RoundRobin"),
        (
            "keyhole.threshold.policies.capped_klucb", "CappedKLUCB",
            "keyhole.threshold", "MonotoneKLUCB",
        ),
        ("keyhole.thresholding.policies.uniform", "Uniform", "keyhole.thresholding", "RoundRobin"),
    ],
)  # fmt: skip
def test_a_pickle_by_former_names_of_module_and_policy_is_read(module, former, package, name):
    data = f"c{module}\n{former}\n.".encode()
    with pytest.warns(DeprecationWarning, match=rf"^{module} will be gone in 0.4: "):
        policy_class = pickle.loads(data)
    assert policy_class is getattr(importlib.import_module(package), name)


def test_the_warning_names_the_line_of_the_import(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import keyhole\nfrom keyhole.tune.executor import CommandExecutor\n")
    command = [sys.executable, "-W", "default", script]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{script}:2: DeprecationWarning: keyhole.tune.executor will be gone" in ended.stderr


def test_other_names_are_unknown_as_before():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'keyhole\.tune\.nothing'"):
        importlib.import_module("keyhole.tune.nothing")


@pytest.mark.parametrize(
    ("module", "former", "name"),
    [(module, *pair) for module, names in NAMES.items() for pair in names.items()],
)
def test_a_value_is_found_by_its_former_name(module, former, name):
    home = importlib.import_module(module)
    said = rf"^{module}.{former} will be gone in 0.4: use {name}$"
    with pytest.warns(DeprecationWarning, match=said):
        assert getattr(home, former) is getattr(home, name)
    assert former not in dir(home)


def test_a_name_that_no_value_ever_had_is_refused():
    with pytest.raises(
        AttributeError, match=r"^module 'keyhole\.data' has no attribute 'flightz'$"
    ):
        _ = keyhole.data.flightz
    with pytest.raises(
        AttributeError, match=r"^module 'keyhole\.papers' has no attribute 'fewer'$"
    ):
        _ = keyhole.papers.fewer


def test_all_names_of_a_former_module_are_imported_at_once(monkeypatch):
    monkeypatch.delitem(sys.modules, "keyhole.validate", raising=False)
    names = {}
    with pytest.warns(DeprecationWarning, match=r"^keyhole\.validate will be gone in 0\.4"):
        exec("from keyhole.validate import *", names)
    assert names["check_vector"] is check_vector


@pytest.mark.parametrize(
    ("module", "former"),
    [
        ("keyhole.data.crime_events", "Events"),
        ("keyhole.data.recorded_deadline_times", "Times"),
        ("keyhole.distributions.scipy_distribution", "TabulatedDistribution"),
    ],
)
def test_what_was_pickled_is_found_where_it_was_defined(module, former):
    assert isinstance(getattr(importlib.import_module(module), former), type)


@pytest.mark.parametrize("given", ["Uniform", {"name": "Uniform"}])
def test_the_base_of_a_policy_is_found_by_its_former_name(given):
    for wrapper, base in (
        (PerArmStopping, RoundRobin()),
        (BestArmStopping, stochastic.RoundRobin()),
    ):
        assert wrapper.from_parameters({"base": given}).base == base


def test_commands_find_policies_by_their_former_names():
    assert find_new_policy("Uniform", ["LSA", "RoundRobin"]) == "RoundRobin"
    assert find_new_policy("LSA", ["LSA"]) == "LSA"
    assert find_new_policy("Uniform", ["RoundRobin", "Uniform"]) == "Uniform"  # of a plug-in


def test_a_users_class_with_a_former_name_stays_the_base():
    class Uniform(RoundRobin):
        pass

    policy = PerArmStopping(Uniform())
    assert type(PerArmStopping.from_parameters(policy.parameters()).base) is Uniform
