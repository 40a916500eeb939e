import pytest

from keyhole.experiment import Spec

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
    ("seed = 4", "sed = 4", r"entry must be one of .*got 'sed' \(did you mean 'seed'\?\)"),
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
    ("[20, 60]", "{cuont = 2}", "checkpoints"),
    (
        'setting = "thresholding"',
        'setting = "tresholding"',
        r"problem.setting must be one of thresholding; got 'tresholding' \(did you mean",
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
    ("means = [0.2, 0.45, 0.7]", "", "problem.exactly one of means, crowd, labels must be given"),
    ("means = [0.2, 0.45, 0.7]", 'crowd = "blubirds"', r"problem.*bluebirds"),
    ("means = [0.2, 0.45, 0.7]", 'labels = "nowhere.csv"', r"problem.*nowhere.csv"),
    ("threshold = 0.5", "threshold = 1.4", r"problem.threshold must lie in \(0, 1\), got 1.4"),
    ("threshold = 0.5", "", "problem.threshold must be given"),
    (
        "threshold = 0.5",
        "threshold = 0.5\ntreshold = 0.4",
        r"problem.entry must be one of .*got 'treshold'",
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
        r"policy\[0\].parameter of LSA must be one of alpha; got 'alhpa'",
    ),
    (
        'name = "LSA"',
        'name = "APT"\nepsilon = -0.1',
        r"policy\[0\].epsilon must be at least 0, got -0.1",
    ),
    (
        'name = "LSA"',
        'name = "mine.py:Mine"',
        r"policy\[0\].name: there is no file 'mine.py' beside the spec",
    ),
    (
        'label = "ours"',
        'label = "Uniform()"',
        r"policy\[1\].label must be a text of its own, got 'Uniform\(\)'",
    ),
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
    assert list(plan.policies) == ["ours", "Uniform()"]
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
    assert Spec.from_table(spec.model_dump(mode="json", exclude_none=True)) == spec


def test_files_are_named_in_errors(tmp_path, text):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*x\.toml"):
        Spec.from_file(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"x\.toml cannot be read"):
        Spec.from_file(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_text(text.replace("0.5", "5"))
    with pytest.raises(ValueError, match=r"x\.toml: problem.threshold must lie in"):
        Spec.from_file(tmp_path / "x.toml")


def test_a_users_own_policy_and_labels_stand_beside_the_spec(tmp_path, text):
    (tmp_path / "mine.py").write_text(
        "from keyhole.thresholding import IndexPolicy\n"
        "class Mine(IndexPolicy):\n"
        "    def index(p, pulls, total):\n"
        "        return pulls\n"
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
