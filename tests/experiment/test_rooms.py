import pytest

from keyhole.experiment import Spec
from keyhole.experiment.problems import SOURCES
from keyhole.experiment.rooms import ROOMS, metrics_of, worlds_of


@pytest.mark.parametrize("setting", SOURCES)
def test_worlds_of_a_room_agree_on_what_a_metric_is(setting):
    known = metrics_of(setting)
    assert known
    for world in worlds_of(setting):
        for metric in getattr(world, "metrics", ()):
            assert metric == known[metric.name]


def test_a_rooms_metrics_are_those_of_its_worlds_common_ones_first_details_last():
    metrics = metrics_of("semibandit") | metrics_of("resource")
    assert list(metrics_of("resource"))[:5] == [
        "regret", "censored_share", "best_arm_share", "simple_regret", "best_pair_share",
    ]  # fmt: skip
    assert {"gold_agreement", "lemma_19_misses"} < set(metrics_of("thresholding"))
    assert list(metrics_of("thresholding"))[-1] == "errors"
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
    known = metrics_of(setting)
    assert {name for name, metric in known.items() if metric.better == "higher"} == higher


def test_a_room_is_called_after_its_setting():
    for name, room in ROOMS.items():
        assert room.__name__ == f"keyhole.{name}"


GOOD = "from keyhole.thresholding import IndexPolicy\n"


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("def f(:\n", r"SyntaxError: .* \(line 1\)"),
        ("import math\nimport nowhere_to_be_found\n", r"ModuleNotFoundError: .* \(line 2\)"),
        (GOOD + "x = 1\n\ny = 1 / (x - 1)\n", r"ZeroDivisionError: division by zero \(line 4\)"),
        (GOOD + "raise SystemExit(3)\n", r"SystemExit: 3 \(line 2\)"),
        (GOOD + "raise ValueError('one\\ntwo')\n", r"ValueError: one two \(line 2\)"),
        (
            GOOD + "class Mine(IndexPolicy):\n    needs = ('nothing',)\n",
            r"ValueError: Mine.needs must be one of .*got 'nothing' \(line 2\)",
        ),
    ],
    ids=["syntax", "import", "run", "exit", "two lines", "policy"],
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
        ('name = "Uniform"\nx = 1', "x is not known; there are none here"),
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
