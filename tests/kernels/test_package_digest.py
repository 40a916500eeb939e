"""Digests of sources and of functions: comments and docstrings change none, code changes each."""

import ast
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.kernels import compile_cache
from keyhole.kernels.fingerprint import fingerprint
from keyhole.kernels.package_digest import compiled_packages_digest, tree_digest
from tests.lengths import short_or_long

SOURCE = '''"""A module."""

import math

SCALE = 2.0


class State:
    """What is kept."""

    totals: float = 0.0


def halved(x, by=2):
    """Return the half."""
    if x > 0 and by != 1:
        return math.sqrt(x) / by
    for i in range(3):
        x += SCALE * i
    try:
        x = [x, -1.0][i]
    except IndexError:
        x = {"none": None}
    return x
'''
LINES = SOURCE.splitlines()


def compiled(source):
    """Return a function that some text defines."""
    scope = {"__name__": "users"}
    exec(compile(source, "users.py", "exec"), scope)
    return scope["halved"]


WORDS = st.lists(
    st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(["", "# why", "    # so  "])),
    max_size=20,
)


@settings(max_examples=short_or_long(30, 100))
@given(words=WORDS)
def test_comments_and_blank_lines_change_nothing(words):
    lines = [[line] for line in LINES]
    for place, text in words:
        lines[place].insert(0, text)
    changed = "\n".join(line for group in lines for line in group)
    assert tree_digest(changed) == tree_digest(SOURCE)
    assert fingerprint(compiled(changed)) == fingerprint(compiled(SOURCE))


TEXTS = ['"""A module."""', '    """What is kept."""', '    """Return the half."""']


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("other", ["", "'''Several\n    lines.'''"])
def test_docstrings_change_nothing(text, other):
    indent = text[: len(text) - len(text.lstrip())]
    changed = SOURCE.replace(text, indent + other if other else "")
    assert changed != SOURCE
    assert tree_digest(changed) == tree_digest(SOURCE)
    assert fingerprint(compiled(changed)) == fingerprint(compiled(SOURCE))


CHANGES = {
    "a constant": ("SCALE = 2.0", "SCALE = 2.5"),
    "its type": ("SCALE = 2.0", "SCALE = 2"),
    "a default": ("by=2", "by=3"),
    "a name": ("math.sqrt", "math.cbrt"),
    "an operator": ("x += SCALE", "x -= SCALE"),
    "a comparison": ("x > 0", "x >= 0"),
    "and": (" and ", " or "),
    "a branch": ("        return math", "        x = math"),
    "a loop": ("range(3)", "range(4)"),
    "a sign": ("-1.0]", "1.0]"),
    "a key": ('"none"', '"nothing"'),
    "None": ("None}", "0}"),
    "an error": ("IndexError", "KeyError"),
    "the order": ("[x, -1.0]", "[-1.0, x]"),
    "an argument": ("halved(x, by=2)", "halved(x, by=2, *more)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_code_changes_the_digest(change):
    changed = SOURCE.replace(*CHANGES[change])
    assert changed != SOURCE
    assert tree_digest(changed) != tree_digest(SOURCE)
    assert fingerprint(compiled(changed)) != fingerprint(compiled(SOURCE))


@pytest.mark.parametrize("change", [("State", "Memory"), ("totals: float", "totals: int")])
def test_unused_code_changes_only_the_digest_of_the_module(change):
    assert tree_digest(SOURCE.replace(*change)) != tree_digest(SOURCE)


def test_every_number_in_own_sources_counts():
    with open(compile_cache.__file__) as file:
        source = file.read()
    tree = ast.parse(source)
    known = tree_digest(source)
    counted = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    ]
    assert counted
    for node in counted:
        before, node.value = node.value, node.value + 1
        assert tree_digest(ast.unparse(tree)) != known
        node.value = before
    assert tree_digest(ast.unparse(tree)) == known


def test_the_digest_is_stored_under_a_digest_of_the_bytes(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    found = compiled_packages_digest.__wrapped__()
    (note,) = tmp_path.glob("*.sources")
    written = note.read_bytes()
    assert compiled_packages_digest.__wrapped__() == found == compiled_packages_digest()
    note.write_bytes(written[:-1] + b"0")  # damaged: made anew
    assert compiled_packages_digest.__wrapped__() == found
    assert note.read_bytes() == written


POLICY = """
from keyhole.thresholding import APT

def checked(t):{doc}
    {comment}
    if t > 2:
        raise ValueError("too late")
    return t

class Mine(APT):
    pending = ("wait",)

    def select(p, s, t):
        return checked(t) - t
"""


def test_an_error_of_cached_code_names_the_current_line(monkeypatch):
    compilings, really = [], compile_cache._compile

    def counting(owner, *rest):
        compilings.append(owner)
        return really(owner, *rest)

    monkeypatch.setattr(compile_cache, "_compile", counting)
    monkeypatch.setattr(compile_cache, "_load_cached_code", lambda path: None)
    for number, (doc, comment) in enumerate(
        [("", ""), ('\n    """Why."""', "# so\n\n    # it is")]
    ):
        source = POLICY.format(doc=doc, comment=comment)
        scope = {"__name__": "users"}
        exec(compile(source, f"users{number}.py", "exec"), scope)
        learner = scope["Mine"]().learner(arms=2, threshold=0.5)
        for _ in range(2):
            learner.ask()
            learner.tell(1)
        with pytest.raises(ValueError, match="too late") as caught:
            learner.ask()
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        line = source.splitlines().index('        raise ValueError("too late")') + 1
        assert (frame.filename, frame.lineno, frame.name) == (f"users{number}.py", line, "checked")
    assert compilings == ["Mine"] * 2  # code that raises errors is compiled again when it moves
