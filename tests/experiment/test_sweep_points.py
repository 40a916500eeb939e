"""What a table ``[sweep]`` says, and what is refused."""

import numpy as np
import pytest

from keyhole.experiment import Spec

TEXT = """
name = "small"
replications = 16
horizon = 60
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "UCBE"
b = 2.0
label = "told"
[sweep]
"""

OWN = '''
from keyhole.thresholding import IndexPolicy
from keyhole import parameter

class Mine(IndexPolicy):
    """Mine."""
    width: float = parameter(default=1.0, gt=0, doc="width")
    def index(p, pulls, total):
        return p.width / pulls
'''


def points(lines):
    return Spec.from_text(TEXT + lines).points


def test_the_points_are_all_combinations_and_the_last_thing_varies_the_fastest():
    found = points('horizon = [60, 30]\n"policy.alpha" = [1.0, 2.0]')
    assert [list(point.values.items()) for point in found] == [
        [("horizon", horizon), ("policy.alpha", alpha)]
        for horizon in (60, 30)
        for alpha in (1.0, 2.0)
    ]
    assert [point.spec.horizon for point in found] == [60, 60, 30, 30]
    assert [point.spec.plan.policies["LSA()"].alpha for point in found] == [1.0, 2.0, 1.0, 2.0]


def test_a_spec_without_a_sweep_is_its_own_point():
    spec = Spec.from_text(TEXT.removesuffix("[sweep]\n"))
    (point,) = spec.points
    assert point.spec is spec
    assert point.values == {}
    assert "sweep" not in spec.table()


def test_a_spec_with_a_sweep_has_no_plan_of_its_own():
    with pytest.raises(ValueError, match=r"a spec with \[sweep\] has 2 plans: see its points"):
        _ = Spec.from_text(TEXT + "seed = [1, 2]").plan


def test_a_spec_with_a_sweep_can_be_written_and_read():
    spec = Spec.from_text(
        TEXT + 'horizon = [10, 20]\n"problem.means" = [[0.1, 0.9], [0.3]]\n"policy[0].alpha" = [1]'
    )
    assert Spec.from_text(spec.to_toml()) == spec
    assert Spec.from_table(spec.table()) == spec


def test_what_is_varied_as_a_whole_need_not_be_given_elsewhere():
    table = Spec.from_text(TEXT + "horizon = [10, 20]").table()
    del table["horizon"]
    problem = table.pop("problem")
    table["sweep"]["problem"] = [problem | {"threshold": t} for t in (0.4, np.float64(0.5))]
    found = Spec.from_table(table).points
    assert [(point.spec.horizon, point.spec.problem["threshold"]) for point in found] == [
        (10, 0.4), (10, 0.5), (20, 0.4), (20, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        ('"policy.alpha" = [1, 2]', ["LSA()", "told"]),
        ('"policy[0].alpha" = [1, 1.35]', ["LSA()", "told"]),
        ('"policy.alpha" = [2]', ["LSA(alpha=2)", "told"]),
        ("horizon = [10, 20]", ["LSA(alpha=1.35)", "told"]),
        ('"policy.b" = [1, 2]', ["LSA(alpha=1.35)", "told"]),
        ('"policy[1]" = [{name = "KnownGaps"}, {name = "UCBE", b = 1}]', None),
        (
            '"policy[1]" = [{name = "UCBE", b = 2}, {name = "UCBE", b = 1}]',
            ["LSA(alpha=1.35)", "UCBE()"],
        ),
    ],
)
def test_a_policy_has_one_label_at_all_points(lines, labels):
    found = [list(point.spec.plan.policies) for point in points(lines)]
    if labels is None:  # which are two policies
        assert found == [[found[0][0], "KnownGaps()"], [found[0][0], found[1][1]]]
        assert found[1][1].startswith("UCBE(")
    else:
        assert found == [labels] * len(found)


def test_a_parameter_of_a_policy_is_set_where_it_is():
    assert [p.spec.policy for p in points('"policy.b" = [1.0, 3.0]')] == [
        [{"name": "LSA"}, {"name": "UCBE", "b": b, "label": "told"}] for b in (1.0, 3.0)
    ]


def test_how_decisions_are_carried_out_is_varied_for_all_policies_or_for_one():
    both, one = points('"policy.workers" = [2]'), points('"policy[1].workers" = [2]')
    assert [entry.get("workers") for entry in both[0].spec.policy] == [2, 2]
    assert [entry.get("workers") for entry in one[0].spec.policy] == [None, 2]


def test_what_lies_deeper_can_be_varied():
    lines = '"problem.means[1]" = [0.3, 0.4]\n"duration.mean" = [1.0, 2.0]\nworkers = [3]'
    text = TEXT.replace(
        "[problem]", 'duration = {distribution = "Exponential", mean = 1}\n[problem]'
    )
    found = Spec.from_text(text + lines).points
    assert [p.spec.problem["means"][1] for p in found] == [0.3, 0.3, 0.4, 0.4]
    assert [p.spec.duration["mean"] for p in found] == [1.0, 2.0, 1.0, 2.0]
    assert found[0].spec.plan.workers["told"].number == 3


