"""Write lists: imports of policies and settings, and tables of these, of metrics and of claims.

`make lists` runs it. Imports stand in files, since type checkers and editors read them there. They
follow from the files in `policies/`; tables follow from the policies themselves: first paragraph of
the docstring, known quantities, feedback, and first reference. The tables of metrics follow from
environments, those of the best policies from the results of the benchmark, that of kinds of claims
from their classes.
"""

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WIDTH = 100


def import_lists() -> dict[Path, str]:
    """Return the text of each file that imports policies, without importing Keyhole."""
    found = {}
    for folder in sorted((ROOT / "src" / "keyhole").glob("*/policies")):
        package = f"keyhole.{folder.parent.name}"
        modules = {
            f"{package}.policies.{path.stem}": public_classes(path)
            for path in sorted(folder.glob("*.py"))
            if path.stem != "__init__"
        }
        setting = folder.parent / "__init__.py"
        found[setting] = with_policies(setting.read_text(), f"{package}.policies.", modules)
    return found | setting_lists()


def setting_lists() -> dict[Path, str]:
    """Return the text of the files that name all built-in settings."""
    source = (ROOT / "src" / "keyhole" / "experiment" / "setting_registry.py").read_text()
    first, *others = next(
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "BUILT_IN"
    )
    project = ROOT / "pyproject.toml"
    layer = " | ".join(f"({name})" for name in others)
    return {
        project: re.sub(r'"\(threshold\) \|[^"]*"', f'"{layer}"', project.read_text()),
        **lazy_lists("keyhole", [first, *others]),
        **lazy_lists("keyhole.papers"),
    }


def lazy_lists(package: str, modules: Sequence[str] = ()) -> dict[Path, str]:
    """Return the text of a package that imports names when they are first used.

    Its names are those that it imports for type checkers, and those that it imports at once.
    """
    path = ROOT.joinpath("src", *package.split("."), "__init__.py")
    text = path.read_text()
    public: list[str] = []
    homes: dict[str, str] = {}
    spans: list[tuple[ast.stmt, str]] = []
    body = ast.parse(text).body
    checked = next(node for node in body if isinstance(node, ast.If))
    for node in [*body, *checked.body]:
        if not isinstance(node, ast.ImportFrom) or not f"{node.module}.".startswith("keyhole."):
            continue
        if node.module == "keyhole.former_names":
            continue
        names = [alias.name for alias in node.names]
        if node.module == "keyhole":
            names = list({*modules, *names})
            statement = bracketed("from keyhole import ", names)
            spans.append((node, textwrap.indent(statement, "    ")))
        elif node in checked.body:
            homes |= dict.fromkeys(names, f"{node.module}".removeprefix(f"{package}."))
        public += names
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            spans.append((node, public_list(public)))
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_DEFINING_MODULES":
            rows = [f'    "{name}": "{homes[name]}",' for name in sorted(homes, key=sort_key)]
            spans.append((node, "\n".join(["_DEFINING_MODULES: Final = {", *rows, "}", ""])))
    return {path: replace_statements(text.splitlines(keepends=True), spans)}


def replace_statements(lines: list[str], spans: list[tuple[ast.stmt, str]]) -> str:
    """Return the lines of a file, with other text for some of its statements."""
    for node, new in sorted(spans, key=lambda span: -span[0].lineno):
        lines[node.lineno - 1 : node.end_lineno] = [new]
    return "".join(lines)


def public_classes(path: Path) -> list[str]:
    """Return the public classes that a file defines."""
    body = ast.parse(path.read_text()).body
    return [n.name for n in body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]


def with_policies(text: str, package: str, modules: dict[str, list[str]]) -> str:
    """Return the source of a setting, with these policies in its imports and in ``__all__``."""
    lines = text.splitlines(keepends=True)
    public = [name for classes in modules.values() for name in classes]
    imports = "".join(import_statement(module, classes) for module, classes in modules.items())
    spans: list[tuple[ast.stmt, str]] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(package):
            spans.append((node, imports))
            imports = ""  # the first of them stands for all
        elif isinstance(node, ast.ImportFrom) and node.module != "keyhole.former_names":
            public += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            spans.append((node, public_list(public)))
    return replace_statements(lines, spans)


