"""`bench`: simulate every policy of some settings on every problem of the benchmark."""

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
from keyhole.benchmark.rules import LINEAR_SHARE, SCALES, SEED, SITUATIONS, Scale
from keyhole.contract.state_arrays import FloatArray
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.files import folder_lock, has_content, write_atomically
from keyhole.play.policy_trial import try_policies
from keyhole.play.progress import print_step_name, track_total
from keyhole.play.thread_executor import measure_seconds_per_round
from keyhole.provenance import describe_software
from keyhole.results.estimate import compare, mean_estimate
from keyhole.validate import Range, check_choice, check_integer

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
) -> results_file.BenchmarkFile:
    """Simulate policies on the benchmark's problems; write ``benchmark.json`` into a folder.

    Beside it, ``values.parquet`` has the regret of every replication. A second call resumes an
    interrupted one; simulations are kept in the folder, so that a call which adds policies or
    problems simulates only these.

    Parameters
    ----------
    settings : str or iterable of str, optional
        By default all of Keyhole's own.
    scale : {"quick", "paper"}, default "quick"
        20 replications of a tenth of the rounds, or 200 replications of all rounds.
    out : str or Path
        The folder; created if needed.
    problems : sequence of str, optional
        Patterns of names, such as ``told-*``, or a part, "tuning" or "judging"; by default all.
    policies : sequence of str, optional
        Names, or your own as ``file.py:Class``; by default all of the settings.
    seed : int, default 29
        Of all random numbers: another one shows what a result owes to chance.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error.

    Raises
    ------
    ValueError
        If a name is unknown, the folder holds something else, or a policy of yours fails in the
        first rounds, which are played in Python, where indices and recommendations are checked.
    """
    # Everything given is checked first: simulations may take hours.
    # SITUATIONS has an entry for each setting.
    names = [settings] if isinstance(settings, str) else settings or SITUATIONS
    setting_names = dict.fromkeys(check_choice("setting", name, SITUATIONS) for name in names)
    check_choice("scale", scale, SCALES)
    selected_problems = select_problems(setting_names, problems)
    folder = Path(out)
    # The folder of simulations is made before any result, so a benchmark has it from the start.
    if has_content(folder) and not (folder / _CACHE_FOLDER).is_dir():
        raise ValueError(f"{folder} holds something other than a benchmark")
    contests = make_contests(
        selected_problems, policies, SCALES[scale], check_integer("seed", seed, Range(ge=0))
    )
    try_policies(
        (f"on the problem {contest.problem.name!r}", contest.spec.plan) for contest in contests
    )
    (folder / _CACHE_FOLDER).mkdir(parents=True, exist_ok=True)
    # A second process would simulate the same blocks, and overwrite the times measured here.
    with folder_lock(folder):
        specs = {contest.spec.name: contest.spec for contest in contests}
        cache = ResultCache(folder / _CACHE_FOLDER, specs.values())
        _simulate(specs, cache, threads, progress)
        times = _RoundTimes(folder / _TIMES_FILE, SCALES[scale])
        if progress:
            print_step_name("measuring the time of a round")
        content = results_file.BenchmarkFile(
            format=results_file.FORMAT,
            version=results_file.VERSION,
            keyhole=version("keyhole"),
            scale=scale,
            date=datetime.now(UTC).date().isoformat(),
            command=_command(setting_names, scale, problems, policies, seed),
            software=results_file.SoftwareRecord(**describe_software()),
            problems=[_problem_record(contest, cache, times) for contest in contests],
        )
        times.write()
        _write_values(folder / VALUES_FILE, contests, cache)
        results_file.write_results(folder / RESULTS_FILE, content)
    return content


def _command(
    settings: Iterable[str],
    scale: str,
    problems: Sequence[str],
    policies: Sequence[str],
    seed: int,
) -> str:
    """Return the commands that give the same results, without the folders of this machine."""
    arguments = ["--scale", scale]
    for pattern in problems:
        arguments += ["--problems", pattern]
    for policy in policies:
        arguments += ["--policies", Path(policy).name]
    if seed != SEED:
        arguments += ["--seed", str(seed)]
    names = [""] if list(settings) == list(SITUATIONS) else settings
    return " && ".join(
        shlex.join(["keyhole", "bench", *filter(None, [name]), *arguments, "--out", "folder"])
        for name in names
    )


