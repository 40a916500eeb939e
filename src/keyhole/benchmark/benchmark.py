"""The function `bench`, which simulates policies of some settings on all benchmark problems."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keyhole.benchmark import results_file
from keyhole.benchmark.problem_list import Contest, Entrant, make_contests, select_problems
from keyhole.benchmark.rules import LINEAR_REGRET_SHARE, SCALES, SEED, SITUATIONS, Scale
from keyhole.contract.state_arrays import FloatArray
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache
from keyhole.files import folder_lock, has_content, open_draft, write_atomically
from keyhole.play.policy_trial import try_policies
from keyhole.play.progress import print_step_name, track_total
from keyhole.play.threaded_simulation import measure_seconds_per_round
from keyhole.provenance import describe_software
from keyhole.results.estimate import mean_estimate, paired_difference
from keyhole.validation import Range, check_choice, check_integer

RESULTS_FILE: Final = "benchmark.json"
VALUES_FILE: Final = "values.parquet"
_CACHE_FOLDER: Final = "simulations"
_TIMES_FILE: Final = "nanoseconds.json"
_QUANTILE: Final = 0.9
_DIGITS: Final = 6  # in the results file


def bench(
    settings: str | Iterable[str] | None = None,
    *,
    scale: str = "quick",
    out: str | Path,
    problems: Sequence[str] = (),
    policies: Sequence[str] = (),
    seed: int = SEED,
    threads: int | None = None,
    progress: bool = False,
) -> results_file.BenchmarkResults:
    """Simulate policies on the benchmark's problems; write ``benchmark.json`` into a folder.

    Beside it, ``values.parquet`` has the regret of every replication. The folder also keeps the
    simulations: another call with it resumes an interrupted call, or simulates only the policies
    and problems that are new.

    Parameters
    ----------
    settings : str or iterable of str, optional
        The names of settings; by default all of Keyhole's own.
    scale : {"quick", "paper"}, default "quick"
        "quick": 20 replications of a tenth of a problem's rounds, or of 1,000 rounds if these are
        more, or of all rounds if it has fewer than 1,000. "paper": 200 replications of all rounds.
    out : str or Path
        The folder; created if needed.
    problems : sequence of str, optional
        Patterns of names, such as ``told-*``, or the names of parts, "tuning" and "judging"; by
        default all.
    policies : sequence of str, optional
        Names, or your own policies as ``file.py:Class``; by default all of the settings, except
        those that the rules of the benchmark leave out.
    seed : int, default 29
        The seed of all random numbers: another seed shows how far a result is due to chance.
    threads : int, optional
        The number of threads, at most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error.

    Raises
    ------
    ValueError
        If a name is unknown, if the folder holds something else, or if a policy fails in its first
        rounds. Policies are first played uncompiled, to check indices and recommendations.
    """
    # All arguments are checked first, since simulations may take hours. The keys of SITUATIONS are
    # all settings.
    names = [settings] if isinstance(settings, str) else settings or SITUATIONS
    setting_names = dict.fromkeys(check_choice("setting", name, SITUATIONS) for name in names)
    check_choice("scale", scale, SCALES)
    selected_problems = select_problems(setting_names, problems)
    folder = Path(out)
    # The folder of simulations is made before any result, so that every benchmark has it.
    if has_content(folder) and not (folder / _CACHE_FOLDER).is_dir():
        raise ValueError(f"{folder} holds something other than a benchmark")
    contests = make_contests(
        selected_problems, policies, SCALES[scale], check_integer("seed", seed, Range(ge=0))
    )
    try_policies(
        (f"on the problem {contest.problem.name!r}", contest.spec.plan) for contest in contests
    )
    (folder / _CACHE_FOLDER).mkdir(parents=True, exist_ok=True)
    # Without the lock a second process could simulate the same blocks and overwrite the times.
    with folder_lock(folder):
        specs = {contest.spec.name: contest.spec for contest in contests}
        cache = ResultCache(folder / _CACHE_FOLDER, specs.values())
        work = list_work(specs, cache, threads) if progress else []
        # The cache is called for one spec at a time, since the time left depends on which are done.
        with track_total(progress, work) as total:
            for name, spec in specs.items():
                cache.simulate_missing_blocks([spec], None, threads, total.tracker(name))
                total.mark_as_done(name)
        times = _RoundTimes(folder / _TIMES_FILE, SCALES[scale])
        if progress:
            print_step_name("measuring the time of a round")
        content = results_file.BenchmarkResults(
            format=results_file.FORMAT,
            version=results_file.VERSION,
            keyhole=version("keyhole"),
            scale=scale,
            date=datetime.now(UTC).date().isoformat(),
            command=_rerun_commands(setting_names, scale, problems, policies, seed),
            software=results_file.SoftwareRecord(**describe_software()),
            problems=[_problem_record(contest, cache, times) for contest in contests],
        )
        times.write()
        _write_values(folder / VALUES_FILE, contests, cache)
        results_file.write_results(folder / RESULTS_FILE, content)
    return content


def _rerun_commands(
    settings: Iterable[str],
    scale: str,
    problems: Sequence[str],
    policies: Sequence[str],
    seed: int,
) -> str:
    """Return the shell commands that give the same results, without folders of this machine."""
    arguments = ["--scale", scale]
    for pattern in problems:
        arguments += ["--problems", pattern]
    for policy in policies:
        arguments += ["--policies", Path(policy).name]
    if seed != SEED:
        arguments += ["--seed", str(seed)]
    # A command without a name runs all settings.
    names = [""] if list(settings) == list(SITUATIONS) else settings
    return " && ".join(
        shlex.join(["keyhole", "bench", *filter(None, [name]), *arguments, "--out", "folder"])
        for name in names
    )


def _write_values(path: Path, contests: Iterable[Contest], cache: ResultCache) -> None:
    """Write the regret of every replication at the horizon to a Parquet file."""
    # The last row of values is the horizon; the first metric of every setting is its regret.
    rows = [
        (contest.problem.setting, contest.problem.name, label, replication, float(regret))
        for contest in contests
        for label, values in cache.values(contest.spec).items()
        for replication, regret in enumerate(values[-1, 0])
    ]
    names = ["setting", "problem", "policy", "replication", "regret"]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], names=names)
    with open_draft(path) as file:
        pq.write_table(table, file)


class _RoundTimes:
    """The nanoseconds that a round of each policy takes in each problem, kept in a file."""

    def __init__(self, path: Path, scale: Scale) -> None:
        self._path = path
        self._scale = scale
        try:
            # A missing or damaged file is no error, since times can be measured again.
            self._times: dict[str, float] = json.loads(path.read_bytes())
        except (OSError, ValueError):
            self._times = {}

    def nanoseconds(self, contest: Contest, entrant: Entrant) -> float:
        """Return the processor time of a round of the policy and the environment on one thread."""
        # If the problem or a parameter of the policy changes, so does the key.
        entry = {"label": entrant.label, **entrant.entry}
        key = f"{contest.problem.digest} {json.dumps(entry, sort_keys=True)}"
        if key not in self._times:
            # Wall time would include the time that other programs on the machine take.
            seconds = measure_seconds_per_round(
                contest.spec.plan,
                entrant.label,
                self._scale.timed_seconds,
                replications=self._scale.replications,
                clock=process_time,
            )
            self._times[key] = round(seconds * 1e9, 1)
        return self._times[key]

    def write(self) -> None:
        """Write the file."""
        write_atomically(self._path, json.dumps(self._times, indent=1).encode())


def _problem_record(
    contest: Contest, cache: ResultCache, times: _RoundTimes
) -> results_file.ProblemRecord:
    # The regret at the horizon, as in `_write_values`.
    regrets = {label: values[-1, 0] for label, values in cache.values(contest.spec).items()}
    problem_fields = ("setting", "name", "part", "situation", "title", "drawn", "digest")
    spec_fields = ("horizon", "replications", "seed")
    return results_file.ProblemRecord(
        **{field: getattr(contest.problem, field) for field in problem_fields},
        **{field: getattr(contest.spec, field) for field in spec_fields},
        wrong_choice=_round_number(contest.wrong_choice_loss),
        results=[
            _result_record(contest, entrant, regrets, times.nanoseconds(contest, entrant))
            for entrant in contest.entrants
        ],
    )


def _result_record(
    contest: Contest, entrant: Entrant, regrets: Mapping[str, FloatArray], nanoseconds: float
) -> results_file.ResultRecord:
    values = regrets[entrant.label]
    mean = mean_estimate(values)
    rival_labels = [
        rival.label for rival in contest.entrants if not (rival is entrant or rival.is_yardstick)
    ]
    return results_file.ResultRecord(
        policy=entrant.label,
        entry=dict(entrant.entry),
        yardstick=entrant.is_yardstick,
        mean=_round_number(mean.value),
        std_error=_round_number(mean.error),
        # "higher" gives the regret of one run; the default would interpolate between two runs.
        quantile_90=_round_number(float(np.quantile(values, _QUANTILE, method="higher"))),
        worst=_round_number(float(values.max())),
        # The number of replications with nearly linear regret.
        linear=int((values > LINEAR_REGRET_SHARE * contest.wrong_choice_loss).sum()),
        nanoseconds=nanoseconds,
        # All policies have common random numbers, so differences are taken run by run.
        better=[n for n in rival_labels if paired_difference(values, regrets[n]).low > 0.0],
    )


def _round_number(value: float) -> float:
    """Return a number rounded to the six digits that the results file has."""
    return float(f"{value:.{_DIGITS}g}")
