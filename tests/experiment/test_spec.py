import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.experiment import Spec
from keyhole.experiment.compile_jobs import spec_jobs
from tests.experiment.conftest import TEXT

CHANGES = [
    (
        "replications = 40",
        "replications = 0",
        "replications must be greater than or equal to 1, got 0",
    ),
    ("replications = 40", "replications = 2.5", "replications must be a valid integer, got 2.5"),
    ("replications = 40", 'replications = "x"', "replications must be a valid integer, got 'x'"),
    ("replications = 40", "", "replications must be given"),
    ("seed = 4", "seed = -1", "seed must be greater than or equal to 0, got -1"),
    ("seed = 4", "sed = 4", r"sed is not known; known are name, .* \(did you mean 'seed'\?\)"),
    ("horizon = 60", "horizon = 2", "horizon|budget|checkpoints"),
    ("[20, 60]", "[60, 20]", "checkpoints must rise, got 20 after 60"),
    ("[20, 60]", "[20, 61]", r"checkpoints\[1\] must lie in \[1, 60\], got 61"),
    ("[20, 60]", "[]", "checkpoints must have at least one entry"),
    ("[20, 60]", "[2, 60]", "must be at least the number of arms, 3; got 2"),
    ("[20, 60]", "{count = 0}", r"checkpoints.count must be greater than or equal to 1, got 0"),
    (
        "[20, 60]",
        '{count = 2, spacing = "odd"}',
        "checkpoints.spacing must be 'linear' or 'log', got 'odd'",
    ),
    ("[20, 60]", "{cuont = 2}", "checkpoints.count must be given"),
    (
        "[20, 60]",
        "{count = 2, spaccing = 'log'}",
        r"checkpoints.spaccing is not known; .*\(did you mean 'spacing'\?\)",
    ),
    (
        "[20, 60]",
        "'all'",
        "checkpoints must be a list of rounds, or a table with a count, got 'all'",
    ),
    ('name = "small"', 'name = ""', "name must have at least 1 character, got ''"),
    ('name = "small"', 'name = "small"\nnotes = 3', "notes must be a text, got 3"),
    (
        "[problem]",
        "[figure]\ny = 'ln'\n[problem]",
        "figure.y must be 'linear' or 'log', got 'ln'",
    ),
    ("[problem]", "[figure]\nz = 1\n[problem]", "figure.z is not known; known are x, y"),
    (
        'name = "small"',
        'name = "small"\ntitle = "a\\u0007"',
        r"title must have no control characters or line ends, got 'a\\x07'",
    ),
    ('name = "small"', 'name = "a\\u001bb"', "name must have no control characters"),
    (
        'name = "small"',
        'name = "small"\nnotes = "fine\\n\\u0000"',
        "notes must have no control characters",
    ),
    (
        'label = "ours"',
        'label = "\\u0000"',
        r"policy\[0\].label must have no control characters or line ends",
    ),
    ('label = "ours"', "label = 3", r"policy\[0\].label must be a text, got 3"),
    ('label = "ours"', 'label = ""', r"policy\[0\].label must not be empty"),
    ("seed = 4", "workers = 0", "workers must be greater than or equal to 1, got 0"),
    ("seed = 4", 'pending = "imput"\nworkers = 2', r"pending must be .*mean 'impute'\?"),
    ("seed = 4", "duration = 3", "duration must be a table|duration must be a valid dict"),
    (
        "seed = 4",
        'duration = {distribution = "Expo"}',
        "duration.distribution must be one of Constant, .*got 'Expo'",
    ),
    ("seed = 4", 'duration = {distribution = "Consumption"}', "fits the setting 'thresholding'"),
    ('label = "ours"', "workers = 2.5", r"policy\[0\].workers must be a whole number, got 2.5"),
    ('label = "ours"', "workers = 2\npending = []", r"policy\[0\].pending must be"),
    ('label = "ours"', "workers = 2\nduration = 3", r"policy\[0\].duration must be a distribution"),
    (
        "checkpoints = [20, 60]",
        "checkpoints = {count = 10000000000}",
        "checkpoints.count must be less than or equal to 100000, got 10000000000",
    ),
    (
        "threshold = 0.5",
        f"threshold = 1{'0' * 400}",
        "problem.threshold must lie in .*, got a whole number of 401 digits",
    ),
    ("horizon = 60", "horizon = 9223372036854775808", "horizon must be less than or equal to"),
    ("seed = 4", f"seed = {'[' * 5000}{']' * 5000}", "not valid TOML: .* nested too deeply"),
    ('name = "LSA"', f'name = "LSA"\nalpha = 1{"0" * 400}', r"policy\[0\].alpha must be a finite"),
    ("threshold = 0.5", "threshold = 2020-01-01", "problem.threshold must be a text, a number, "),
    (
        'setting = "thresholding"',
        'setting = "tresholding"',
        r"problem.setting must be one of .*; got 'tresholding' \(did you mean 'thresholding'\?\)",
    ),
    ('setting = "thresholding"', "", "problem.setting must be given"),
    (
        "means = [0.2, 0.45, 0.7]",
        "means = [0.2, 1.45, 0.7]",
        r"problem.means\[1\] must lie in \[0, 1\], got 1.45",
    ),
    (
        "means = [0.2, 0.45, 0.7]",
        "means = [0.2, nan]",
        r"problem.means\[1\] must lie in \[0, 1\], got nan",
    ),
    ("means = [0.2, 0.45, 0.7]", "means = []", "problem.means must have at least one entry"),
    (
        "means = [0.2, 0.45, 0.7]",
        "",
        "problem must have exactly one of means, watched, samples, crowd, labels; got none$",
    ),
    (
        "means = [0.2, 0.45, 0.7]",
        "mean = [0.2, 0.45, 0.7]",
        r"problem must have exactly one of .*; got none \(did you mean 'means'\?\)",
    ),
    (
        "means = [0.2, 0.45, 0.7]",
        'means = [0.2]\ncrowd = "ducks"',
        "exactly one of means, watched, samples, crowd, labels; got means and crowd",
    ),
    (
        "means = [0.2, 0.45, 0.7]",
        'crowd = "blubirds"',
        r"problem.crowd must be one of .*got 'blubirds' \(did you mean 'bluebirds'\?\)",
    ),
    (
        "means = [0.2, 0.45, 0.7]",
        'labels = "nowhere.csv"',
        r"problem.labels: nowhere.csv must be a text file; there",
    ),
    ("means = [0.2, 0.45, 0.7]", "labels = 3", "problem.labels must be the name of a file, got 3"),
    ("threshold = 0.5", "threshold = 1.4", r"problem.threshold must lie in \(0, 1\), got 1.4"),
    ("threshold = 0.5", "", "problem.threshold must be given"),
    (
        "threshold = 0.5",
        "threshold = 0.5\ntreshold = 0.4",
        r"problem.treshold is not known; known are setting, means, threshold, .*'threshold'\?\)",
    ),
    (
        'name = "LSA"',
        'name = "LSB"',
        r"policy\[0\].name must be one of .*; got 'LSB' \(did you mean 'LSA'\?\)",
    ),
    ('name = "LSA"', 'name = "LSA"\nalpha = -1', r"policy\[0\].alpha must be above 0, got -1"),
    (
        'name = "LSA"',
        'name = "LSA"\nalhpa = 1',
        r"policy\[0\].alhpa is not known; known are alpha \(did you mean 'alpha'\?\)",
    ),
    (
        'name = "LSA"',
        'name = "APT"\nepsilon = -0.1',
        r"policy\[0\].epsilon must be at least 0, got -0.1",
    ),
    (
        'name = "LSA"',
        'name = "mine.py:Mine"',
        r"policy\[0\].name: there is no file 'mine.py' in '",
    ),
    (
        'label = "ours"',
        'label = "RoundRobin()"',
        r"policy\[1\].label must differ between policies, got 'RoundRobin\(\)' twice",
    ),
    ('name = "LSA"', "", r"policy\[0\].name must be given"),
    ('name = "LSA"', "name = 3", r"policy\[0\].name must be a text, got 3"),
    ('name = "small"', 'name = "small', "not valid TOML: .*line 2"),
]


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_bad_specs_are_refused_with_one_line(text, old, new, message):
    assert old in text
    with pytest.raises(ValueError, match=message) as caught:
        Spec.from_text(text.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_a_spec_becomes_a_plan(text):
    plan = Spec.from_text(text).plan
    assert plan.checkpoints == (20, 60)
    assert list(plan.policies) == ["ours", "RoundRobin()"]
    assert plan.seed == 4
    assert plan.problem.arms == 3


@pytest.mark.parametrize(
    ("checkpoints", "rounds"),
    [
        ("{count = 3}", (20, 40, 60)),
        ('{count = 2, spacing = "log"}', (13, 60)),
        ("{count = 100}", tuple(range(3, 61))),
    ],
)
def test_checkpoints_can_be_counted(text, checkpoints, rounds):
    assert Spec.from_text(text.replace("[20, 60]", checkpoints)).plan.checkpoints == rounds


def test_a_spec_round_trips_through_its_table(text):
    spec = Spec.from_text(text)
    assert Spec.from_table(spec.table()) == spec


LINE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufffe\uffff")
TEXTS = st.text(LINE, min_size=1)
PARTS = st.floats(0.01, 0.99)


@st.composite
def tables(draw):
    """Return the table of a valid spec, with as much variety as specs can have."""
    horizon = draw(st.integers(20, 10**6))
    count = draw(st.integers(1, 5))
    labels = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    concentration = draw(st.floats(0.5, 1e9))
    return {
        "name": draw(TEXTS),
        "title": draw(TEXTS),
        "notes": draw(st.text(st.sampled_from("a\n\r\t\"'\\é#=["))),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "replications": draw(st.integers(1, 10**9)),
        "horizon": horizon,
        "checkpoints": draw(
            st.sampled_from([None, [horizon], [20, horizon + 20], {"count": count}])
        ),
        "figure": draw(st.sampled_from([{}, {"x": "log"}, {"x": "log", "y": "linear"}])),
        "problem": {
            "setting": "thresholding",
            "means": draw(st.lists(PARTS, min_size=1, max_size=20)),
            "threshold": draw(PARTS),
            **draw(st.sampled_from([{}, {"distribution": "beta", "concentration": concentration}])),
        },
        "policy": [
            {"name": "LSA", "alpha": draw(st.floats(1e-9, 1e9)), "label": label} for label in labels
        ],
    }


@settings(max_examples=40)
@given(tables())
def test_a_spec_round_trips_through_toml(table):
    table["horizon"] += 20
    spec = Spec.from_table(table)
    assert Spec.from_text(spec.to_toml()) == spec
    assert Spec.from_table(json.loads(json.dumps(spec.table()))) == spec


def test_what_arrays_hold_is_written_as_numbers(text):
    table = Spec.from_text(text).table()
    table["problem"]["means"] = np.array(table["problem"]["means"])
    table["problem"]["threshold"] = np.float64(0.5)
    assert Spec.from_table(table) == Spec.from_text(text)
    table["problem"]["threshold"] = {0.5}
    with pytest.raises(ValueError, match=r"problem.threshold must be a text, .* got \{0.5\}"):
        Spec.from_table(table)


def test_files_are_named_in_errors(tmp_path, text):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*x\.toml"):
        Spec.from_file(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"x\.toml is UTF-16: save it as UTF-8"):
        Spec.from_file(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_text(text.replace("0.5", "5"))
    with pytest.raises(ValueError, match=r"x\.toml: problem.threshold must lie in"):
        Spec.from_file(tmp_path / "x.toml")


def test_a_users_own_policy_and_labels_stand_beside_the_spec(tmp_path, text):
    (tmp_path / "mine.py").write_text(
        "from keyhole.thresholding import IndexPolicy\n"
        "class Mine(IndexPolicy):\n"
        "    def index(p, pulls, total):\n"
        "        return -pulls\n"
    )
    (tmp_path / "labels.csv").write_text("item,label\na,1\na,0\nb,1\nc,0\n")
    text = text.replace('name = "LSA"', 'name = "mine.py:Mine"')
    text = text.replace("means = [0.2, 0.45, 0.7]", 'labels = "labels.csv"')
    (tmp_path / "spec.toml").write_text(text)
    plan = Spec.from_file(tmp_path / "spec.toml").plan
    assert repr(plan.policies["ours"]) == "Mine()"
    assert plan.problem.means.tolist() == [0.5, 1.0, 0.0]
    (tmp_path / "spec.toml").write_text(text.replace(":Mine", ":Yours"))
    with pytest.raises(ValueError, match=r"policy\[0\].name: 'mine.py' has no policy 'Yours'"):
        Spec.from_file(tmp_path / "spec.toml")


def test_a_table_within_itself_is_refused(text):
    table = Spec.from_text(text).table()
    table["problem"]["means"] = endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="lists or tables must not be nested so deeply"):
        Spec.from_table(table)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, 2**64, -1, 0, "", "\x00", "LSA", [], {}, [[]]]),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.floats(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(table):
    """Return every place in a table, as containers and keys."""
    found = []
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in entries:
        found.append((table, key))
        if isinstance(value, dict | list):
            found += places(value)
    return found


@settings(max_examples=40)
@given(tables(), st.data())
def test_whatever_stands_in_a_spec_it_is_valid_or_refused_in_one_line(table, data):
    table["horizon"] += 20
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(table)))
        holder[key] = data.draw(ODD)
    try:
        spec = Spec.from_table(table)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
        assert Spec.from_table(spec.table()) == spec
    assert "\n" not in message
    assert len(message) < 1000


