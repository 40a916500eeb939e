"""A class that breaks the contract is refused when it is defined."""

import inspect
import math
from pathlib import Path

import pytest

from keyhole import Metric, parameter, simulate, threshold
from keyhole.contract.kernel_signatures import (
    ENVIRONMENT_KERNELS,
    GUARD,
    IMPUTE,
    POLICY_KERNELS,
)
from keyhole.contract.policy import Policy as AnyPolicy
from keyhole.contract.problem import Environment
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, float_array, int_array, int_input
from keyhole.delayed import ODAAF
from keyhole.semibandit import CSBDT, CTS
from keyhole.stochastic import HoeffdingUCB
from keyhole.thresholding import IndexPolicy, Policy, Problem
from tests.toys import LEVELS, ArmsOnly

pytestmark = pytest.mark.interpreted

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


class Whole(Policy):
    """Has all that a policy must have."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s, t):
        return t % p.arms

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward


def derive(base=Whole, **content):
    return type("Mine", (base,), content)


def line_of(function, words):
    """Return the line of this file on which a function says something."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if words in line)


def test_a_function_that_is_never_called_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"a kernel of Mine .*got 'selekt' .*mean 'select'\?"):
        derive(selekt=lambda p, s: 0)
    with pytest.raises(ValueError, match=r"got 'indx' \(did you mean 'index'\?\)"):
        derive(IndexPolicy, indx=lambda p, pulls, total: pulls)


def test_methods_and_private_functions_are_not_kernels():
    derive(sharp=lambda self, gap: gap, _helper=lambda x: x)


def test_a_missing_kernel_is_named():
    with pytest.raises(TypeError, match="Mine lacks the kernel select: it returns the decision"):
        derive(Policy, update=lambda p, s: None)
    with pytest.raises(TypeError, match="Mine lacks the kernel index, which its other kernels"):
        derive(IndexPolicy)


def test_a_base_of_others_may_lack_kernels():
    class Half(IndexPolicy, abstract=True):
        width: float = parameter(default=1.0)

    class Full(Half):
        def index(p, pulls, total):
            return p.width * pulls

    assert Half.abstract
    assert not Full.abstract


def test_an_annotation_without_parameter_is_refused():
    with pytest.raises(TypeError, match=r"Mine.width must be made with parameter.*got 1.0"):
        derive(width=1.0, __annotations__={"width": float})
    with pytest.raises(TypeError, match=r"Mine.width must be made with parameter.*got no value"):
        derive(__annotations__={"width": float})
    with pytest.raises(TypeError, match=r"Mine.word must be annotated int or float, got <class 's"):
        derive(word=parameter(default="x"), __annotations__={"word": str})


def reads_horizon(p, s):
    return p.horizon


def reads_treshold(p, s):
    return int(p.treshold)


def reads_pull(p, s):
    return s.pull[0]


def writes_pulls(p, s):
    s.pulls = 3
    return 0