def import_statement(module: str, names: list[str]) -> str:
    """Return the statement that imports names from a module."""
    line = f"from {module} import {', '.join(sorted(names, key=sort_key))}\n"
    return line if len(line) <= WIDTH + 1 else bracketed(line.split("import")[0] + "import ", names)


def bracketed(start: str, names: list[str]) -> str:
    """Return a statement that ends with a list of names, one on a line."""
    lines = [f"    {name}," for name in sorted(names, key=sort_key)]
    return "\n".join([f"{start}(", *lines, ")", ""])


def public_list(names: list[str]) -> str:
    """Return the statement of ``__all__``, on as few lines as there is room."""
    text = ", ".join(f'"{name}"' for name in sorted(names, key=sort_key))
    line = f"__all__ = [{text}]\n"
    if len(line) <= WIDTH + 1:
        return line
    indent = " " * 4
    words = textwrap.fill(f"{text},", WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"__all__ = [\n{words}\n]  # fmt: skip\n"


def sort_key(name: str) -> tuple[Any, ...]:
    """Return the key of Ruff's order: constants, classes, functions; numbers by value."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


def tables() -> dict[Path, str]:
    """Return the text of each page with a table."""
    registry = importlib.import_module("keyhole.experiment.setting_registry")
    readme = ROOT / "README.md"
    found = {readme: readme.read_text()}
    for setting in registry.BUILT_IN:
        policies = registry.find_setting(setting).policies
        page = ROOT / "docs" / f"{setting}.md"
        text = with_table(page.read_text(), "policies", policy_rows(list(policies.values())))
        text = with_table(text, "which", situation_rows(setting))
        metrics = registry.find_setting(setting).metrics.values()
        found[page] = with_table(text, "metrics", metric_rows(metrics))
        cell = ", ".join(f"`{name}`" + r"\*" * cls.oracle for name, cls in policies.items())
        found[readme] = replace_cell(found[readme], setting, cell)
    page = ROOT / "docs" / "experiments.md"
    found[page] = with_table(page.read_text(), "claims", claim_rows())
    return found


def with_table(text: str, name: str, rows: list[dict[str, str]]) -> str:
    """Return the text of a page with this table between the markers of this name."""
    begin, end = f"<!-- {name}: written by `make lists` -->", f"<!-- end of {name} -->"
    before, mark, rest = text.partition(begin)
    if not mark or end not in rest:
        title = text.partition("\n")[0]
        raise ValueError(f"the page {title!r} must have the lines {begin} and {end}")
    lines = [f"| {' | '.join(rows[0])} |", "|---" * len(rows[0]) + "|"]
    lines += [re.sub(" +", " ", f"| {' | '.join(row.values())} |") for row in rows]
    return "\n".join([before + begin, "", *lines, "", end + rest.partition(end)[2]])


def situation_rows(setting: str) -> list[dict[str, str]]:
    """Return the best policy and the next of each situation of the benchmark."""
    guide = importlib.import_module("tools.write_which_policy")
    rows = []
    for one in guide.judged_summaries():
        if one.setting == setting:
            label = one.best.policy
            page = f"reference/{setting}/{label.partition('(')[0]}.md"
            best = f"[`{label}`]({page})"
            rows.append({"situation": one.title, "best": best, "next": guide.next_best(one)})
    return rows


def metric_rows(metrics: Any) -> list[dict[str, str]]:
    """Return what the table says of each metric of a setting."""
    return [
        {
            "metric": f"`{metric.name}[i]`" if metric.per_arm else f"`{metric.name}`",
            "meaning": metric.title + " (higher is better)" * (metric.better == "higher"),
            "only with `details=True`": "yes" if metric.detail else "",
        }
        for metric in metrics
    ]


def claim_rows() -> list[dict[str, str]]:
    """Return what the table says of each kind of claim, and of each function, by column."""
    kinds = importlib.import_module("keyhole.papers.claims.kinds")
    controlled = importlib.import_module("keyhole.papers.claims.claim").ControlledClaim
    common = {"kind", "of", "by", *controlled.model_fields}
    entries = importlib.import_module("keyhole.papers").Entry
    functions = {
        getattr(claim, "by", "")
        for name in importlib.import_module("keyhole.papers").ENTRY_FILES
        for claim in entries.load(name).claims
    }
    classes = {f"`{kind.replace(': ', '` of = `')}`": cls for kind, cls in kinds.KINDS.items()}
    for by in functions - {""}:
        table = {"kind": "computed", "by": by}
        classes[f"`computed` by = `{by}`"] = kinds.find_claim_class("", table, None)
    rows = []
    for kind, cls in sorted(classes.items()):
        own = {n: f.is_required() for n, f in cls.model_fields.items() if n not in common}
        needed = [f"`{name}`" for name, required in own.items() if required]
        optional = [f"[`{name}`]" for name, required in own.items() if not required]
        about = paragraph(cls.judgement).removeprefix("Judge ").removeprefix("whether ")
        fields = ", ".join([*needed, *optional])
        rows.append({"kind": kind, "the claim": about[:1].upper() + about[1:], "fields": fields})
    return rows


def paragraph(cls: Any) -> str:
    """Return the first paragraph of the docstring of a class or function as one line."""
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def replace_cell(text: str, setting: str, cell: str) -> str:
    """Return the README with this cell in the column of policies of a setting."""
    row = re.search(rf"^\| `{setting}` \|.*$", text, re.MULTILINE)
    if row is None:
        raise ValueError(f"README.md: its table must have a row of {setting}")
    cells = row[0].split(" | ")
    return text.replace(row[0], " | ".join([*cells[:2], cell, *cells[3:]]))


def policy_rows(policies: list[Any]) -> list[dict[str, str]]:
    """Return what the table says of each policy of a setting; without feedback if all share it."""
    rows = [table_row(policy) for policy in policies]
    if len({row["feedback"] for row in rows}) == 1:
        rows = [{k: v for k, v in row.items() if k != "feedback"} for row in rows]
    return rows


def table_row(policy: Any) -> dict[str, str]:
    """Return what the table says of a policy, by column."""
    text = inspect.getdoc(policy) or ""
    needs = [name.replace("_", " ") for name in policy.needs]
    if "base" in policy.__dataclass_fields__:
        needs.append("those of its base")
    return {
        "policy": f"[`{policy.__name__}`]({reference_of(policy)})",
        "rule": paragraph(policy),
        "known quantities": ", ".join(needs) + " (an oracle)" * policy.oracle,
        "feedback": first_clause(policy.feedback),
        "after": first_reference(text),
    }


def reference_of(policy: Any) -> str:
    """Return where the reference has the page of a policy, from the page of its setting."""
    return f"reference/{policy.setting.name}/{policy.__name__}.md"


def first_clause(text: str) -> str:
    """Return a text up to its first semicolon outside parentheses."""
    return re.match(r"(?:\([^)]*\)|[^;(])*", text)[0]  # type: ignore[index]


def first_reference(text: str) -> str:
    """Return the first paper of a docstring's references, as a citation if it has an entry."""
    references = text.split("References\n")[1]
    name = r"(?:[A-Z]\w+ )?[A-Z][\w-]+"
    found = re.search(rf"({name}(?:(?:,\s|\sand\s){name})*)\s\((\d{{4}})\)", references)
    if found is None:
        return ""
    key = re.sub(r"[^a-z]", "", re.split(r",| and ", found[1])[0].lower()) + found[2]
    if f"{{{key}," in (ROOT / "src/keyhole/references.bib").read_text():
        return f"{{cite:p}}`{key}`"
    return f"{' '.join(found[1].split())} ({found[2]})"


def write(texts: dict[Path, str]) -> None:
    """Write the files that change, and print their names."""
    for path, text in texts.items():
        if path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


def main() -> None:
    """Write imports, then tables, which import all policies."""
    write(import_lists())
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    write(tables())


if __name__ == "__main__":
    main()
