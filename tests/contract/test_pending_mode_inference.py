"""Pending modes are checked, and inferred where a class declares none."""

import math
import re
import warnings

import pytest

from keyhole import simulate, stochastic
from keyhole.contract.pending_mode_inference import describe_declaration_doubts
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.policy import parameter
from keyhole.contract.state_arrays import float_array, int_array, scratch_array
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.draws.streams import uniform
from keyhole.play.simulation_job import digest_parts
from keyhole.play.simulation_plan import Plan, SimulatedWorkers
from keyhole.resource import FixedLimit
from keyhole.stochastic import UCB1, ImprovedUCB, ThompsonSampling
from keyhole.study import PendingDecisionError, Study
from keyhole.testing import check_policy
from keyhole.thresholding import LSA, Policy, Problem
from tests.lengths import short_or_long
from tests.toys import BestAtLevel

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("only_interpreted")]

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


class Tallying(Policy):
    """Pulls the arm pulled least."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s):
        best = 0
        for arm in range(p.arms):
            if s.pulls[arm] < s.pulls[best]:
                best = arm
        return best

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward


class OnlyCounts(Policy):
    """Its state lacks the arrays of the setting's kernels."""

    class State:
        seen = int_array("arms")

    def select(p, s, t):
        return t % p.arms

    def update(p, s, arm):
        s.seen[arm] += 1

    def recommend(p, s, labels):
        for arm in range(p.arms):
            labels[arm] = s.seen[arm] > 0


def derive(base=Tallying, **content):
    return type("Mine", (base,), content)


def test_a_class_with_the_arrays_of_its_setting_imputes():
    assert Tallying.pending == ("impute", "ignore")
    check_policy(Tallying(), PROBLEM)


def test_a_class_with_another_state_waits():
    assert OnlyCounts.pending == ("wait",)


def test_a_class_with_another_state_may_declare_its_modes():
    mine = derive(OnlyCounts, pending=("ignore",))
    assert mine.pending == ("ignore",)
    assert derive(mine).pending == ("ignore",)


@pytest.mark.parametrize(
    ("pending", "message"),
    [
        (("imput",), r"Mine.pending must be .*got 'imput' \(did you mean 'impute'\?\)"),
        ((), r"Mine.pending must be a tuple of at least one mode, got \(\)"),
        ("wait", "Mine.pending must be a tuple of at least one mode, got 'wait'"),
    ],
)
def test_an_unknown_mode_is_refused(pending, message):
    with pytest.raises((TypeError, ValueError), match=message):
        derive(pending=pending)


def reads_pull(p, s, arm):
    s.pull[arm] += 1


def names_reward(p, s, arm, reward):
    s.pulls[arm] += 1


@pytest.mark.parametrize(
    ("impute", "message"),
    [
        (reads_pull, r"reads s.pull: s has pulls, .* \(did you mean 'pulls'\?\)"),
        (names_reward, "names 'reward'; it may name p, s, t, rng, age, arm, index?"),
    ],
)
def test_the_kernel_impute_is_checked_like_others(impute, message):
    with pytest.raises((TypeError, ValueError), match=message.replace(", index?", "")):
        derive(impute=impute, pending=("impute",))


def test_imputing_needs_its_kernel():
    with pytest.raises(TypeError, match="'impute', but Mine lacks the kernel impute"):
        derive(BestAtLevel, pending=("impute",))


def test_a_policy_with_a_base_waits_unless_both_have_another_mode():
    class Asking(WrapperPolicy, Policy):
        base: Policy = parameter(default=LSA(), doc="who decides")

        def init(p, s, rng, base_init):
            base_init(p, s, 0, rng)

        def select(p, s, t, rng, base_select):
            return base_select(p, s, t, rng)

        def update(p, s, t, rng, arm, reward, base_update):
            base_update(p, s, t, rng, arm, reward)

    assert type(Asking()).pending == ("wait",)
    bases = {UCB1(): ("impute", "ignore"), ThompsonSampling(): ("ignore", "impute")}
    bases[ImprovedUCB()] = ("wait",)
    for base, pending in bases.items():
        assert FixedLimit(limit=0.5, base=base).pending == pending


