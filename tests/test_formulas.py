"""Formulas of docstrings: written once as TeX, never with their backslashes doubled."""

import ast
import re
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))


def test_no_formula_has_doubled_backslashes():
    for path in SOURCES:
        text = path.read_text()
        if r"\\" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                formulas = re.findall(r":math:`[^`]*`", text)
                formulas += re.findall(r"\.\. math::.*?(?=\n\n\S|\Z)", text, re.DOTALL)
                # A doubled backslash ends a line; before a letter it is a command misspelt.
                assert not re.findall(r"\\\\[a-zA-Z,;]", " ".join(formulas)), path
