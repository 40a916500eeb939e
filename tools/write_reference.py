"""Write the reference's pages: one for each setting, and one for each class that has its own.

`make lists` runs it. A page is little more than the name of what Sphinx documents there, with links
to the page of the setting and, for a policy, its rows of the benchmark. The classes of a setting
are those that its module exports; those of other packages are in `CLASSES`.
"""

import importlib
import inspect
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"

CLASSES: Final = {
    "keyhole": ("Curves", "Learner", "Metric", "PairedDifference", "StoppingTimes"),
    "keyhole.client": ("Client", "StudyClient"),
    "keyhole.clusters": ("Cluster",),
    "keyhole.confidence_sequences": ("BetaMixture", "EmpiricalBernstein"),
    "keyhole.data": (
        "ArrivalTimes", "Conversions", "DailyCounts", "RunToExport", "ForestTrainer", "Labels",
        "MeasuredRuns", "Scenario",
    ),
    "keyhole.distributions": (
        "Bernoulli", "Beta", "CustomDistribution", "Distribution", "NumberDistribution", "Replay",
        "TabulatedSciPyDistribution", "TruncatedNormal",
    ),
    "keyhole.runner": ("CommandResult", "CommandRunner", "FunctionProcess"),
    "keyhole.study": ("AsyncStudy", "Decision", "DecisionRecord", "Study"),
    "keyhole.tune": (
        "Best", "CommandExecutor", "PairEstimate", "SavedSpaceTune", "SavedTune", "Spec",
        "TrialRecord", "Tuner",
    ),
}  # fmt: skip

OVERVIEW = "<!-- names: written by `make lists` -->"
BEGIN, END = "<!-- classes: written by `make lists` -->", "<!-- end of classes -->"


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    found = {}
    for package, names in CLASSES.items():
        page = REFERENCE / f"{package.removeprefix('keyhole.')}.md"
        found[page] = with_classes(page.read_text(), package, names)
        module = importlib.import_module(package)
        for name in names:
            cls = getattr(module, name)
            found[class_page(package, name)] = f"# {package}.{name}\n\n{directive(package, cls)}"
    for setting in settings():
        package = setting.module.__name__
        found[REFERENCE / f"{setting.name}.md"] = setting_page(setting)
        for name, cls in own_classes(setting).items():
            text = policy_page if name in setting.policies else part_page
            found[class_page(package, name)] = text(setting, cls)
    index = REFERENCE / "index.md"
    return found | {index: with_overview(index.read_text(), set(found))}


def with_overview(text: str, class_pages: set[Path]) -> str:
    """Return the text of the overview with a line for each name that a package exports."""
    before, _, rest = text.partition(OVERVIEW)
    after = rest.partition("```{toctree}")[2]
    lines = ["| name | |", "|---|---|"]
    for stem in re.findall(r"^(\w+)$", after, re.MULTILINE):
        package = "keyhole" if stem == "keyhole" else f"keyhole.{stem}"
        module = importlib.import_module(package)
        lines.append(f"| **[{package}]({stem}.md)** | {first_sentence(module)} |")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                page = class_page(package, name)
                target = page if page in class_pages else REFERENCE / f"{stem}.md"
                link = target.relative_to(REFERENCE)
                lines.append(f"| [`{name}`]({link}) | {first_sentence(thing)} |")
    return "\n\n".join([before.rstrip(), OVERVIEW, "\n".join(lines), "```{toctree}" + after])


def settings() -> list[Any]:
    """Return the built-in settings."""
    registry = importlib.import_module("keyhole.experiment.setting_registry")
    return [registry.find_setting(name) for name in registry.BUILT_IN]


def class_page(package: str, name: str) -> Path:
    """Return the page of a class."""
    return REFERENCE / package.removeprefix("keyhole.") / f"{name}.md"


def own_classes(setting: Any) -> dict[str, type]:
    """Return the classes that the module of a setting exports and does not take from elsewhere."""
    package = setting.module.__name__
    exported = {name: getattr(setting.module, name) for name in setting.module.__all__}
    return {
        name: cls
        for name, cls in exported.items()
        if inspect.isclass(cls) and cls.__module__.startswith(f"{package}.")
    }


def own_functions(setting: Any) -> list[str]:
    """Return the functions that the module of a setting exports."""
    names = setting.module.__all__
    return [name for name in names if inspect.isfunction(getattr(setting.module, name))]


def setting_page(setting: Any) -> str:
    """Return the page of a setting: its classes, and what stands in full on this page."""
    package = setting.module.__name__
    classes = own_classes(setting)
    others = [name for name in classes if name not in setting.policies]
    names = re.findall(rf"`{package}\.(\w+)", (DOCS / f"{setting.name}.md").read_text())
    members = ", ".join(own_functions(setting))
    blocks = [f".. automodule:: {package}" + f"\n   :members: {members}" * bool(members)]
    rest = [
        f".. automodule:: {package}.{name}\n   :members:"
        for name in sorted({name for name in names if name not in setting.module.__all__})
    ]
    parts = [
        f"# {package}",
        f"The guide is {guide_link(setting, '..')}.",
        fenced("\n\n".join(blocks)),
        class_tree(package, [*setting.policies, *others]),  # of the page, and not of a section
        "## Policies",
        class_table(package, list(setting.policies)),
        "## Other classes",
        class_table(package, others),
        "## Functions",
        fenced("\n\n".join(rest)),
    ]
    return "\n\n".join(parts) + "\n"