class Turning(Tallying):
    """Its select leaves behind whose turn it is, and its author has not thought of that."""

    pending = ("impute", "ignore")

    class State(Tallying.State):
        turn = int_array()

    def select(p, s):
        s.turn[0] = (s.turn[0] + 1) % p.arms
        return s.turn[0]


def test_a_select_that_writes_lasting_state_must_not_impute():
    mend = r'is lost with the copy; declare `pending = \("wait",\)` in the class Turning'
    with pytest.raises(AssertionError, match=mend):
        check_policy(Turning(), PROBLEM)
    check_policy(derive(Turning, pending=("ignore",))(), PROBLEM)


class Relying(Tallying):
    """Relies on what its last select chose."""

    pending = ("ignore",)

    class State(Tallying.State):
        chosen = int_array()

    def select(p, s, t):
        s.chosen[0] = t % p.arms
        return s.chosen[0]

    def update(p, s, arm, reward):
        s.pulls[s.chosen[0]] += 1
        s.totals[arm] += reward


def test_an_update_that_reads_what_select_wrote_is_detected():
    with pytest.raises(AssertionError, match="on a later decision; declare `pending = "):
        check_policy(Relying(), PROBLEM)


class Stateless(Policy):
    """Remembers nothing."""

    pending = ("ignore",)

    def select(p, t):
        return t % p.arms

    def update(p, arm):
        """Learn nothing."""

    def recommend(p, labels):
        for arm in range(p.arms):
            labels[arm] = 1.0


def test_a_policy_without_state_may_ignore_pending_decisions():
    check_policy(Stateless(), PROBLEM)


class EXP3(stochastic.Policy):
    """`select` writes the chances, and `update` divides by them."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        gains = float_array("arms")
        chances = float_array("arms")

    def select(p, s, rng):
        whole = 0.0
        for arm in range(p.arms):
            s.chances[arm] = math.exp(0.05 * (s.gains[arm] - s.gains[0]) / p.arms)
            whole += s.chances[arm]
        left, chosen = uniform(rng), p.arms - 1
        for arm in range(p.arms):
            s.chances[arm] = 0.95 * s.chances[arm] / whole + 0.05 / p.arms
            left -= s.chances[arm]
            if left < 0.0:
                return arm
        return chosen

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward
        s.gains[arm] += reward / s.chances[arm]


WAITS = (
    "EXP3 waits for the feedback of each decision: `select` writes `chances`, which `update` "
    "reads; have each kernel compute what it reads, in arrays made with `scratch_array`, since "
    "another decision may have been taken in between"
)
ARMS = stochastic.Problem(means=[0.5, 0.45, 0.45, 0.4])


def test_a_select_that_writes_what_update_reads_waits_and_says_why():
    assert EXP3.pending == EXP3().pending == ("wait",)
    assert EXP3.explain_waiting() == WAITS
    assert EXP3.traits()["pending decisions"] == (
        "wait (`select` writes `chances`, which `update` reads)"
    )


def fill(gains, chances):
    for arm in range(len(gains)):
        chances[arm] = 1.0 / len(gains) + 0.0 * gains[arm]


class Scratching(EXP3):
    """Leaves its chances to `update` where nothing keeps them."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        gains = float_array("arms")
        chances = scratch_array("arms")


class Working(Scratching):
    """Works them out again."""

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward
        fill(s.gains, s.chances)
        s.gains[arm] += reward / s.chances[arm]