def test_each_policy_may_have_its_own_workers():
    head = 'workers = 2\nduration = {distribution = "Exponential"}\n'
    own = 'label = "ours"\nworkers = 8\npending = "ignore"'
    spec = Spec.from_text(head + TEXT.replace('label = "ours"', own))
    ours, other = (spec.plan.workers[label] for label in ("ours", "RoundRobin()"))
    assert (ours.number, ours.pending, other.number, other.pending) == (8, "ignore", 2, None)
    assert repr(other.duration) == "Exponential(mean=1.0)"
    assert "clock" in spec.plan.metrics
    assert Spec.from_text(spec.to_toml()) == spec


def test_without_workers_a_spec_is_what_it_was():
    spec = Spec.from_text(TEXT)
    assert not spec.plan.workers
    assert not {"workers", "duration", "pending"} & spec.table().keys()


def test_what_a_spec_with_workers_needs_can_be_compiled_ahead():
    own = 'label = "ours"\nworkers = 8'
    names = [name for name, _ in spec_jobs(Spec.from_text(TEXT.replace('label = "ours"', own)))]
    assert names == [
        "LSA with workers in BernoulliRewardEnvironment",
        "RoundRobin with workers in BernoulliRewardEnvironment",
    ]


def test_independent_errors_are_told_at_once(text):
    first = text.replace("seed = 4", "seed = -1").replace("replications = 40", "replications = 0")
    message = r"^2 errors: \(1\) seed must be .*, got -1; \(2\) replications must be .*, got 0$"
    with pytest.raises(ValueError, match=message):
        Spec.from_text(first)
    second = text.replace('"LSA"', '"LSB"').replace(
        'name = "RoundRobin"', 'name = "LSA"\nalhpa = 1'
    )
    second = second.replace("threshold = 0.5", "threshold = 2")
    message = r"^3 errors: \(1\) problem.threshold .*\(2\) policy\[0\].*\(3\) policy\[1\].*'alpha'"
    with pytest.raises(ValueError, match=message):
        Spec.from_text(second)


@pytest.mark.parametrize(
    ("old", "new", "home"),
    [
        ("seed = 4", 'seed = 4\nsetting = "thresholding"', "in [problem]"),
        ("seed = 4", "seed = 4\nmeans = [0.5]", "in [problem]"),
        ("[problem]", "[problem]\nseed = 4", "at the top, above all tables"),
        ('name = "LSA"', 'name = "LSA"\nhorizon = 4', "at the top, above all tables"),
    ],
)
def test_an_entry_in_the_wrong_table_is_told_where_it_belongs(text, old, new, home):
    with pytest.raises(ValueError, match="is not known") as refusal:
        Spec.from_text(text.replace(old, new))
    assert str(refusal.value).endswith(f"; it belongs {home}")


def test_marks_of_windows_are_left_out(tmp_path, text):
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert Spec.from_file(tmp_path / "x.toml") == Spec.from_text(text, folder=tmp_path)