@pytest.mark.parametrize(
    ("select", "words", "message"),
    [
        (reads_horizon, "p.horizon", "reads p.horizon: add 'horizon' to `needs`"),
        (reads_treshold, "p.treshold", r"reads p.treshold: p has .*did you mean 'threshold'\?\)"),
        (reads_pull, "s.pull[", r"reads s.pull: s has pulls, .* \(did you mean 'pulls'\?\)"),
        (writes_pulls, "s.pulls", r"assigns to s.pulls: write to its entries, s.pulls\[...\]"),
    ],
)
def test_an_unknown_field_is_reported_with_file_and_line(select, words, message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        derive(select=select)
    assert f"Mine.{select.__name__} ({__file__}, line {line_of(select, words)})" in str(
        caught.value
    )


def test_a_state_that_lacks_arrays_of_an_inherited_kernel_is_refused():
    class State:
        pulls = float_array("arms")

    message = r"Mine.recommend .* reads s.totals: declare totals in Mine.State, or write recommend"
    with pytest.raises(ValueError, match=message):
        derive(State=State, update=lambda p, s, arm: None)


def test_all_missing_arrays_are_named_at_once():
    class Neither:
        seen = float_array("arms")

    message = r"declare pulls and totals in Mine.State, or write recommend"
    with pytest.raises(ValueError, match=message):
        derive(State=Neither, update=lambda p, s, arm: None, pending=("wait",))


@pytest.mark.parametrize(
    "index",
    [
        lambda p, t, pulls, total: pulls,
        lambda p, t, pulls: pulls,
        lambda p, pulls: pulls,
        lambda pulls, total, p: pulls,
    ],
)
def test_an_index_must_have_the_fixed_arguments(index):
    message = r"Mine.<lambda> must take \(p, pulls, total\), since .* got \("
    with pytest.raises(TypeError, match=message):
        derive(IndexPolicy, index=index)
    with pytest.raises(TypeError, match=r"must take \(p, t, tried, reached\)"):
        derive(threshold.IndexPolicy, index=index)


@pytest.mark.parametrize(
    ("base", "name", "words"),
    [
        (CTS, "fill", r"\(p, s, t, rng\)"),
        (CSBDT, "fill", r"\(p, s, t, rng\)"),
        (HoeffdingUCB, "deviation", r"\(p, pulls, error\)"),
        (HoeffdingUCB, "width", r"\(p, pulls, deviation\)"),
        (ODAAF, "length", r"\(p, phase, tolerance\)"),
        (ODAAF, "has_bridge", r"\(p\)"),
    ],
)
def test_other_helpers_of_subclasses_must_have_the_fixed_arguments(base, name, words):
    with pytest.raises(TypeError, match=rf"must take {words}.* got \(p, arm\)"):
        derive(base, **{name: lambda p, arm: 0.0})


def test_a_helper_function_in_the_class_is_refused():
    message = r"init, select, update, .*got 'leader': a function that kernels call belongs outside"
    with pytest.raises(ValueError, match=message):
        derive(leader=lambda p, s: 0)


def test_an_unknown_argument_of_a_kernel_is_refused():
    with pytest.raises(TypeError, match=r"names 'rewrad'; .* \(did you mean 'reward'\?\)"):
        derive(update=lambda p, s, arm, rewrad: None)


def gives_half(p, s):
    if p.arms > 7:
        return 1.5
    return 0.5


def gives_nothing(p, s):
    s.pulls[0] += 1


def gives_two(p, s):
    return 0, 1


def gives_sometimes(p, s):
    if p.arms > 7:
        return 1


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("select", "got", "words"),
    [
        (gives_nothing, "nothing", "def"),
        pytest.param(gives_half, "a number with a fraction", "return 1.5", marks=pytest.mark.slow),
        pytest.param(
            gives_two, r"\(a whole number; a whole number\)", "return", marks=pytest.mark.slow
        ),
        (gives_sometimes, "a whole number or nothing", "return 1"),
    ],
)
def test_a_wrong_return_value_is_reported_with_its_line(select, got, words):
    mine = derive(select=select)
    message = rf"Mine.{select.__name__} must return a whole number, arm, got {got}"
    with pytest.raises(TypeError, match=message) as caught:
        mine().learner(arms=2, threshold=0.5, interpreted=False)
    assert f"({__file__}, line {line_of(select, words)})" in str(caught.value)


def test_a_kernel_that_fills_arrays_must_not_return_a_value():
    mine = derive(recommend=lambda p, s: 1)
    with pytest.raises(TypeError, match=r"must return nothing, got a whole number"):
        simulate(PROBLEM, [mine()], horizon=10, replications=1)


def test_environments_are_checked_like_policies():
    content = {
        "setting": LEVELS,
        "metrics": (Metric("missed"),),
        "arms": int_input(),
        "levels": int_input(),
    }
    kernels = {
        "observe": lambda e, t: t % e.levels,
        "respond": lambda e, level, arm: (0, 0),
        "score": lambda metrics: None,
    }
    type("Mine", (Environment,), content | kernels)
    for name in kernels:
        rest = {key: kernel for key, kernel in kernels.items() if key != name}
        with pytest.raises(TypeError, match=f"Mine lacks the kernel {name}"):
            type("Mine", (Environment,), content | rest)
    with pytest.raises(ValueError, match=r"reads e.level: e has .* \(did you mean 'levels'\?\)"):
        type("Mine", (Environment,), content | kernels | {"observe": lambda e: e.level})


def test_a_guard_is_checked_when_its_setting_is_made():
    def make(allowed):
        return Setting("x", ArmsOnly, {"arm": Field("int64")}, {}, allowed)

    with pytest.raises(TypeError, match=r"names 'reward'; it may name p, arm"):
        make(lambda p, reward: True)
    with pytest.raises(ValueError, match=r"reads p\.horizon: p has arms"):
        make(lambda p, arm: arm < p.horizon)


def is_awake(p, awake, arm):
    return 0 <= arm < p.arms and awake[arm] == 1


SLEEPING = Setting(
    name="sleeping",
    declarations=ArmsOnly,
    context={"awake": Field("int64", ("arms",))},
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    allowed=is_awake,
)