class Unscratched(Working):
    """Does not say that nobody needs to keep them."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        gains = float_array("arms")
        chances = float_array("arms")


class Bare(Scratching):
    """Waits for two reasons."""

    class State:
        gains = float_array("arms")
        chances = float_array("arms")

    def update(p, s, arm, reward):
        s.gains[arm] += reward / s.chances[arm]

    def recommend(p, s, best):
        best[0] = 0


class Counting(stochastic.Policy):
    """Counts its decisions in `select`."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        calls = int_array()

    def select(p, s):
        s.calls[0] += 1
        return s.calls[0] % p.arms

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward


IGNORE = (
    'declare `pending = ("ignore",)` in the class if the policy may take other decisions before '
    "the feedback comes"
)
LEFT = "`select` writes `chances`, which `update` reads"
ANEW = (
    "have each kernel compute what it reads, in arrays made with `scratch_array`, since another "
    "decision may have been taken in between"
)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Scratching, f"{LEFT}; {ANEW}"),
        (Unscratched, f"{LEFT}; {ANEW}"),
        (
            Bare,
            f"{LEFT}; and its State lacks `pulls` and `totals`, which `impute` of its setting "
            f"uses; {ANEW}",
        ),
        (
            Counting,
            f"`select` writes `calls`, which a later `select` reads; {ANEW}; or {IGNORE}",
        ),
    ],
)
def test_all_reasons_are_given_in_order_of_weight_with_remedies(policy, why):
    assert policy.pending == ("wait",)
    assert policy.explain_waiting() == (
        f"{policy.__name__} waits for the feedback of each decision: {why}"
    )


def test_intermediate_results_in_scratch_arrays_do_not_count():
    assert Working.pending == ("impute", "ignore")
    assert Working.explain_waiting() == ""


def test_scratch_arrays_read_by_another_kernel_are_detected_with_the_remedy():
    with pytest.raises(
        AssertionError, match=r"arrays of `scratch_array` are not saved; .*compute what"
    ):
        check_policy(Scratching(), ARMS)


def test_a_declaration_against_the_analysis_holds_with_a_warning():
    def select(p, s, rng):
        fill(s.gains, s.chances)
        return min(int(uniform(rng) * p.arms), p.arms - 1)

    declared = derive(EXP3, select=select, pending=("ignore",))
    with pytest.warns(UserWarning, match="Mine declares") as said:
        check_policy(declared(), ARMS)
    assert [str(one.message) for one in said] == [
        'Mine declares that its decisions may be pending ("ignore"), but `select` writes '
        "`chances`, which `update` reads; have each kernel compute what it reads, in arrays made "
        "with `scratch_array`, since another decision may have been taken in between; or declare "
        '`pending = ("wait",)` in the class; leave it as it is only if you know that this does no '
        "harm"
    ]


@pytest.mark.parametrize(
    "policy",
    [EXP3, Working, derive(EXP3, pending=("wait",)), derive(Counting, pending=("ignore",))],
)
def test_policies_that_wait_or_recompute_are_not_warned(policy):
    assert describe_declaration_doubts(policy) == ""


def test_a_class_of_a_setting_without_modes_waits_with_the_reason():
    class Bare(CorePolicy, abstract=True):
        setting = Policy.setting

    def derive_from(base, **content):
        kernels = {name: vars(Tallying)[name] for name in ("State", "select", "update")}
        return type("Mine", (base,), kernels | content)

    nothing = derive_from(Bare)
    assert nothing.pending == ("wait",)
    assert nothing.explain_waiting() == (
        "Mine waits for the feedback of each decision: it declares no `pending`, and its base "
        'class Policy waits; declare `pending = ("ignore",)` in the class if the policy may take '
        "other decisions before the feedback comes"
    )
    assert derive_from(Bare, pending=("wait",)).explain_waiting() == ""
    Bare.pending = ("wait",)
    assert "declares no `pending`, and its base class Bare waits" in (
        derive_from(Bare).explain_waiting()
    )


