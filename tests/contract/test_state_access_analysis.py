"""The analysis finds all arrays that kernels read and write, and no others."""

import inspect
import math
import warnings

import numpy as np
import pytest

from keyhole.contract import pending_mode_inference
from keyhole.contract.pending_mode_inference import PENDING_MODES
from keyhole.contract.policy import Policy
from keyhole.contract.state_access_analysis import analyse_state_access
from keyhole.contract.state_arrays import argmin_tree_array, float_array, int_array, scratch_array
from keyhole.contract.wrapper_policy import WrapperPolicy, subclass_for_default_base
from keyhole.draws.argmin_tree import (
    argmin_tree_fill,
    argmin_tree_find,
    argmin_tree_update,
    first_unpulled,
)
from keyhole.experiment import setting_registry
from keyhole.resource import FixedLimit
from keyhole.stochastic import IndexPolicy
from keyhole.stochastic import Policy as Stochastic
from keyhole.thresholding import LSA


class Base(Stochastic, abstract=True):
    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        chances = float_array("arms")
        table = float_array("arms", 2)
        last = int_array()
        guess = scratch_array()
        order = argmin_tree_array("arms")

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward / s.chances[arm] + s.table[arm, 0] * s.last[0]


def write_all(values, number):
    for i in range(len(values)):
        values[i] = number


def write_state(p, s):
    s.chances[0] = 0.5


def pass_on(p, s):
    write_state(p, s)


def chances_of(s):
    return s.chances


def rows_of(s):
    return s.table[0], s.table[1]


def write_named(*, number, into):
    into[0] = number


def write_rest(*arrays):
    arrays[0][0] = 1.0


def call_itself(values, depth):
    if depth > 0:
        values[0] = 1.0
        call_itself(values, depth - 1)


def nest(values, depth):
    if depth > 0:
        nest((values, values), depth - 1)


def largest(values):
    best = 0
    for arm in range(len(values)):
        if values[arm] > values[best]:
            best = arm
    return best


def spread(s, arm):
    low, high = s.table[arm, 0], s.table[arm, 1]
    low -= 1.0
    return high - low


class Writing:
    """Kernels `select` that leave something behind."""

    def directly(p, s):
        s.chances[0] = 1.0
        return 0

    def by_adding(p, s):
        s.chances[0] += 1.0
        return 0

    def by_another_name(p, s):
        chances = s.chances
        same = chances
        same[0] = 1.0
        return 0

    def by_a_view(p, s):
        part = s.chances[1:]
        part[0] = 1.0
        return 0

    def by_a_view_of_a_kept_slice(p, s):
        where = slice(0, 2)
        part = s.chances[where]
        part += 1.0
        return 0

    def by_a_row(p, s):
        row = s.table[0]
        row[1] = 1.0
        return 0

    def by_adding_to_a_row(p, s, t):
        row = s.table[t % p.arms]
        row += 1.0
        return 0

    def in_a_loop_over_rows(p, s):
        for row in s.table:
            row[0] = 1.0
        return 0

    def in_a_loop_over_pairs(p, s):
        for arm, row in enumerate(s.table):
            row[0] = arm
        return 0

    def in_a_loop_over_a_tuple(p, s):
        for values in (s.totals, s.chances):
            values[0] = 1.0
        return 0

    def by_unpacking(p, s):
        a, b, c, d = s.pulls, s.totals, s.guess, s.chances
        d[0] = a[0] + b[0] + c[0]
        return 0

    def in_a_tuple_assignment(p, s):
        s.chances[0], s.chances[1] = s.chances[1], s.chances[0]
        return 0

    def by_choice(p, s, t):
        values = s.guess if t > 3 else s.chances
        values[0] = 1.0
        return 0

    def in_the_next_turn_of_a_loop(p, s):
        values = s.guess
        for _ in range(2):
            values[0] = 1.0
            values = s.chances
        return 0

    def by_a_helper(p, s):
        write_all(s.chances, 0.5)
        return 0

    def by_a_helper_of_a_helper(p, s):
        pass_on(p, s)
        return 0

    def by_a_helper_that_returns_it(p, s):
        chances_of(s)[0] = 1.0
        return 0

    def by_a_helper_that_returns_rows(p, s):
        first, second = rows_of(s)
        second[0] = first[0]
        return 0

    def by_a_named_argument(p, s):
        write_named(number=1.0, into=s.chances)
        return 0

    def by_what_takes_any_number(p, s):
        write_rest(s.chances, s.totals)
        return 0

    def by_what_calls_itself(p, s):
        call_itself(s.chances, 3)
        return 0

    def by_a_method(p, s):
        s.chances.fill(0.5)
        return 0

    def by_a_kept_method(p, s):
        fill = s.chances.fill
        fill(0.5)
        return 0

    def by_numpy(p, s):
        np.copyto(s.chances, s.totals)
        return 0

    def by_what_numpy_fills(p, s):
        np.add(s.totals, s.totals, s.chances)
        return 0

    def by_a_flat_view(p, s):
        flat = s.table.ravel()
        flat[0] = 1.0
        return 0

    def in_an_inner_function(p, s):
        chances = s.chances

        def write():
            chances[0] = 1.0

        write()
        return 0

    def by_a_column(p, s):
        column = s.table[..., 0]
        column[0] = 1.0
        return 0

    def by_a_tuple_that_grows(p, s):
        arrays = (s.totals,)
        arrays += (s.chances,)
        arrays[1][0] = 1.0
        return 0

    def by_ones_own_function_of_a_usual_name(p, s):
        def max(values):
            values[0] = 1.0

        max(s.chances)
        return 0

    def by_what_nests_tuples_without_end(p, s):
        nest((s.chances,), 3)
        return 0

    def by_position_in_the_state(p, s):
        s[2][0] = 1.0
        return 0