def _write_values(path: Path, contests: Iterable[Contest], cache: ResultCache) -> None:
    """Write the regret of every replication at the horizon."""
    rows = [
        (contest.problem.setting, contest.problem.name, label, replication, float(regret))
        for contest in contests
        for label, values in cache.values(contest.spec).items()
        for replication, regret in enumerate(values[-1, 0])
    ]
    names = ["setting", "problem", "policy", "replication", "regret"]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], names=names)
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer)
    write_atomically(path, buffer.getvalue().to_pybytes())


def _simulate(
    specs: Mapping[str, Spec], cache: ResultCache, threads: int | None, progress: bool
) -> None:
    """Simulate what the cache lacks, and show the time left, also that of compilation."""
    work = list_work(specs, cache, threads) if progress else []
    # One by one, although the cache could fill all at once: the time left differs by policy, and
    # most of it may be compilation.
    with track_total(progress, work) as total:
        for name, spec in specs.items():
            cache.fill([spec], None, threads, total.tracker(name))
            total.mark_as_done(name)


class _RoundTimes:
    """The nanoseconds that a round of a policy takes, which are kept in a file."""

    def __init__(self, path: Path, scale: Scale) -> None:
        self._path = path
        self._scale = scale
        try:
            # A damaged file is no error, since times can be measured again.
            self._known: dict[str, float] = json.loads(path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def nanoseconds(self, contest: Contest, label: str) -> float:
        """Return the processor time of a round on one thread, with that of the environment."""
        # A problem or a parameter that has changed has another key, and is timed anew.
        key = f"{contest.problem.digest} {json.dumps(contest.entry(label), sort_keys=True)}"
        if key not in self._known:
            # Processor time: wall time would include what other programs of the machine take.
            seconds = measure_seconds_per_round(
                contest.spec.plan,
                label,
                self._scale.timed_seconds,
                replications=self._scale.replications,
                clock=process_time,
            )
            self._known[key] = round(seconds * 1e9, 1)
        return self._known[key]

    def write(self) -> None:
        """Write the file."""
        write_atomically(self._path, json.dumps(self._known, indent=1).encode())


def _problem_record(
    contest: Contest, cache: ResultCache, times: _RoundTimes
) -> results_file.ProblemRecord:
    # The first metric of every setting is its regret; the last row is the horizon.
    regrets = {label: values[-1, 0] for label, values in cache.values(contest.spec).items()}
    described = ("setting", "name", "part", "situation", "title", "drawn", "digest")
    played = ("horizon", "replications", "seed")
    return results_file.ProblemRecord(
        **{field: getattr(contest.problem, field) for field in described},
        **{field: getattr(contest.spec, field) for field in played},
        wrong_choice=_round_digits(contest.wrong_choice_loss),
        results=[
            _result_record(contest, entrant, regrets, times.nanoseconds(contest, entrant.label))
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
    entry = contest.entry(entrant.label)
    return results_file.ResultRecord(
        policy=entrant.label,
        entry={name: value for name, value in entry.items() if name != "label"},
        yardstick=entrant.is_yardstick,
        mean=_round_digits(mean.value),
        std_error=_round_digits(mean.error),
        # "higher" returns the regret of a run; the default would interpolate between two.
        quantile_90=_round_digits(float(np.quantile(values, _QUANTILE, method="higher"))),
        worst=_round_digits(float(values.max())),
        # The number of replications with nearly linear regret.
        linear=int((values > LINEAR_SHARE * contest.wrong_choice_loss).sum()),
        nanoseconds=nanoseconds,
        # The rivals with a lower regret than this policy. All policies had the same random numbers,
        # so `compare` takes differences run by run.
        better=[label for label in rival_labels if compare(values, regrets[label]).low > 0.0],
    )


def _round_digits(value: float) -> float:
    """Return a number rounded to as many digits as the results file has."""
    return float(f"{value:.{_DIGITS}g}")
