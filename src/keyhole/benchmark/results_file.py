"""The results file of the benchmark: every policy on every problem, for other programs."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from keyhole.benchmark.problem import Part
from keyhole.files import read_file, write_atomically
from keyhole.spec_values import error_message

FORMAT: Final = "keyhole-benchmark"
VERSION: Final = 1

# Written out, since the schema that Pydantic makes of a single value depends on its version.
_Format = Annotated[
    Literal["keyhole-benchmark"], WithJsonSchema({"const": FORMAT, "type": "string"})
]
_Version = Annotated[Literal[1], WithJsonSchema({"const": VERSION, "type": "integer"})]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ResultRecord(_Record):
    """A policy on a problem."""

    policy: str = Field(description="its label, unique in the problem")
    entry: dict[str, Any] = Field(description="its entry in a spec, with what it was told")
    yardstick: bool = Field(description="whether it knows what is unknown in practice")
    mean: _Finite = Field(description="of the regret, in thresholding of the wrong labels")
    std_error: _Finite = Field(ge=0, description="of the mean")
    quantile_90: _Finite = Field(description="exceeded by a tenth of the runs")
    worst: _Finite = Field(description="the run with the largest regret")
    linear: int = Field(ge=0, description="runs that lose half of a wrong choice in every round")
    nanoseconds: _Finite = Field(ge=0, description="a round, with the simulation of the problem")
    better: list[str] = Field(
        description="the policies, without yardsticks, whose regret is lower by a paired 95 % "
        "interval; of a policy that none beats the list is empty"
    )


class ProblemRecord(_Record):
    """A problem, with the results of all policies that played it."""

    setting: str
    name: str
    part: Part = Field(description="whether policies may be tuned on it")
    situation: str = Field(description="of the guide")
    title: str
    drawn: bool = Field(default=False, description="whether it was drawn by a rule, not chosen")
    digest: str = Field(description="of all that decides what a simulation gives")
    horizon: int = Field(ge=1)
    replications: int = Field(ge=2)
    seed: int = Field(ge=0)
    wrong_choice: _Finite = Field(
        gt=0, description="what a wrong choice loses in all rounds: the unit of linear runs"
    )
    results: list[ResultRecord]

    @property
    def rivals(self) -> list[ResultRecord]:
        """The results of policies that are no yardsticks; of all where there are none."""
        return [result for result in self.results if not result.yardstick] or self.results


class SoftwareRecord(_Record):
    """The software that simulated: see `keyhole.provenance.describe_software`."""

    versions: dict[str, str] = Field(description="by package")
    python: str
    system: str
    commit: str | None = Field(description="of Keyhole; -dirty if changed since; null without Git")
    sources: str = Field(description="digest of Keyhole's sources")


class BenchmarkFile(_Record):
    """The results of the benchmark at one scale."""

    format: _Format
    version: _Version
    keyhole: str = Field(description="the version that simulated them")
    scale: str
    date: str | None = Field(default=None, description="when it was written, as YYYY-MM-DD (UTC)")
    command: str | None = Field(default=None, description="that gives these results again")
    software: SoftwareRecord | None = Field(default=None, description="null in files of 0.2.0")
    problems: list[ProblemRecord]

    def of_setting(self, setting: str) -> list[ProblemRecord]:
        """Return the problems of a setting."""
        return [problem for problem in self.problems if problem.setting == setting]

    @property
    def settings(self) -> list[str]:
        """The settings of the problems, each once."""
        return list(dict.fromkeys(problem.setting for problem in self.problems))


def write_results(path: Path, content: BenchmarkFile) -> None:
    """Write a results file."""
    # One result a line: such files are compared and merged line by line.
    table = content.model_dump(mode="json")
    text = json.dumps(table | {"problems": []}, indent=1).removesuffix("[]\n}")
    blocks = []
    for problem in table["problems"]:
        results = ",\n".join(f"   {json.dumps(result)}" for result in problem.pop("results"))
        head = json.dumps(problem).removesuffix("}")
        blocks.append(f'  {head}, "results": [\n{results}\n  ]}}')
    listed = ",\n".join(blocks)
    write_atomically(path, f"{text}[\n{listed}\n ]\n}}\n".encode())


def read_results(path: str | Path) -> BenchmarkFile:
    """Read a results file; errors name the file and the field."""
    path = Path(path)
    data = read_file(path, "a results file of the benchmark")
    try:
        table = json.loads(data)
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            raise ValueError("it is no results file of the benchmark")
        if isinstance(table.get("version"), int) and table["version"] > VERSION:
            raise ValueError("a newer version of Keyhole wrote it")
        return BenchmarkFile.model_validate(table)
    except ValidationError as error:
        raise ValueError(f"{path}: {error_message(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def add_results(content: BenchmarkFile, others: Iterable[BenchmarkFile]) -> BenchmarkFile:
    """Return a file with the results of others beside its own, on the problems that it has.

    A policy that the file has itself is kept as it is. Results of different files share no random
    numbers, or are not known to: their intervals are compared unpaired.
    """
    for other_file in others:
        if other_file.scale != content.scale:
            raise ValueError(
                f"results must be of one scale, {content.scale!r}, got {other_file.scale!r}"
            )
        beside = {(p.setting, p.name): p for p in other_file.problems}
        merged = []
        for problem in content.problems:
            record = beside.get((problem.setting, problem.name))
            if record is not None and record.digest != problem.digest:
                raise ValueError(f"{problem.setting}/{problem.name} is another problem there")
            merged.append(problem if record is None else _merge_results(problem, record.results))
        content = content.model_copy(update={"problems": merged})
    return content


def pool_seeds(first: BenchmarkFile, second: BenchmarkFile) -> BenchmarkFile:
    """Return the results of two seeds as one file: of each policy on each problem, all its runs.

    A policy is better than another if it is with both seeds.
    """
    identities, others = (
        [(p.setting, p.name, p.digest, [result.policy for result in p.results]) for p in f.problems]
        for f in (first, second)
    )
    if first.scale != second.scale or identities != others:
        raise ValueError("results of two seeds must be of the same scale, problems and policies")
    pairs = zip(first.problems, second.problems, strict=True)
    return first.model_copy(update={"problems": [_pool_problem(*pair) for pair in pairs]})


def _pool_problem(first: ProblemRecord, second: ProblemRecord) -> ProblemRecord:
    weight = first.replications / (first.replications + second.replications)
    pairs = zip(first.results, second.results, strict=True)
    return first.model_copy(
        update={
            "replications": first.replications + second.replications,
            "results": [_pool_result(*pair, weight) for pair in pairs],
        }
    )


def _pool_result(first: ResultRecord, second: ResultRecord, weight: float) -> ResultRecord:
    """Return the result of all runs, of which the first has a share of `weight`."""
    averages = {
        field: weight * getattr(first, field) + (1 - weight) * getattr(second, field)
        for field in ("mean", "quantile_90", "nanoseconds")
    }
    return first.model_copy(
        update=averages
        | {
            "std_error": math.hypot(weight * first.std_error, (1 - weight) * second.std_error),
            "worst": max(first.worst, second.worst),
            "linear": first.linear + second.linear,
            "better": [policy for policy in first.better if policy in second.better],
        }
    )


def _merge_results(problem: ProblemRecord, added_results: Sequence[ResultRecord]) -> ProblemRecord:
    """Return a problem with further results; what is better than what is decided unpaired."""
    known_policies = {result.policy for result in problem.results}
    new_results = [result for result in added_results if result.policy not in known_policies]
    merged_results = [
        result.model_copy(update={"better": [*result.better, *_clearly_below(result, rivals)]})
        for group, rivals in ((problem.results, new_results), (new_results, problem.results))
        for result in group
    ]
    return problem.model_copy(update={"results": merged_results})


def _clearly_below(result: ResultRecord, rivals: Iterable[ResultRecord]) -> list[str]:
    """Return the policies whose mean is below by an unpaired 95 % interval."""
    return [
        rival.policy
        for rival in rivals
        if not rival.yardstick
        and rival.policy not in result.better
        and result.mean - rival.mean > 1.96 * (result.std_error**2 + rival.std_error**2) ** 0.5
    ]


def schema() -> str:
    """Return the JSON Schema of the file, which is kept in ``docs/``."""
    table = BenchmarkFile.model_json_schema()
    table["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(table, indent=2) + "\n"