class Alternating(Environment):
    """Arms of which every other one sleeps."""

    setting = SLEEPING
    metrics = (Metric("rounds"),)
    arms = int_input()

    class State:
        rounds = int_array()

    def observe(e, t, awake):
        for arm in range(e.arms):
            awake[arm] = (arm + t) % 2

    def respond(e, s, arm):
        s.rounds[0] += 1
        return 1.0

    def score(s, metrics):
        metrics.rounds[0] = s.rounds[0]


class Careless(ArmsOnly, AnyPolicy):
    """Pulls the first arm, awake or not."""

    setting = SLEEPING

    class State:
        seen = int_array()

    def select(p):
        return 0

    def update(p, s, arm):
        s.seen[0] += 1


class Careful(Careless):
    """Pulls the first arm that is awake."""

    def select(p, awake):
        return 0 if awake[0] == 1 else 1


def test_a_guard_may_read_the_context():
    from keyhole.play.interactive_environment import InteractiveEnvironment
    from keyhole.play.learner import make_learner
    from tests.toys import Toy

    problem = Toy(Alternating, {"arms": 4})
    with pytest.raises(ValueError, match=r"took a decision .* in round 2 of replication 0"):
        simulate(problem, {"it": Careless()}, horizon=10, replications=1)
    curves = simulate(problem, {"it": Careful()}, horizon=10, replications=1)
    assert curves.mean("it", "rounds")[-1] == 10
    learner, environment = make_learner(Careless(), {"arms": 4}), InteractiveEnvironment(problem)
    environment.play_round(learner)
    with pytest.raises(ValueError, match="in round 2"):
        environment.ask(learner)


class Blind(IndexPolicy):
    """Its index is not a number after the second pull of an arm."""

    def index(p, pulls, total):
        return math.inf - math.inf if pulls > 1 else 0.0


def test_an_error_names_the_class_of_the_index():
    other = type("Other", (IndexPolicy,), {"index": vars(Blind)["index"]})
    for policy in (Blind(), other()):
        learner = policy.learner(arms=2, threshold=0.5)
        for _ in range(2):
            learner.ask()
            learner.tell(1)
        learner.ask()
        with pytest.raises(ValueError, match=f"{type(policy).__name__}.index must return"):
            learner.tell(1)


def test_an_index_that_is_not_a_number_is_refused():
    message = "Blind.index must return a number, got nan"
    learner = Blind().learner(arms=2, threshold=0.5)
    for _ in range(2):
        learner.ask()
        learner.tell(1)
    learner.ask()
    with pytest.raises(ValueError, match=message):
        learner.tell(1)
    with pytest.raises(ValueError, match=message):
        simulate(PROBLEM, [Blind()], horizon=10, replications=1, checked=True)


def signature_table(signatures):
    """Return the kernels as a table in Markdown, for the documentation."""
    lines = ["| kernel | may name | does | is called |", "|---|---|---|---|"]
    for signature in signatures:
        names = [f"`{name}`" for name in signature.own_args]
        names += [f"the {group}" for group in signature.inputs]
        if signature.outputs in ("context", "decision", "feedback", "report"):
            names.append(f"the arrays of the {signature.outputs}")
        elif signature.outputs == "metrics":
            names.append("`metrics`")
        needed = "" if signature.required else "; may be left out"
        called = f"{signature.occasion}{needed}"
        lines.append(
            f"| `{signature.name}` | {', '.join(names)} | {signature.description} | {called} |"
        )
    return "\n".join(lines)


@pytest.mark.parametrize("signatures", [POLICY_KERNELS, (IMPUTE,), ENVIRONMENT_KERNELS, (GUARD,)])
def test_the_documentation_shows_the_signatures(signatures):
    page = Path(__file__).parents[2] / "docs" / "contract.md"
    assert signature_table(signatures) in page.read_text()


def test_an_index_that_may_return_nothing_is_refused_with_its_line():
    with pytest.raises(TypeError, match=r"Forgetful.index must return a value in every .*line \d+"):

        class Forgetful(IndexPolicy):
            def index(p, pulls, total):
                mean = total / pulls  # noqa: F841

    with pytest.raises(TypeError, match=r"Partly.index must return a value in every .*line \d+"):

        class Partly(IndexPolicy):
            def index(p, pulls, total):
                if total > 1.0:
                    return total

    class Complete(IndexPolicy):
        def index(p, pulls, total):
            if total > 1.0:
                return total
            raise ValueError("too few")
