"""Command `cite`: print BibTeX of Keyhole, or of the works that a policy or entry names."""

import inspect
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

from typer import Argument

from keyhole.cli.new import fill_template
from keyhole.cli.options import AsJson, examples_epilog
from keyhole.cli.output import print_result
from keyhole.former_names import find_new_policy
from keyhole.validation import check_choice

EXAMPLES: Final = examples_epilog("keyhole cite", "keyhole cite LSA", "keyhole cite tao2019-setup1")
RELEASED: Final = "2026-11-27"
"""The day of this version, as in CITATION.cff."""

_BIBTEX_ENTRY: Final = re.compile(r"^@\w+{(\w+),\n.*?^}$", re.MULTILINE | re.DOTALL)
_KEY: Final = re.compile(r"([a-z]+)(\d{4})([a-z]?)")
_LETTERS: Final = str.maketrans({"ö": "oe", "ü": "ue", "ä": "ae", "-": ""})
# Text between the first author and the year: names, "et al.", or a title and a conference.
_AUTHOR_TO_YEAR: Final = r"(?:[^.;\d()]|\b(?:al|[a-z])\.)*"


def cite(
    name: Annotated[str | None, Argument(help="Policy, entry, data set; default Keyhole.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print BibTeX of Keyhole, or of the works behind a name."""
    works = {}
    if name is not None:
        sources = dict(_list_sources())
        name = find_new_policy(name, sources)
        text = sources[check_choice("NAME", name, sources, "keyhole catalog, reproduce --list")]
        works = {key: bibliography()[key] for key in cited_keys(text)}
    works = works or {"keyhole": _make_own_entry()}  # also if the source of the name cites no work
    print_result(works, "\n\n".join(works.values()), as_json=as_json)


@cache
def bibliography() -> dict[str, str]:
    """Return the BibTeX entries of the works that docstrings name, by key."""
    text = resources.files("keyhole").joinpath("references.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in _BIBTEX_ENTRY.finditer(text)}


def cited_keys(text: str) -> list[str]:
    """Return the keys of the works that a text names by their first author and year.

    Examples
    --------
    >>> cited_keys("Tao, Blanco, Peng and Zhou (2019); Hoermann (1993b); Pike-Burke et al. 2018")
    ['tao2019', 'pikeburke2018', 'hoermann1993b']
    """
    plain_text = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    plain_text = " ".join(plain_text.encode("ascii", "ignore").decode().split())
    return [key for key in bibliography() if _is_cited(key, plain_text)]


def _is_cited(key: str, plain_text: str) -> bool:
    author, year, letter = _KEY.fullmatch(key).groups()  # type: ignore[union-attr]
    pattern = rf"\b{author}\b{_AUTHOR_TO_YEAR}[( ]{year}{letter}\b"
    return re.search(pattern, plain_text) is not None


def _list_sources() -> Iterator[tuple[str, str]]:
    """Yield the name of each policy, entry, paper and data set, with a text that cites works."""
    from keyhole.experiment import setting_registry
    from keyhole.papers.entry_files import ENTRY_FILES, PAPERS, entry_path, read_tables

    for setting in setting_registry.all_settings():
        for policy in setting.policies.values():
            yield policy.__name__, inspect.getdoc(policy) or ""
    for name in ENTRY_FILES:
        yield name, read_tables(entry_path(name))["source"]
    for paper in PAPERS:
        yield paper, f"{paper[:-4]} {paper[-4:]}"  # such as "tao 2019" of tao2019
    for folder in resources.files("keyhole.data").iterdir():
        readme_file = folder.joinpath("README.md")
        if readme_file.is_file():
            readme = readme_file.read_text(encoding="utf-8")
            yield folder.name, readme
            for file in folder.iterdir():
                name, _, ending = file.name.rpartition(".")
                if ending == "csv":
                    yield name, _find_source(name, readme)


def _find_source(name: str, readme: str) -> str:
    """Return the item on a data set in its folder's README, or else the whole README."""
    items = re.findall(r"^- \*\*(.*?)\*\*:(.*?)(?=^- |\Z)", readme, re.MULTILINE | re.DOTALL)
    texts = [text for names, text in items if name in names.split(", ")]
    return " ".join(texts) or readme


def _make_own_entry() -> str:
    """Return the BibTeX entry of Keyhole, in a type and with fields that the usual styles print."""
    template = Path(__file__).with_name("keyhole.bib.tmpl")
    return fill_template(template, version=version("keyhole"), year=RELEASED[:4]).rstrip()