def test_a_wrapper_without_a_common_mode_waits_with_the_reason():
    class Imputing(UCB1):
        pending = ("impute",)

    class Ignoring(WrapperPolicy, stochastic.Policy):
        pending = ("ignore",)
        base: stochastic.Policy = parameter(default=UCB1(), doc="who decides")

        def select(p, s, t, rng, base_select):
            return base_select(p, s, t, rng)

        def update(p, s, t, rng, arm, reward, base_update):
            base_update(p, s, t, rng, arm, reward)

        def recommend(p, s, best):
            best[0] = 0

    assert type(Ignoring(base=UCB1())).pending == ("ignore",)
    over = type(Ignoring(base=Imputing()))
    assert over.pending == ("wait",)
    assert "it can do ignore, and its base Imputing impute" in over.explain_waiting()


def test_a_declaration_takes_precedence():
    class Heedless(EXP3):
        pending = ("ignore",)

    class Below(Heedless):
        """Inherits the kernels of which the declaration speaks."""

    assert Heedless.pending == Below.pending == ("ignore",)
    assert Heedless.explain_waiting() == Below.explain_waiting() == ""

    class Anew(Heedless):
        """Has a kernel of which the declaration knows nothing."""

        def update(p, s, arm, reward):
            s.pulls[arm] += 1
            s.totals[arm] += reward / s.chances[arm]

    assert Anew.pending == ("wait",)


def test_with_two_workers_the_regret_is_that_of_one_at_a_time():
    rounds, replications = short_or_long(1000, 3000), short_or_long(10, 100)
    played = {"horizon": rounds, "replications": replications, "seed": 1}
    alone = simulate(ARMS, [EXP3()], **played).mean("EXP3()", "regret")
    with pytest.warns(UserWarning, match=re.escape(WAITS)):
        together = simulate(ARMS, [EXP3()], workers=2, **played).mean("EXP3()", "regret")
    assert together.tolist() == alone.tolist()
    assert alone[-1] < 0.05 * rounds  # that of arms pulled at random; the worst is 0.1


@pytest.mark.parametrize("pending", ["impute", "ignore"])
def test_a_mode_against_the_analysis_is_refused_with_the_reason(pending, tmp_path):
    with pytest.raises(ValueError, match=f"must be 'wait'.* got '{pending}': EXP3 waits"):
        simulate(ARMS, [EXP3()], horizon=9, replications=1, workers=2, pending=pending)
    with pytest.raises(ValueError, match=f"must be 'wait'.* got '{pending}': EXP3 waits"):
        Study.create(tmp_path / "x.db", "s", EXP3(), ["a", "b"], pending=pending)


def test_a_study_reports_that_the_policy_waits_and_why(tmp_path):
    with pytest.warns(UserWarning, match=re.escape(WAITS)):
        study = Study.create(tmp_path / "x.db", "s", EXP3(), ["a", "b"])
    with study:
        decision = study.ask()
        with pytest.raises(
            PendingDecisionError, match=f"waits for the feedback of {decision.id} .*chances"
        ):
            study.ask()
        study.tell(decision.id, 1)
        study.ask()


def test_an_explicit_wait_is_not_warned(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study.create(tmp_path / "x.db", "s", EXP3(), ["a", "b"], pending="wait").close()
        SimulatedWorkers(2, pending="wait").check(EXP3(), ARMS)
    assert SimulatedWorkers(2, pending="wait").caution(EXP3()) == ""
    assert SimulatedWorkers(1).caution(EXP3()) == ""


def test_a_wrapper_waits_if_its_base_waits():
    policy = FixedLimit(limit=0.5, base=EXP3())
    assert policy.pending == ("wait",)
    assert "`select` writes `chances`" in policy.explain_waiting()
    assert FixedLimit(limit=0.5, base=UCB1()).explain_waiting() == ""


def test_the_declared_modes_are_part_of_the_cache_key():
    def digest(policy):
        work = SimulatedWorkers(2)
        return digest_parts(
            Plan.make(ARMS, {"x": policy}, horizon=9, checkpoints=None, seed=0, workers=work)
        )[0]

    class Bold(UCB1):
        pending = ("ignore",)

    assert digest(Bold()) != digest(UCB1())
