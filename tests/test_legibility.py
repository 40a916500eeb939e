"""How the sources read: names that say what a value is, statements that say one thing."""

import ast
from collections import defaultdict
from functools import cache

from tests.test_repository import ROOT, SOURCES, lines_of_code

# Participles and pronouns, of which a reader must look up what they stand for.
VAGUE = """
    found made given known one other own wanted what kind side its part parts words shown seen taken
    begun both which left most least at news here of into place places
"""


@cache
def parsed_sources():
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in SOURCES}


@cache
def nodes_by_type():
    nodes = defaultdict(list)
    for path, tree in parsed_sources().items():
        for node in ast.walk(tree):
            nodes[type(node)].append((path, node))
    return nodes


def nodes(kind):
    return [(f"{path}:{node.lineno}", node) for path, node in nodes_by_type()[kind]]


@cache
def thousands_of_lines():
    return sum(lines_of_code(path.read_text()) for path in SOURCES) / 1000


def test_variables_are_nouns_that_say_what_their_value_is():
    vague = {
        f"{path}:{name.lineno} {name.id}"
        for path, function in nodes_by_type()[ast.FunctionDef]
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        if name.id in VAGUE.split()
    }
    assert sorted(vague) == []


def test_unlike_values_are_assigned_on_lines_of_their_own():
    parallel = [
        where
        for where, node in nodes(ast.Assign)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    ]
    assert len(parallel) <= 3 * thousands_of_lines(), parallel


def test_few_conditions_stand_within_an_expression():
    assert len(nodes(ast.IfExp)) <= 18 * thousands_of_lines()


def test_few_types_are_left_open():
    any_type = [where for where, node in nodes(ast.Name) if node.id == "Any"]
    assert len(any_type) <= 20 * thousands_of_lines()


def test_a_modules_docstring_is_one_line_unless_the_file_is_hard():
    first = [tree.body[0] for tree in parsed_sources().values() if ast.get_docstring(tree)]
    assert sum(node.end_lineno - node.lineno for node in first) <= 500
