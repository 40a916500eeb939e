"""The results of the benchmark as a file for other programs: every policy on every problem."""

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from keyhole.benchmark.problem import Part
from keyhole.files import read_file, write_atomically
from keyhole.spec_values import error_message

FORMAT: Final = "keyhole-benchmark"
VERSION: Final = 1

# The JSON schemas of literals are written out, since Pydantic's differ between its versions.
_Format = Annotated[
    Literal["keyhole-benchmark"], WithJsonSchema({"const": FORMAT, "type": "string"})
]
_Version = Annotated[Literal[1], WithJsonSchema({"const": VERSION, "type": "integer"})]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ResultRecord(_Record):
    """The result of a policy on a problem."""

    policy: str = Field(description="its label, unique in the problem")
    entry: dict[str, Any] = Field(description="its entry in a spec, with what it was told")
    yardstick: bool = Field(description="whether it knows what is unknown in practice")
    mean: _Finite = Field(description="the mean regret; in thresholding, the mean of wrong labels")
    std_error: _Finite = Field(ge=0, description="the standard error of the mean")
    quantile_90: _Finite = Field(description="the 90 % quantile of the regret")
    worst: _Finite = Field(description="the largest regret of a run")
    linear: int = Field(ge=0, description="runs with more than half of the regret `wrong_choice`")
    nanoseconds: _Finite = Field(ge=0, description="of a round, with the simulated problem")
    better: list[str] = Field(
        description="the policies, without yardsticks, whose regret is lower by a paired 95 % "
        "interval; empty if there are none"
    )


class ProblemRecord(_Record):
    """A problem, with the results of all policies that played it."""

    setting: str
    name: str
    part: Part = Field(description="tuning if policies may be tuned on it, judging if not")
    situation: str = Field(description="the situation of the guide that it belongs to")
    title: str
    drawn: bool = Field(default=False, description="whether it was drawn by a rule, not chosen")
    digest: str = Field(description="a digest: problems with equal digests are equal")
    horizon: int = Field(ge=1)
    replications: int = Field(ge=2)
    seed: int = Field(ge=0)
    wrong_choice: _Finite = Field(gt=0, description="the regret of a wrong choice in every round")
    results: list[ResultRecord]

    @property
    def rivals(self) -> list[ResultRecord]:
        """The results of the policies that are no yardsticks; of all policies if all are."""
        return [result for result in self.results if not result.yardstick] or self.results


class SoftwareRecord(_Record):
    """The software that simulated: see `keyhole.provenance.describe_software`."""

    versions: dict[str, str] = Field(description="the versions of packages, by name")
    python: str
    system: str
    commit: str | None = Field(
        description="the commit of Keyhole, with -dirty if files differ from it; null without Git"
    )
    sources: str = Field(description="digest of Keyhole's sources")


class BenchmarkResults(_Record):
    """The results of the benchmark at one scale."""

    format: _Format
    version: _Version
    keyhole: str = Field(description="the version of Keyhole that simulated")
    scale: str
    date: str | None = Field(default=None, description="when it was written, as YYYY-MM-DD (UTC)")
    command: str | None = Field(default=None, description="a command that gives these results")
    software: SoftwareRecord | None = Field(default=None, description="null in files of 0.2.0")
    problems: list[ProblemRecord]

    def of_setting(self, setting: str) -> list[ProblemRecord]:
        """Return the problems of a setting."""
        return [problem for problem in self.problems if problem.setting == setting]

    @property
    def settings(self) -> list[str]:
        """The settings of the problems, each once."""
        return list(dict.fromkeys(problem.setting for problem in self.problems))


def write_results(path: Path, content: BenchmarkResults) -> None:
    """Write a results file."""
    text = json.dumps(content.model_dump(mode="json"))
    # Each problem and each result begins a line, since files are compared and merged by lines.
    for first_field in ("setting", "policy"):
        text = text.replace(f'{{"{first_field}":', f'\n{{"{first_field}":')
    write_atomically(path, f"{text}\n".encode())


def read_results(path: str | Path) -> BenchmarkResults:
    """Read a results file; errors name the file and the field."""
    path = Path(path)
    data = read_file(path, "a results file of the benchmark")
    try:
        table = json.loads(data)
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            raise ValueError("it is no results file of the benchmark")
        if isinstance(table.get("version"), int) and table["version"] > VERSION:
            raise ValueError("a newer version of Keyhole wrote it")
        return BenchmarkResults.model_validate(table)
    except ValidationError as error:
        raise ValueError(f"{path}: {error_message(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def schema() -> str:
    """Return the JSON Schema of results files, of which ``docs/`` has a copy."""
    table = BenchmarkResults.model_json_schema()
    table["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(table, indent=2) + "\n"
