"""How the documentation is built."""

import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version as installed_version
from operator import attrgetter
from pathlib import Path
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

from keyhole.contract.policy import Policy
from keyhole.kernels.compile_cache import quiet_compilation

sys.path.insert(0, str(Path(__file__).with_name("_extensions")))

project = "Keyhole"
author = "The Keyhole developers"
copyright = "2026, The Keyhole developers"
version = release = installed_version("keyhole")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "code_blocks",
    "folded_sections",
    "index_anchors",
    "long_columns",
    "math_font",
    "name_breaks",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
bibtex_bibfiles = ["../src/keyhole/references.bib"]
bibtex_default_style = "named"
bibtex_reference_style = "author_year"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "py:obj"  # names in docstrings, in single backquotes, become links
exclude_patterns = ["_build", "exercises", "gallery", "tutorials"]
_GALLERY_PARTS = [
    "stochastic", "threshold", "thresholding", "delayed", "semibandit", "resource", "production",
]  # fmt: skip
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials", "exercises", "gallery"],
    "gallery_dirs": ["_tutorials", "_exercises", "_gallery"],  # written by each build
    "filename_pattern": ".*",  # run all of them, whatever their names are
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": ["tutorials/tasks", *(f"gallery/{folder}" for folder in _GALLERY_PARTS)],
    "image_scrapers": ("gallery_figures.scrape_figures", "page_claims.check_claims"),
    "image_srcset": ["2x"],  # sharp on screens with small pixels
    "reset_modules": ("matplotlib", "gallery_figures.set_figure_style"),
    "capture_repr": (),  # the last line returns axes, whose text says nothing
    "min_reported_time": 3600,  # times differ from build to build
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
}
html_theme = "furo"
html_title = "Keyhole"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = [
    "cards.css",
    "code.css",
    "figures.css",
    "formulas.css",
    "folded.css",
    "names.css",
    "search.css",
    "tables.css",
    "titles.css",
]
html_js_files = [(name, {"defer": "defer"}) for name in ("scrollable.js", "search_target.js")]
_PAGE_SCRIPTS = {"papers": "claims.js", "search": "search_page.js"}
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
html_math_renderer = "mathml"

_MATHML = LatexToMathML()


def _formula(translator: Any, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers show without a script or a network."""
    shown = isinstance(node, nodes.math_block)
    try:
        mathml = _MATHML.convert_with_local_state(node.astext(), displaystyle=shown)
    except LatexError as error:
        getLogger(__name__).warning("a formula is not TeX: %s", error, location=node)
        mathml = f"<code>{translator.encode(node.astext())}</code>"
    translator.body.append(f'<div class="math">{mathml}</div>' if shown else mathml)
    raise nodes.SkipNode


def _add_traits(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: Any) -> None:
    """Put what a policy's class says of itself ahead of the notes in its docstring, as a table."""
    if isinstance(thing, type) and issubclass(thing, Policy) and not thing.abstract:
        table = [".. list-table::", "   :widths: 25 75", ""]
        for heading, words in _traits(thing).items():
            table += [f"   * - {heading.capitalize()}", f"     - {words}"]
        if "Notes" not in lines:
            place = lines.index("References")
            lines[place:place] = ["Notes", "-----", ""]
        place = lines.index("Notes") + 2
        lines[place:place] = [*table, ""]


def _traits(policy: type[Policy]) -> dict[str, str]:
    """Return the properties of a policy by heading, also those that are only yes or no."""
    found = policy.traits()
    verdicts = found.pop("verdicts", "")
    return found | {
        "stops by itself": f"when each arm is settled as one of: {verdicts}" if verdicts else "no",
        "arms may be added": "yes" if policy.arms_change else "no",
        "learns from a log": "yes" if policy.off_policy else "no",
    }


def _sign(app: Sphinx, what: str, name: str, thing: Any, *_: Any) -> tuple[str, str] | None:
    """Return the parameters of a policy, whose constructor takes any and checks them itself."""
    if what != "class" or not issubclass(thing, Policy) or thing.abstract:
        return None
    parameters = inspect.signature(thing).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare)), ""


def _add_heading_levels(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Give the captions of the navigation a level, which headings must have."""
    navigation = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = navigation.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def _add_page_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Load the script of a page, on that page alone."""
    if page in _PAGE_SCRIPTS:
        app.add_js_file(_PAGE_SCRIPTS[page], loading_method="defer")


def _module_of_class(app: Sphinx, module: str, name: str) -> str | None:
    """Link an attribute to the source of its class, not of what the attribute refers to."""
    owner = name.rpartition(".")[0]
    return attrgetter(owner)(import_module(module)).__module__ if owner else None


class AuthorYear(BaseLabelStyle):
    """Labels such as "Tao et al. 2019", accents and all."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        for entry in sorted_entries:
            names = [
                "".join(str(part) for part in person.rich_last_names)
                for person in entry.persons["author"]
            ]
            named = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
            yield f"{named} {entry.fields['year']}"


class Named(Style):
    """The plain style, with those labels."""

    default_label_style = AuthorYear


register_plugin("pybtex.style.formatting", "named", Named)


def _announce_no_compilation(app: Sphinx) -> None:
    """Keep messages on compilation, which only a cold cache has, out of outputs of examples."""
    build = ExitStack()
    build.enter_context(quiet_compilation())
    app.connect("build-finished", lambda *_: build.close())


def setup(app: Sphinx) -> None:
    """Register how formulas are written, what policies say, and what the pages lack."""
    _announce_no_compilation(app)
    app.connect("autodoc-process-docstring", _add_traits, priority=400)  # ahead of numpydoc
    app.connect("autodoc-process-signature", _sign)
    app.connect("html-page-context", _add_heading_levels, priority=900)  # after the theme
    app.connect("html-page-context", _add_page_script)
    app.connect("viewcode-follow-imported", _module_of_class)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