def with_classes(text: str, package: str, names: tuple[str, ...]) -> str:
    """Return the text of a page with the table of its classes between the markers."""
    before, mark, rest = text.partition(BEGIN)
    if not mark or END not in rest:
        raise ValueError(f"the page of {package} must have the lines {BEGIN} and {END}")
    lines = [BEGIN, class_table(package, names), class_tree(package, names), END]
    return before + "\n\n".join(lines) + rest.partition(END)[2]


def class_table(package: str, names: Any) -> str:
    """Return a table of classes: name, and the first sentence of the docstring."""
    module = importlib.import_module(package)
    folder = package.removeprefix("keyhole.")
    rows = [
        f"| [`{name}`]({folder}/{name}.md) | {first_sentence(getattr(module, name))} |"
        for name in names
    ]
    return "\n".join(["| class | |", "|---|---|", *rows])


def class_tree(package: str, names: Any) -> str:
    """Return the table of contents that lists the pages of classes in the sidebar."""
    folder = package.removeprefix("keyhole.")
    lines = [f"{name} <{folder}/{name}>" for name in names]
    return "\n".join(["```{toctree}", ":hidden:", "", *lines, "```"])


def first_sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring, in one line of Markdown."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text).replace("``", "`")
    return text.replace("|", r"\|")


def directive(package: str, cls: type, hidden: Any = ()) -> str:
    """Return the directive that documents a class, without the members that are `hidden`."""
    lines = [f".. autoclass:: {package}.{cls.__name__}", "   :members:"]
    if package == "keyhole.study":  # base classes without a page define members of `Study`
        lines.append("   :inherited-members:")
    if hidden:
        lines.append(f"   :exclude-members: {', '.join(sorted(hidden))}")
    return fenced("\n".join(lines)) + "\n"


def fenced(text: str) -> str:
    """Return directives of reStructuredText as a block of Markdown."""
    return f"```{{eval-rst}}\n{text}\n```"


def policy_page(setting: Any, cls: Any) -> str:
    """Return the page of a policy: where it belongs, its docstring, and its measurements."""
    name = cls.__name__
    rows = measured(setting.name).get(name, [])
    results = "[the benchmark](../../benchmark.md)"
    parts = [
        f"# {name} ({setting.name})",
        f"A policy for {guide_link(setting, '../..')}. "
        + ("" if rows else f"It is not in {results}."),
        directive(setting.module.__name__, cls, hidden_members(cls)),
    ]
    if rows:
        head = importlib.import_module("keyhole.benchmark.summary").HEAD
        parts += [
            "## Measured",
            f"On the problems for judging of {results}, where the columns are explained:",
            measured_table(head, rows, name),
        ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def part_page(setting: Any, cls: type) -> str:
    """Return the page of a class of a setting that is no policy that can be run."""
    where = f"Used with {guide_link(setting, '../..')}."
    body = directive(setting.module.__name__, cls, hidden_members(cls))
    return f"# {cls.__name__} ({setting.name})\n\n{where}\n\n{body}"


def hidden_members(cls: type) -> set[str]:
    """Return the members that are for the compiler: kernels, and the state they work on."""
    functions = inspect.getmembers(cls, inspect.isfunction)
    kernels = {name for name, function in functions if is_kernel(function)}
    return (kernels | {"State"}) & set(dir(cls))


def is_kernel(function: Any) -> bool:
    """Return whether a method is a kernel, whose first argument is `p`."""
    return next(iter(inspect.signature(function).parameters), "") == "p"


@cache
def measured(setting: str) -> dict[str, list[list[str]]]:
    """Return the rows of the benchmark on the problems for judging, by the class of a policy."""
    results = importlib.import_module("tools.write_which_policy").pooled_results()
    summarize = importlib.import_module("keyhole.benchmark.summary").summarize
    situation_table = importlib.import_module("keyhole.benchmark.summary").situation_table
    found = defaultdict(list)
    for summary in summarize(results):
        if (summary.setting, summary.part) == (setting, "judging"):
            for row in situation_table(summary).rows:
                found[re.match(r"\w+", row[0])[0]].append([summary.title, *row])  # type: ignore[index]
    return dict(found)


def measured_table(head: Any, rows: list[list[str]], name: str) -> str:
    """Return rows of the benchmark as a table, without the policy where it is always the same."""
    cells = [[situation, code(policy), *numbers] for situation, policy, *numbers in rows]
    columns = ["situation", *head]
    if all(policy == name for _, policy, *_ in rows):
        columns.remove(head[0])
        cells = [[situation, *numbers] for situation, _, *numbers in cells]
    lines = [f"| {' | '.join(row)} |" for row in (columns, *cells)]
    return "\n".join([lines[0], "|---" * len(columns) + "|", *lines[1:]])


def code(policy: str) -> str:
    """Return the label of a policy as code, with any note on it."""
    label, space, note = policy.partition(" ")
    return f"`{label}`{space}{note}"


def guide_link(setting: Any, up: str) -> str:
    """Return a link to the guide's page of a setting, in the words of its title."""
    title = (DOCS / f"{setting.name}.md").read_text().partition("\n")[0].removeprefix("# ")
    return f"[{title[0].lower()}{title[1:]}]({up}/{setting.name}.md)"


def main() -> None:
    """Write the pages that change, remove those of classes that are no more, and print names."""
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    current = pages()
    for path in REFERENCE.glob("*/*.md"):
        if path not in current:
            path.unlink()
            sys.stdout.write(f"removed {path.relative_to(ROOT)}\n")
    for path, text in current.items():
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
