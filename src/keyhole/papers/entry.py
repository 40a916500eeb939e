"""An entry: what to run, at which scale, and what is claimed of it. A file of data."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from keyhole.core.validate import choice
from keyhole.experiment import Spec
from keyhole.papers.claims import AnyClaim

FILES: Final = {
    "tao2019-setup1": "tao2019/setup1.toml",
    "tao2019-setup2": "tao2019/setup2.toml",
    "tao2019-setup3": "tao2019/setup3.toml",
    "tao2019-simple-regret": "tao2019/simple_regret.toml",
    "tao2019-paired-tests": "tao2019/paired_tests.toml",
    "tao2019-alpha": "tao2019/alpha.toml",
    "tao2019-more-setups": "tao2019/more_setups.toml",
    "crowd-labels": "crowd_labels.toml",
}
"""Every entry and its file, in the order in which they are listed."""

SCALES: Final = ("quick", "paper")


class Instance(BaseModel):
    """One problem of an entry.

    Attributes
    ----------
    title : str
        Its name in figures and reports.
    note : str
        A sentence on what it is.
    horizon : int
        Rounds.
    checkpoints : list of int, optional
        By default as many as the scale says, evenly spread.
    problem : dict
        As in a spec's table ``[problem]``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    note: str = ""
    horizon: int
    checkpoints: list[int] | None = None
    problem: dict[str, Any]


class Scale(BaseModel):
    """How much is run.

    Attributes
    ----------
    replications : int
        Of every policy on every problem.
    checkpoints : int
        How many, for problems that do not list their own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    replications: int
    checkpoints: int = 1


class Entry(BaseModel):
    """A reproduction: problems, policies, and claims about them.

    Its file may `include` others of the same folder, for problems and policies that entries
    share; `use` then picks problems and policies from all of them.

    Attributes
    ----------
    name, title, source, about : str
        What it is called, what it shows, where that was published, and what to know of it.
    seed : int
        Of all its runs.
    metrics : list of str
        Those shown in figures and tables, the most important first.
    tests : bool
        Whether the report lists paired tests at every checkpoint.
    scales : dict of str to Scale
        "quick" and "paper".
    problems : dict of str to Instance
        By key.
    policies : list of dict
        As in a spec's tables ``[[policy]]``, with labels.
    claims : list of Claim
        What is claimed.

    Examples
    --------
    >>> entry = Entry.load("tao2019-setup1")
    >>> list(entry.problems), entry.scales["paper"].replications
    (['setup1'], 5000)
    >>> entry.spec("setup1", "quick").plan.checkpoints[-1]
    1000
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    title: str
    source: str
    about: str = ""
    seed: int = 1
    metrics: list[str]
    tests: bool = False
    scales: dict[str, Scale]
    problems: dict[str, Instance]
    policies: list[dict[str, Any]]
    claims: Annotated[list[AnyClaim], Field(default_factory=list)]

    @classmethod
    def load(cls, name: str) -> Self:
        """Read an entry by name.

        Raises
        ------
        ValueError
            If there is none of this name (the nearest is suggested).
        """
        *folders, file = FILES[choice("entry", name, FILES)].split("/")
        return cls.from_file(resources.files("keyhole.papers").joinpath(*folders), file, name)

    @classmethod
    def from_file(cls, folder: Traversable, file: str, name: str) -> Self:
        """Read an entry from a file; others that it includes lie in the same folder.

        Raises
        ------
        ValueError
            If the file is not a valid entry.
        """
        table = tomllib.loads((folder / file).read_text(encoding="utf-8"))
        problems, policies = dict[str, Any](), list[dict[str, Any]]()
        for include in table.pop("include", []):
            shared = tomllib.loads((folder / include).read_text(encoding="utf-8"))
            problems |= shared.get("problems", {})
            policies += shared.get("policies", [])
        problems |= table.pop("problems", {})
        policies += table.pop("policies", [])
        use = table.pop("use", {})
        table["claims"] = [one for claim in table.get("claims", []) for one in _each(claim)]
        try:
            return cls(
                name=name,
                problems=_picked(problems, use.get("problems")),
                policies=list(_picked(_by_label(policies), use.get("policies")).values()),
                **table,
            )
        except (KeyError, ValidationError) as error:
            raise ValueError(f"{file}: {error}") from error

    def only(self, *problems: str) -> "Entry":
        """Return the entry with some of its problems, and the claims about them."""
        picked = {key: self.problems[key] for key in problems}
        claims = [claim for claim in self.claims if claim.problem in picked]
        return self.model_copy(update={"problems": picked, "claims": claims})

    def spec(self, problem: str, scale: str) -> Spec:
        """Return the experiment on one problem.

        Parameters
        ----------
        problem : str
            Its key.
        scale : str
            "quick" or "paper".

        Returns
        -------
        Spec
            The experiment.
        """
        choice("scale", scale, self.scales)
        size, instance = self.scales[scale], self.problems[problem]
        return Spec.from_table(
            {
                "name": f"{self.name}/{problem}",
                "title": instance.title,
                "seed": self.seed,
                "replications": size.replications,
                "horizon": instance.horizon,
                "checkpoints": instance.checkpoints or {"count": size.checkpoints},
                "problem": instance.problem,
                "policy": self.policies,
            }
        )


def _picked(table: Mapping[str, Any], keys: list[str] | None) -> dict[str, Any]:
    return dict(table) if keys is None else {key: table[key] for key in keys}


def _by_label(policies: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {policy["label"]: policy for policy in policies}


def _each(claim: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a claim about several problems as one for each."""
    common = {name: value for name, value in claim.items() if name != "problems"}
    if "problems" not in claim:
        return [common]
    return [common | {"problem": problem} for problem in claim["problems"]]
