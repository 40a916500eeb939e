import re
from pathlib import Path

import pytest

from keyhole.experiment import Spec, run
from keyhole.experiment.objects_from_spec import make_policy, make_problem
from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from keyhole.threshold import MonotoneKLUCB

# For every problem factory of every setting a small problem, and a policy that can play it.
THRESHOLDS = 'feedback = "censored"\norder = "cyclic"'
EXAMPLES = {
    "stochastic": {
        "means": ('means = [0.2, 0.7]\ndistribution = "truncated-normal"\nscale = 0.1', "UCB1"),
        "samples": ('samples = "samples.csv"', "UCB1"),
    },
    "threshold": {
        "survival": (f"survival = [[0.9, 0.5], [0.7, 0.6]]\n{THRESHOLDS}", "KMUCB"),
        "mass": (f"mass = [[0.1, 0.4, 0.5], [0.3, 0.1, 0.6]]\n{THRESHOLDS}", "KMUCB"),
        "samples": (f"samples = [[0, 2, 2], [1, 1, 2]]\nlevels = 2\n{THRESHOLDS}", "KMUCB"),
        "flights": ('flights = "DCA"\ndeadlines = [30, 0]', "KaplanMeierUCB"),
        "deliveries": ('deliveries = "day"\nfeedback = "uncensored"', "DKWUCB"),
    },
    "delayed": {
        "means": (
            'means = [0.2, 0.7]\ndelay = { distribution = "Poisson", expected = 3 }\n'
            'feedback = "named"',
            "DelayedUCB1",
        ),
        "cdnow": ('cdnow = 30\nfeedback = "named"', "QPMD"),
        "conversions": (
            'conversions = { file = "adverts.csv", unit = "week" }\nfeedback = "named"',
            "QPMD",
        ),
        "rewards": (
            'rewards = [[1, 0], [0.5]]\ndelays = [[2, 0], [1]]\nfeedback = "named"',
            "QPMD",
        ),
    },
    "resource": {
        "replica": ('replica = "PosCorr"\nlimits = "small"\nsize = 3', "RCUCB"),
        "portfolio": ('portfolio = "lone"\nsize = 4\nseed = 1', "RCUCB"),
        "three_models": ('three_models = "strict"', "ZoomingRCUCB"),
        "forests": ("forests = 4", "ReductionThompson"),
        "measured": (
            'measured = "runs.csv"\nlimits = [1, 5]\n'
            'cost = { function = "Power", slope = 0.1 }\n'
            'penalty = { function = "Power", slope = 0.2 }',
            "RCUCB",
        ),
        "aslib": ('aslib = "toy"\nlimits = [0.1, 1]', "RCUCB"),
        "arms": (
            'arms = [{ distribution = "BetaExponential", a = 5, b = 5, rate = 1 },\n'
            '  { distribution = "TruncatedNormal", mean = [0.5, 0.9], '
            "covariance = [[0.06, 0], [0, 0.5]] }]\n"
            'limits = [0.4, 0.9]\ncost = { function = "Power", slope = 0.1 }\n'
            'penalty = { function = "Power", slope = 0.3 }',
            "RCUCB",
        ),
    },
    "semibandit": {
        "mean_losses": (
            "mean_losses = [0.2, 0.7, 0.5]\nthresholds = [0.5, 0.6, 0.7]\nresource = 1.3",
            "CTS",
        ),
        "losses": ("losses = [[0, 1], [1, 1]]\nthresholds = 0.5\nresource = 0.6", "CSBST"),
        "patrols": ('patrols = "cities"\nthresholds = 0.5\nresource = 2', "CSBST"),
        "events": ('events = "events.csv"\nthresholds = 0.5\nresource = 0.7', "CSBST"),
    },
    "thresholding": {
        "means": ('means = [0.2, 0.45, 0.7]\nthreshold = 0.5\ndistribution = "bernoulli"', "LSA"),
        "watched": ("watched = [0.2, 0.45, 0.7]\nthreshold = 0.5\na = 11.0\nb = 1.0", "LSA"),
        "samples": ('samples = "samples.csv"\nthreshold = 0.5', "LSA"),
        "crowd": ('crowd = "bluebirds"', "LSA"),
        "labels": ('labels = "labels.csv"\nthreshold = 0.4', "LSA"),
    },
}
RUNS = """@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE runstatus {ok, timeout}
@DATA
a,1,one,3.5,ok
a,1,two,10,timeout
"""
FILES = {
    "runs.csv": "arm,reward,consumption,limit\na,0.5,3,5\na,,,5\nb,1,0.5,5\n",
    "cut-off.csv": "arm,reward,consumption\na,0.5,3\na,,\nb,1,0.5\n",
    "toy/algorithm_runs.arff": RUNS,
    "toy/description.txt": "algorithm_cutoff_time: 10\n",
    "adverts.csv": "shown_at,converted_at,arm\n2024-05-01,2024-05-20,red\n2024-05-01,,blue\n",
    "events.csv": "day,place,events\n2024-05-01,north,2\n2024-05-02,south,1\n",
    "labels.csv": "item,label\na,1\na,0\nb,1\nc,0\n",
    "samples.csv": "arm,reward\na,1\na,0.5\nb,0\n",
}
PAIRS = [
    (setting, source) for setting in BUILT_IN for source in find_setting(setting).problem_factories
]


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def spec_of(setting, source, folder, extra=""):
    problem, policy = EXAMPLES[setting][source]
    text = (
        f'name = "x"\nreplications = 3\nhorizon = 120\n[problem]\nsetting = "{setting}"\n'
        f'{problem}\n{extra}\n[[policy]]\nname = "{policy}"\n'
    )
    return Spec.from_text(text, folder=folder)