def test_a_table_and_what_it_leaves_out_vary_together():
    kinds = '"policy[0]" = [{name = "LSA"}, {name = "LSA", label = "other"}]'
    assert [p.spec.policy[0] for p in points(f'{kinds}\n"policy[0].alpha" = [2.0]')[:1]] == [
        {"name": "LSA", "alpha": 2.0}
    ]


def test_a_parameter_of_a_users_policy_can_be_varied(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    text = TEXT.replace('name = "LSA"', 'name = "mine.py:Mine"') + '"policy.width" = [1, 2]'
    (tmp_path / "spec.toml").write_text(text)
    found = Spec.from_file(tmp_path / "spec.toml").points
    assert [point.spec.plan.policies["Mine()"].width for point in found] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", r"^sweep must be a table with at least one entry, got {}"),
        ("horizon = 3", r'^sweep."horizon" must be a list of values, got 3'),
        ("horizon = []", r'^sweep."horizon" must have at least one entry, got none'),
        ("horizon = [10, 20, 10]", r'sweep."horizon" must have each value once, got 10 twice'),
        ('"policy.alpha" = [1, 1.0]', "each value once, got 1.0 twice"),
        ('"problem.means" = [[0.1], [0.1]]', r"each value once, got \[0.1\] twice"),
        ("horizn = [10]", r"one of seed, .*; got 'horizn' \(did you mean 'horizon'\?\)"),
        ('name = ["a", "b"]', "the varied entry must be one of seed, .*; got 'name'"),
        ('"a..b" = [1]', r"must have names such as policy\[0\].alpha, got 'a..b'"),
        ('"policy.name" = ["LSA"]', r"must not vary name, got 'policy.name'; write a \[\[policy"),
        ("policy = [[]]", r"must name a policy, policy\[0\], or a parameter, policy.alpha"),
        ('"policy.alpa" = [1]', r'"policy.alpa" must be a parameter .* \(did you mean .alpha.\?\)'),
        ('"policy[0].alpa" = [1]', r"at policy\[0\].alpa = 1: policy\[0\].alpa is not known;"),
        ('"policy[2].alpha" = [1]', r"policy\[2\] cannot be varied: policy has 2 entries"),
        ('"problem.thrshold" = [1]', r"at problem.thrshold = 1: .*\(did you mean 'threshold'\?\)"),
        ('"problem.means[3]" = [1]', r"problem.means\[3\] cannot be varied: .* has 3 entries"),
        ('"problem.threshold[3]" = [1]', "problem.threshold is no list"),
        ('"problem.threshold.x" = [1]', "problem.threshold must be a table if its x is varied"),
        (
            '"problem.distribution.x" = [1]',
            "problem.distribution must be given if an entry of it is varied",
        ),
        (
            'seed = [1, 2]\n"problem.threshold" = [0.5, "x"]',
            r"^at seed = 1, problem.threshold = 'x': .*threshold must be a number, got 'x'",
        ),
        ("horizon = [10, 0]", r"^at horizon = 0: horizon must be greater than or equal to 1"),
        ('"policy[0]" = [1]', r"^at policy\[0\] = 1: policy\[0\] must be"),
        ('"policy[00].alpha" = [1]', r"such as policy\[0\].alpha, got 'policy\[00\].alpha'"),
        (
            '"policy[0].alpha" = [1]\n"policy.alpha" = [2]',
            r"sweep must set each entry once, got policy\[0\].alpha and policy.alpha",
        ),
        (
            '"problem.means[1]" = [0.3]\n"problem.means" = [[0.2, 0.4]]',
            r"sweep must set each entry once, got problem.means and problem.means\[1\]",
        ),
        (
            '"policy.alpha" = [2]\n"policy[0]" = [{name = "LSA", alpha = 1}]',
            r"sweep must set each entry once, got policy\[0\] and policy.alpha",
        ),
        ("policy.alpha = [1.0, 2.0]", r'quote a name with a dot: "policy.alpha" = \[1.0, 2.0\]'),
        (
            "problem.distribution.x = [1]",
            r'got a table; quote a name .*: "problem.distribution.x" = \[1\]',
        ),
        (
            '"problem.threshold" = [0.5, nan]',
            r'"problem.threshold"\[1\] must be a finite .*, got nan',
        ),
        ('pending = ["wait", -inf]', r'^sweep."pending"\[1\] must be a finite number, got -inf'),
        (
            '"policy[0]" = [{name = "LSA", alpha = inf}]',
            r'^sweep."policy\[0\]"\[0\].alpha must be a finite number, got inf',
        ),
        (
            f"seed = {list(range(101))}\nhorizon = {list(range(3, 103))}",
            "sweep must have at most 10,000 points, .*; got 10,100",
        ),
    ],
)
def test_what_cannot_be_varied_is_refused_in_one_line(lines, message):
    with pytest.raises(ValueError, match=message) as caught:
        points(lines)
    assert "\n" not in str(caught.value)


def test_a_number_that_is_not_finite_is_named_as_it_was_written():
    text = (
        "name = 'a'\nseed = 1\nreplications = 4\nhorizon = 8\n"
        "problem = {setting = 'thresholding', means = [0.2, nan], threshold = 0.5}\n"
        "policy = [{label = 'LSA', name = 'LSA'}]\nsweep = {seed = [1, 2]}\n"
    )
    with pytest.raises(ValueError, match=r"problem.means\[1\] must lie in \[0, 1\], got nan"):
        Spec.from_text(text)
