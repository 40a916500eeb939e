"""What is typed in a session is gathered as source: the session is made by hand here."""

import copy
import json
import linecache
import subprocess
import sys
from types import ModuleType

import pytest

from keyhole.notebook_code import NotebookCode, NotebookCodeError, execute_typed, is_typed
from keyhole.play.plan import Plan
from keyhole.play.plan_pickling import check_is_sendable, pickle_plan, unpickle_plan
from keyhole.play.replication_block import plan_digest
from keyhole.reproducible_pickling import pickle_value
from keyhole.runner import FunctionProcess
from keyhole.thresholding import Problem
from keyhole.tune.function_arms import find_answer, function_command, parse_target
from keyhole.tune.spec import Spec

NAMES = """
import math, time
import numpy as np
from keyhole.policy import FloatArray, float_array, parameter
from keyhole.thresholding import Policy
SHIFT, TABLE = 0.5, np.arange(3.0)
unused = open
"""
HELPERS = '''
def shift(x):
    """Use a module that another cell imports, a constant and an array."""
    return x * SHIFT + math.sqrt(4.0) + TABLE[1]
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def nap(seconds, limit=1.0):
    import math
    time.sleep(seconds)
    return math.floor(shift(seconds))
class Bare:
    size = 3
'''
POLICY = '''
class Typed(Policy):
    """Take the arms in turn."""

    period: float = parameter(default=2.0, gt=0)

    class State:
        pulls: FloatArray = float_array("arms")

    def select(p, s: State, t: int) -> int:
        return int(shift(t) / p.period) % p.arms

    def update(p, s: State, arm: int) -> None:
        s.pulls[arm] += 1

    def recommend(p, s: State, labels: FloatArray) -> None:
        for arm in range(p.arms):
            labels[arm] = s.pulls[arm]
'''


