"""How the documentation is built."""

from importlib.metadata import version as installed_version

project = "Keyhole"
author = "The Keyhole developers"
copyright = "2026, The Keyhole developers"
version = release = installed_version("keyhole")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinxcontrib.bibtex",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
bibtex_bibfiles = ["references.bib"]
numpydoc_show_class_members = False
numpydoc_validation_checks = set()
autodoc_member_order = "bysource"
autodoc_typehints = "none"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Keyhole"