class Reading:
    """Kernels `select` that only look, or leave behind what nobody reads."""

    def nothing(p, t):
        return t % p.arms

    def entries(p, s):
        best, highest = 0, -math.inf
        for arm in range(p.arms):
            value = s.totals[arm] / max(s.pulls[arm], 1.0)
            value += 1.0 / math.sqrt(s.pulls[arm] + 1.0)
            if value > highest:
                best, highest = arm, value
        return best

    def entries_of_a_table(p, s):
        return int(spread(s, 0) + spread(s, 1)) % p.arms

    def numbers_taken_in_a_loop(p, s):
        total = 0.0
        for pulls in s.pulls:
            pulls += 1.0
            total += pulls
        for arm, (a, b) in enumerate(zip(s.pulls, s.totals)):  # noqa: B905
            a += b * arm
            total += a
        return int(total) % p.arms

    def through_a_helper(p, s):
        return largest(s.chances)

    def through_our_own(p, s):
        return max(first_unpulled(s.pulls, p.arms), argmin_tree_find(s.order, p.arms), 0)

    def through_numpy(p, s):
        return np.argmax(s.chances) + s.pulls.argmin() + len(s.totals) + s.table.shape[1]

    def through_a_view(p, s):
        part = s.chances[1:]
        return int(part[0] + part.max())

    def what_only_makes_it_fast(p, s):
        s.guess[0] += 1.0
        return int(s.guess[0]) % p.arms


def classes(kernels):
    return [
        pytest.param(type(name, (Base,), {"select": kernel, "__doc__": name}), id=name)
        for name, kernel in vars(kernels).items()
        if not name.startswith("_")
    ]


@pytest.mark.parametrize("policy", classes(Writing))
def test_a_select_that_writes_state_waits(policy):
    assert policy.pending == ("wait",)
    assert "`select` writes " in policy.explain_waiting()


@pytest.mark.parametrize("policy", classes(Reading))
def test_a_select_that_only_reads_does_not_wait(policy):
    assert policy.pending == ("impute", "ignore")
    assert policy.explain_waiting() == ""


@pytest.mark.parametrize("policy", classes(Writing)[:-2])
def test_written_arrays_are_named(policy):
    writes = analyse_state_access(policy, "select").writes
    assert writes & {"chances", "table"}
    assert "order" not in writes


def test_argmin_keys_that_select_changes_count_as_written():
    class Heap(Base):
        def select(p, s):
            best = argmin_tree_find(s.order, p.arms)
            argmin_tree_update(s.order, p.arms, best, 1.0)
            return best

    assert "`select` writes `order`, which a later `select` reads" in Heap.explain_waiting()

    class Filled(Base):
        def select(p, s):
            argmin_tree_fill(s.order, p.arms, 0.0)
            return 0

    assert Filled.pending == ("impute", "ignore")  # nobody reads it


