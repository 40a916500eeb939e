"""Specs that earlier versions wrote into run folders get the names of today."""

from keyhole.experiment.spec_versions import spec_from_version_2


def test_names_and_values_of_all_entries_are_those_of_today():
    before = {
        "pending": "imagine",
        "duration": {"law": "Scaled", "of": {"law": "Constant"}},
        "problem": {
            "setting": "resource",
            "arms": [{"law": "BetaExponential", "a": 1}],
            "penalty": {"law": "Power"},
        },
        "policy": [{"name": "A", "pending": "imagine"}, {"name": "imagine", "pending": "wait"}],
        "sweep": {"problem.law": ["beta"], "problem.cost.law": ["Power"], "pending": ["imagine"]},
    }
    assert spec_from_version_2(before) == {
        "pending": "impute",
        "duration": {"distribution": "Scaled", "of": {"distribution": "Constant"}},
        "problem": {
            "setting": "resource",
            "arms": [{"distribution": "BetaExponential", "a": 1}],
            "penalty": {"function": "Power"},
        },
        "policy": [{"name": "A", "pending": "impute"}, {"name": "imagine", "pending": "wait"}],
        "sweep": {
            "problem.distribution": ["beta"],
            "problem.cost.function": ["Power"],
            "pending": ["impute"],
        },
    }


def test_the_values_of_a_point_are_entries_too():
    point = {"problem.law": "beta", "horizon": 10}
    assert spec_from_version_2(point) == {"problem.distribution": "beta", "horizon": 10}