@pytest.mark.interpreted
@pytest.mark.parametrize(("setting", "source"), PAIRS)
def test_every_source_makes_a_problem_that_can_be_run(setting, source, folder):
    spec = spec_of(setting, source, folder)
    assert spec.plan.problem.setting.name == setting
    found = run(spec, folder / "run")
    assert found.curves.replications == 3
    assert Spec.from_text(spec.to_toml(), folder=folder) == spec


@pytest.mark.parametrize(("setting", "source"), PAIRS)
def test_every_entry_of_a_source_is_documented(setting, source):
    how = find_setting(setting).problem_factories[source]
    assert how.doc
    for name, entry in how.entries.items():
        assert entry.kind, name
        assert entry.doc, name
        assert entry.required != bool(re.search("optional|default", entry.kind)), name


@pytest.mark.parametrize(("setting", "source"), PAIRS)
def test_what_a_source_does_not_take_is_refused_by_its_name(setting, source, folder):
    message = rf"^problem.colour is not known; known are setting, {source}"
    with pytest.raises(ValueError, match=message):
        spec_of(setting, source, folder, "colour = 3")


@pytest.mark.parametrize("setting", BUILT_IN)
def test_every_setting_has_policies(setting):
    assert find_setting(setting).policies


def test_samples_are_given_in_the_spec_or_in_a_file(folder):
    from_file = spec_of("thresholding", "samples", folder).plan.problem
    table = {"setting": "thresholding", "samples": [[1, 0.5], [0]], "threshold": 0.5}
    assert make_problem(table, folder).means.tolist() == from_file.means.tolist() == [0.75, 0.0]
    for value, message in [
        ([[1, 2]], r"problem.samples\[0\]\[1\] must lie in \[0, 1\], got 2"),
        ([], "problem.samples must have at least one arm, got none"),
        ([3], r"problem.samples\[0\] must be a list of numbers, got 3"),
        (3, "problem.samples must be a list for each arm, or the name of a file, got 3"),
        ("no.csv", "problem.samples: .*no.csv must be a text file; there is no such file"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            make_problem(table | {"samples": value}, folder)


def test_measured_runs_have_limits_of_their_own_or_one_for_all(folder):
    from_file = spec_of("resource", "measured", folder).plan.problem
    table = {"setting": "resource", "measured": {"file": "cut-off.csv", "limit": 5}}
    table |= {"limits": [1, 5], "cost": {"function": "Power", "slope": 0.1}}
    table |= {"penalty": {"function": "Power", "slope": 0.2}}
    assert make_problem(table, folder).gains.tolist() == from_file.gains.tolist()
    for value, message in [
        (
            "cut-off.csv",
            "problem.measured: .*cut-off.csv, line 3: limit must be given for a censored run",
        ),
        ({"file": "cut-off.csv", "limit": 0}, "problem.measured: limit must be above 0, got 0"),
        ({"file": "cut-off.csv", "unit": 5}, "problem.measured: each entry must be one of file, l"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            make_problem(table | {"measured": value}, folder)


def test_labels_may_stand_in_columns_of_other_names(folder):
    rows = ["picture,is_duck,expert", "a,1,1", "a,0,", "b,1,0"]
    (folder / "ducks.csv").write_text("\n".join(rows))
    table = {"setting": "thresholding", "threshold": 0.4}
    names = {"file": "ducks.csv", "item": "picture", "label": "is_duck", "gold": "expert"}
    problem = make_problem(table | {"labels": names}, folder)
    assert problem.means.tolist() == [0.5, 1.0]
    assert problem.environment.metrics[-1].name == "gold_agreement"
    # Without its name the column is another one.
    del names["gold"]
    plain = make_problem(table | {"labels": names}, folder)
    assert plain.environment.metrics[-1].name != "gold_agreement"
    for value, message in [
        (
            "ducks.csv",
            r"problem.labels: .*line 1: .* or labels = \{ file = \.\.\., item",
        ),
        (names | {"item": ["a"]}, r"problem.labels: item must be a text, got \['a'\]"),
        (names | {"item": "is_duck"}, "problem.labels: item, label and gold must differ"),
        (names | {"worker": "w"}, "problem.labels: each entry must be one of file, item, label"),
        ({"item": "picture"}, "problem.labels must be the name of a file, got None"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            make_problem(table | {"labels": value}, folder)


def test_errors_in_a_scenario_begin_with_the_entry(folder):
    table = {"setting": "resource", "aslib": "toy/algorithm_runs.arff"}
    with pytest.raises(ValueError, match=r"^problem.aslib: path must be the folder of a scenario"):
        make_problem(table, folder)
    (folder / "toy" / "description.txt").write_text("algorithm_cutoff_time: 0\n")
    with pytest.raises(ValueError, match=r"^problem.aslib: .*description.txt: algorithm_cutoff"):
        make_problem(table | {"aslib": "toy"}, folder)


def test_a_policy_is_found_by_its_former_name_with_a_warning():
    said = r"^the policy 'CappedKLUCB' is 'MonotoneKLUCB' now; its former name will be gone in 0.4$"
    with pytest.warns(UserWarning, match=said):
        policy = make_policy({"name": "CappedKLUCB", "c": 3.0}, "threshold", Path())
    assert policy == MonotoneKLUCB(c=3.0)