def test_arrays_read_only_by_recommend_count():
    class Ending(Base):
        class State(Base.State):
            seen = float_array()

        def select(p, s):
            s.seen[0] = 1.0
            return 0

        def recommend(p, s, best):
            best[0] = int(s.seen[0])

    assert "`select` writes `seen`, which `recommend` reads" in Ending.explain_waiting()


def test_helpers_of_a_class_are_followed():
    class Lending(Base):
        helpers = ("prepare",)

        def prepare(p, s):
            s.chances[0] = 1.0

        def select(p, s, prepare):
            prepare(p, s)
            return 0

    assert Lending.pending == ("wait",)


def test_helpers_that_are_passed_on_are_followed():
    class Passing(Base):
        helpers = ("look",)

        def look(p, s, arm):
            return s.pulls[arm] * s.totals[arm]

        def select(p, s, look):
            return find_best(p, s, look)

    assert analyse_state_access(Passing, "select").writes == set()
    assert Passing.pending == ("impute", "ignore")


def find_best(p, s, value):
    best = 0
    for arm in range(p.arms):
        if value(p, s, arm) > value(s=s, p=p, arm=best):
            best = arm
    return best


def test_an_index_policy_of_ones_own_does_not_wait():
    class Bold(IndexPolicy):
        def index(p, pulls, total):
            return total / pulls + math.sqrt(1 / pulls)

    assert Bold.pending == ("impute", "ignore")


def test_unknown_functions_count_as_writing():
    class Unseen(Base):
        def select(p, s):
            yield int(s.pulls[0])
            return (yield from s.pulls)

    assert Unseen.pending == ("wait",)
    assert "`select` writes `pulls`" in Unseen.explain_waiting()


def test_an_index_that_is_read_counts():
    class Ordered(Base):
        class State(Base.State):
            first = int_array()

        def select(p, s):
            s.first[0] = 1
            return 0

        def recommend(p, s, best):
            s.pulls[s.first[0]] += 1.0
            best[0] = 0

    assert "`select` writes `first`, which `recommend` reads" in Ordered.explain_waiting()


def test_without_a_source_a_class_waits_and_says_why():
    scope = {}
    exec("def select(p, s):\n    s.guess[0] = 0.0\n    return 0\n", scope)
    unknown = type("Unknown", (Base,), {"select": scope["select"]})
    assert unknown.pending == ("wait",)
    assert unknown.explain_waiting() == (
        "Unknown waits for the feedback of each decision: what `select` writes could not be "
        "analysed (`select`: its source is not there); define it in a file or a notebook cell, "
        "where its source can be read, and start Python again if that file has changed since; or "
        'declare `pending = ("ignore",)` in the class if the policy may take other decisions '
        "before the feedback comes"
    )


def own_policies():
    return [policy for one in setting_registry.all_settings() for policy in one.policies.values()]


def test_own_policies_declare_their_modes_and_are_not_analysed():
    assert LSA in own_policies()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for policy in own_policies():
            assert issubclass(policy, Policy)
            assert policy.explain_waiting() == "", policy
            assert set(policy.pending) <= set(PENDING_MODES)
            stands = inspect.getattr_static(policy, "pending")
            assert isinstance(stands, tuple) or issubclass(policy, WrapperPolicy), policy
        assert IndexPolicy.pending == ("impute", "ignore")


# Their `select` writes what it reads later on; why they need not wait, their files say.
DECLARED_AGAINST_ANALYSIS = {"CTS", "ESCB", "MPTS", "SDCB", "FixedLimit", "RoundRobin"} | {
    "ThresholdThompson"
}


def with_base(policy):
    """Return the class itself, or that for the default base: the analysis needs its kernels."""
    unbound = issubclass(policy, WrapperPolicy) and not hasattr(policy, "base_class")
    return subclass_for_default_base(policy) if unbound and policy is not FixedLimit else policy


def test_no_own_policy_is_doubted():
    bound = [type(FixedLimit(limit=0.5)) if p is FixedLimit else p for p in own_policies()]
    assert [
        text
        for policy in map(with_base, bound)
        if (text := pending_mode_inference.describe_declaration_doubts(policy))
    ] == []


def test_own_declarations_equal_the_inference():
    against = {
        policy.__name__
        for policy in map(with_base, own_policies())
        if policy.pending != ("wait",) and pending_mode_inference._reasons_to_wait(policy)
    }
    assert against == DECLARED_AGAINST_ANALYSIS