@pytest.fixture
def session(monkeypatch):
    """A session without a file, and a function that executes a cell in it."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)

    def execute(text):
        name = f"<cell {len(linecache.cache)}>"
        monkeypatch.setitem(
            linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name)
        )
        exec(compile(text, name, "exec", dont_inherit=True), vars(main))
        return vars(main)

    execute(NAMES)
    execute(HELPERS)
    return execute


def gathered(thing):
    code, values = NotebookCode(), {"__name__": "elsewhere"}
    name = code.add(thing)
    execute_typed(json.loads(json.dumps(code.cells)), values)
    return values[name], values


def test_a_function_goes_with_all_that_it_uses_and_nothing_else(session):
    values = session("")
    shift, others = gathered(values["shift"])
    assert shift(1.0) == values["shift"](1.0)
    assert "unused" not in others
    assert "odd" not in others
    even, _ = gathered(values["even"])
    assert even(8)
    assert gathered(values["Bare"])[0].size == 3


def test_the_last_definition_counts_and_one_that_was_replaced_is_refused(session):
    old = session("def f(): return 1")["f"]
    assert gathered(session("def f(): return 2")["f"])[0]() == 2
    code = NotebookCode()
    code.add(old)
    with pytest.raises(NotebookCodeError, match="two things called f cannot be sent: rename one"):
        code.add(sys.modules["__main__"].f)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("from threading import Lock\nlock = Lock()\ndef f(): return lock",
         r"f uses lock, which cannot be sent \(cannot pickle"),
        ("big = bytes(2**21)\ndef f(): return big", "f uses big, of 2 MiB, and at most 1 MiB is"),
        ("bare = Bare()\ndef f(): return bare", "f uses bare, a Bare with parts that were typed"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_sent_is_named_in_one_line(session, cell, words):
    with pytest.raises(NotebookCodeError, match=words) as caught:
        NotebookCode().add(session(cell)["f"])
    assert caught.value._render_traceback_() == [f"ValueError: {caught.value}"]
    assert "\n" not in str(caught.value)


def test_without_its_source_it_is_refused(session):
    values = session("")
    exec("def g(): return 1", values)
    with pytest.raises(NotebookCodeError, match=r"^g was typed where its source is not kept"):
        NotebookCode().add(values["g"])
    values = session("def h(): return 1")
    file = values["h"].__code__.co_filename
    linecache.cache[file] = (9, None, ["def h(): return 2\n"], file)
    with pytest.raises(NotebookCodeError, match=r"^the source of h has changed; run its"):
        NotebookCode().add(values["h"])


def test_what_has_a_file_or_no_name_of_its_own_is_not_typed(session):
    assert not is_typed(plan_digest)
    values = session("f = lambda: 1\ndef g():\n    def inner(): pass\n    return inner")
    assert not is_typed(values["f"])
    assert not is_typed(values["g"]())
    vars(sys.modules["__main__"])["__file__"] = "/script.py"
    assert not is_typed(values["g"])


@pytest.mark.interpreted
def test_a_typed_policy_is_sent_with_the_same_digest(session):
    kind = session(POLICY)["Typed"]
    check_is_sendable(kind)
    plan = Plan.make(Problem([0.2, 0.7], 0.5), [kind()], horizon=9, checkpoints=[9], seed=3)
    there = unpickle_plan(pickle_plan(plan))
    assert plan_digest(there) == plan_digest(plan)
    (policy,) = there.policies.values()
    assert type(policy) is not kind
    assert repr(policy) == "Typed(period=2)"


def test_a_typed_function_is_an_arm_that_survives_its_session(session):
    target, cells = parse_target("f", session("")["nap"])
    assert target == "<typed>:nap"
    table = {"name": "a", "function": session("")["nap"], "parameters": {"seconds": 0.25}}
    spec = Spec.from_table({"arm": [table], "limits": [1, 2]})
    again = Spec.from_json(json.loads(json.dumps(spec.as_json())))
    assert again.arms == spec.arms
    assert again.arms[0].cells == cells
    command = function_command(target, {"seconds": 0.25, "limit": 2.0}, cells)
    done = subprocess.run(command, capture_output=True)
    assert find_answer(done.stdout).result == 3
    with pytest.raises(ValueError, match=r"^f must be <typed>:name where `cells` has its source"):
        parse_target("f", "<typed>:nap")


def test_a_typed_function_does_jobs(session):
    with FunctionProcess(session("")["nap"]) as process:
        assert process.run(0.25, limit=60)[0] == 3


@pytest.mark.parametrize(
    ("first", "later", "part"),
    [
        ("class Old: x = 1\nclass Child(Old): pass\ndef f(): return Child.x", "class Old: x = 2",
         "Old"),
        ("K = 1\ndef f(k=K): return k", "K = 2", "k"),
        ("K = 1\nclass Sized: size = K\ndef f(): return Sized.size", "K = 2", "size"),
        ("class Open:\n    def g(self): return 1\ndef f(): return Open().g()",
         "Open.g = lambda self: 2", "g"),
        ("def f(): return f.n\nf.n = 4", "", "n"),
    ],
)  # fmt: skip
def test_what_its_source_would_make_otherwise_is_refused(session, first, later, part):
    f = session(first)["f"]
    session(later)
    with pytest.raises(
        NotebookCodeError, match=rf"was made with an older or another {part} than its"
    ):
        NotebookCode().add(f)


def test_functions_of_modules_are_imported_and_generators_refused(session):
    f = session("from random import random as draw\nimport urllib.request\n"
                "def f(): return draw(), urllib.request.quote('a b')")["f"]  # fmt: skip
    cells = NotebookCode()
    cells.add(f)
    assert "getstate" not in "".join(cells.cells)
    (one, text), (two, _) = gathered(f)[0](), gathered(f)[0]()
    assert (one != two, text) == (True, "a%20b")
    g = session("rng = np.random.default_rng(1)\ndef g(): return rng.random()")["g"]
    with pytest.raises(NotebookCodeError, match="make it inside the function"):
        NotebookCode().add(g)


def test_values_of_any_kind_arrive_as_they_are(session):
    f = session("import signal\nKINDS, pickle = {'a', 'b', 'c'}, 3\nTERM = signal.SIGTERM\n"
                "def f(): return sorted(KINDS), pickle, TERM")["f"]  # fmt: skip
    assert gathered(f)[0]() == f()


def test_what_copying_leaves_in_a_class_is_no_difference(session):
    f = session("class Slow:\n    def g(self): return 1\ndef f(): return Slow().g()")["f"]
    copy.copy(sys.modules["__main__"].Slow())
    assert gathered(f)[0]() == 1


def test_a_set_is_sent_as_the_same_bytes_in_any_order():
    texts = [f"word {number}" for number in range(50)]
    one, other = set(texts), set(reversed(texts))
    for number in range(50, 2000):  # grows, so that the order differs
        other.add(f"word {number}")
    other -= {f"word {number}" for number in range(50, 2000)}
    assert list(one) != list(other)
    assert pickle_value(one, 10**6) == pickle_value(other, 10**6)
