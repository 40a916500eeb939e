"""Tuner: choose a command and a time limit, run it, record its outcome, and learn from that."""

import itertools
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from threading import Event, Lock
from typing import Final, Protocol, cast

from keyhole.clusters.cluster import THREADS, check_cluster_address
from keyhole.files import folder_lock
from keyhole.play.progress import StatusLine
from keyhole.play.thread_pool import DaemonThreadPool
from keyhole.runner import CommandResult
from keyhole.runner.function_process_child import MARK
from keyhole.study import PendingDecisionError
from keyhole.text_formatting import count_text
from keyhole.tune import saved_tune
from keyhole.tune.arms import LOAD_SECONDS, Arm, function_command, is_in_function_process
from keyhole.tune.cluster_executor import cluster_executors, is_local
from keyhole.tune.decision_sources import (
    PlannedTrial,
    SpaceDecisionSource,
    StudyDecisionSource,
    make_decider,
    plan_chosen_run,
)
from keyhole.tune.held_out_validation import VALIDATION_FILE, ValidationPlan, refuse_used_instances
from keyhole.tune.instances import InstanceOrder, command_seed, parse_instances
from keyhole.tune.machine_load import LoadMonitor, assign_cores, available_cores
from keyhole.tune.recommendation import ConfigurationEstimate
from keyhole.tune.saved_tune import SavedSpaceTune, SavedTune, load_tune
from keyhole.tune.space_decider import SpaceExhaustedError
from keyhole.tune.spec import Spec
from keyhole.tune.success_rule import judge_outcome
from keyhole.tune.trial_log import RUNS_FILE, TrialLog, TrialRecord
from keyhole.tune.warm_start import make_warm_start, read_same_start, write_warm_start
from keyhole.tune.warnings import EarlyWarnings, warn_of_unused_instances, workers_warning
from keyhole.validation import Range, check_integer, check_number, short_repr

_MAX_EXPIRED: Final = 5  # expired trials in a row, of one worker
_KEPT_OUTPUT: Final = 500  # recorded characters of the output of a run without success
_POLL_SECONDS: Final = 0.05
_SECONDS_BETWEEN_LINES: Final = 5.0  # the least interval between lines of progress
_SHARE_BETWEEN_LINES: Final = 0.1  # this interval as a share of the time so far
WORKERS: Final = Range(ge=1, le=1024)
_WALL_FACTOR: Final = 10.0  # with clock "cpu": wall limit per second of CPU limit
Progress = Callable[[TrialRecord], None]
"""Called with the record of every run that has ended."""

DecisionSource = StudyDecisionSource | SpaceDecisionSource | ValidationPlan
"""Gives the next run (`ask`), and is told the outcomes (`tell`); several threads call it."""


class CommandExecutor(Protocol):
    """Runs commands for a tuner, one at a time, as `keyhole.runner.CommandRunner` does."""

    def run(
        self,
        command: Sequence[str],
        limit: float,
        *,
        cpu: float | None,
        memory: int | None,
        folder: Path | None,
        environment: Mapping[str, str] | None,
        cores: Sequence[int] | None,
        grace: float = 0.0,
    ) -> CommandResult:
        """Run a command; return when none of its processes is left.

        `limit` is in seconds of wall time, `cpu` in seconds of CPU time. `grace`, the seconds from
        SIGTERM at the limit to SIGKILL, is passed only for a spec that has it.
        """

    def close(self) -> None:
        """Kill the current run, and release resources; another thread may call this."""


ExecutorFactory = Callable[[], CommandExecutor]
"""A function that makes an executor, called once per worker."""


@dataclass
class TuningLoop:
    """Loop that runs the trials of a call of `Tuner.run` or `validate`, with a thread per worker.

    Parameters
    ----------
    progress : bool or callable, optional
        As for `Tuner.run`.
    max_runs, budget : float
        The largest number of runs, and the seconds in which runs may begin; earlier calls count.
    """

    spec: Spec
    decisions: DecisionSource
    progress: bool | Progress | None
    max_runs: float = inf
    budget: float = inf

    def __post_init__(self) -> None:
        """Count the runs and seconds of earlier calls."""
        self._lock = Lock()
        self._stop = Event()
        self._executors: list[CommandExecutor] = []
        log = self.decisions.log
        self._warnings = EarlyWarnings(self.spec, log.by_id.values())
        # The time of an earlier call after its last record is not counted.
        self._earlier_seconds = max((record.elapsed for record in log.all), default=0.0)
        self._runs_left = self.max_runs - len(log.by_id)
        if not callable(self.progress):
            self.progress = _make_progress_printer(self.max_runs) if self.progress else None

    @property
    def elapsed(self) -> float:
        """Seconds of work, those of earlier calls included."""
        return self._earlier_seconds + time.monotonic() - self._start

    def run(self, workers: int, on: str | futures.Executor, local_factory: ExecutorFactory) -> None:
        """Run trials, here or on a cluster, until the runs or the budget are spent."""
        with cluster_executors(on, workers, self.spec) as cluster_factory:
            self._start = time.monotonic()
            if self._is_finished():
                return
            make_executor = cluster_factory or local_factory
            groups = [None] * workers if cluster_factory else assign_cores(workers, self.spec.cores)
            tasks = [partial(self._run_trials, make_executor, cores) for cores in groups]
            pool = DaemonThreadPool(tasks, workers)
            try:
                while not pool.wait_for_next(_POLL_SECONDS):
                    pass
            except BaseException:
                # After an error of a thread or Ctrl-C, commands are killed. Their decisions stay
                # pending until the next call expires them (`resume_study`), so that the policy
                # never learns from an interrupted run.
                self._stop_executors()
                pool.shut_down(inf)
                raise

    def _stop_executors(self) -> None:
        # The flag comes first: a thread that is about to start a trial sees it in `_reserve_trial`,
        # and the outcome of a run that is killed here is not recorded (`_run_until_one_counts`).
        self._stop.set()
        with self._lock:
            executors = list(self._executors)
        for executor in executors:
            with suppress(Exception):
                executor.close()

    def _is_finished(self) -> bool:
        return self._runs_left <= 0 or self.elapsed >= self.budget

    def _reserve_trial(self) -> bool:
        """Reserve one of the trials left; return False if none is left or the tune stops."""
        with self._lock:
            if self._stop.is_set() or self._is_finished():
                return False
            self._runs_left -= 1
            return True

    def _run_trials(self, make_executor: ExecutorFactory, cores: tuple[int, ...] | None) -> None:
        """Run trials on these cores until none is left or the tune stops."""
        executor = make_executor()
        with self._lock:
            self._executors.append(executor)
        try:
            while self._reserve_trial() and self._run_until_one_counts(executor, cores):
                pass
        finally:
            with suppress(Exception):
                executor.close()

    def _run_until_one_counts(
        self, executor: CommandExecutor, cores: tuple[int, ...] | None
    ) -> bool:
        """Run trials until one counts, at most five; return False if no more are to be run."""
        for _ in range(_MAX_EXPIRED):
            trial = self._wait_for_trial()
            if trial is None:
                return False
            record = self._run_trial(executor, trial, cores)
            if self._stop.is_set() and not record.is_counted:
                return False  # killed by `_stop_executors`: its decision stays pending
            self.decisions.tell(trial, record)
            with self._lock:
                if callable(self.progress):
                    self.progress(record)
                self._warnings.observe(record)
            if record.is_counted:
                return True
        raise RuntimeError(f"{_MAX_EXPIRED} runs in a row did not count: {record.reason}")

    def _wait_for_trial(self) -> PlannedTrial | None:
        while True:
            try:
                return self.decisions.ask()
            except PendingDecisionError:  # the policy allows one pending decision
                if self._stop.wait(_POLL_SECONDS):
                    raise

    def _wall_time_limit(self, arm: Arm, limit: float) -> float:
        """Return the wall-time limit of a run, in seconds."""
        # A command that sleeps uses no CPU time, and would never reach a limit of CPU time alone.
        if self.spec.clock == "cpu":
            return _WALL_FACTOR * limit + 1.0
        # A function is stopped by an alarm in its process, which is set once it has been loaded.
        return limit + LOAD_SECONDS if arm.function else limit

    def _run_trial(
        self, executor: CommandExecutor, trial: PlannedTrial, cores: tuple[int, ...] | None
    ) -> TrialRecord:
        """Run the command of a trial, and return its record."""
        spec = self.spec
        arm = trial.arm
        limit = trial.limit
        seed = command_seed(spec.seed, trial.round)
        start_time = time.time()
        monitor = LoadMonitor(cores)
        run = executor.run(
            make_command(spec, trial),
            self._wall_time_limit(arm, limit),
            cpu=limit if spec.clock == "cpu" else None,
            memory=spec.memory,
            folder=spec.folder,
            environment={**os.environ, **spec.environment} if spec.environment else None,
            cores=cores,
            **({"grace": spec.grace} if spec.grace else {}),
        )
        result = judge_outcome(spec, arm, limit, run)
        # The output of a run without success is kept, unless the run was killed at its limit and
        # its output was not judged.
        is_unjudged = result.outcome == "out of time" and not spec.success.at_limit
        keeps_output = result.reward is None and not is_unjudged
        return TrialRecord(
            id=trial.id,
            round=trial.round,
            arm=arm.name,
            limit=limit,
            instance=trial.instance.name,
            seed=seed,
            **vars(result),
            cpu=run.cpu,
            memory=run.memory,
            code=run.code,
            signal=run.signal,
            output=_last_lines(run.output) if keeps_output else "",
            at=start_time,
            elapsed=self.elapsed,
            others=monitor.other_cpu_seconds(run.cpu),
            configuration=trial.configuration,
            parameters=trial.parameters,
        )


def _last_lines(output: bytes) -> str:
    """Return the last lines of an output, without the answer of a function process."""
    text = output.decode("utf-8", "replace").partition(f"\n{MARK}")[0]
    if len(text) <= _KEPT_OUTPUT:
        return text
    return text[-_KEPT_OUTPUT:].partition("\n")[2] or text[-_KEPT_OUTPUT:]


def make_command(spec: Spec, trial: PlannedTrial) -> list[str]:
    """Return the words of the command of a run."""
    arm = trial.arm
    fields = spec.fields(trial.instance, command_seed(spec.seed, trial.round), trial.limit)
    if arm.function:
        return function_command(arm.function, {**fields, **arm.parameters}, arm.cells)
    return arm.format_command(fields)


def make_local_executor() -> CommandExecutor:
    """Make a runner for this machine; warn if processes may outlive their run."""
    from keyhole.runner import CommandRunner

    runner = CommandRunner()
    if runner.mechanism == "group":
        warnings.warn(runner.description, stacklevel=2)
    return runner


class Tuner:
    """A tuner learns which command to run, and with which time limit.

    Parameters
    ----------
    spec : Spec
        The commands, limits and instances.
    out : str or Path
        The folder of results: a new one, or the folder of a tune to resume.
    executors : callable, optional
        A function that makes the executor of each worker: see `keyhole.tune.CommandExecutor`. By
        default it makes a `keyhole.runner.CommandRunner`.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.tune import Spec
    >>> spec = Spec.from_table({
    ...     "arm": [{"name": "quick", "command": "true"}, {"name": "slow", "command": "sleep 9"}],
    ...     "limits": [0.05, 0.2],
    ... })
    >>> with tempfile.TemporaryDirectory() as out:
    ...     tune = Tuner(spec, out).run(runs=6)
    ...     tune.best().arm, len(tune.runs)
    ('quick', 6)
    """

    def __init__(
        self, spec: Spec, out: str | Path, *, executors: ExecutorFactory = make_local_executor
    ) -> None:
        if not isinstance(spec, Spec):
            raise TypeError(
                f"spec must be what Spec.from_file or Spec.from_table returns, "
                f"got {short_repr(spec)}"
            )
        self.spec = spec
        self.out = Path(out)
        self._executors = executors

    def run(
        self,
        *,
        runs: int | None = None,
        budget: float | None = None,
        workers: int = 1,
        on: str | futures.Executor = THREADS,
        progress: bool | Progress | None = None,
        warm_start: str | Path | None = None,
        weight: float = 1.0,
    ) -> SavedTune:
        """Run trials until the number of runs or the time budget is spent; return the tune.

        Runs and seconds of earlier calls count, too. Ctrl-C and the end of this process kill all
        commands; the same call then resumes the tune.

        Parameters
        ----------
        runs : int, optional
            How many runs, in all calls together.
        budget : float, optional
            Seconds of wall time while a tuner is at work, in all calls together. No run starts
            later.
        workers : int, default 1
            How many runs at a time; on this machine each has its own cores.
        on : str or concurrent.futures.Executor, default "threads"
            Where the commands are run: on this machine, on the cluster of an address, as
            `keyhole.clusters.connect` takes it, or on an executor.
        progress : bool or callable, optional
            Whether to print counts of outcomes and the last run, on standard error or below the
            cell of a notebook; or a function that is called with the record of every run.
        warm_start : str or Path, optional
            The folder of an earlier tune with the same clock and success rule. Its runs of
            configurations of this space are copied, and known before the first run. These
            configurations get the default of each parameter that the earlier tune lacks. A later
            call names the folder as the first call did, or leaves it out.
        weight : float, default 1
            How much a run of the earlier tune counts, if one of this tune counts 1; at most 1.

        Returns
        -------
        SavedTune
            The tune; a `SavedSpaceTune` if the spec has parameters. For type checkers,
            `SavedSpaceTune.load` returns that type.
        """
        if runs is None and budget is None:
            raise ValueError("runs or budget must be given")
        if runs is not None:
            runs = check_integer("runs", runs, Range(ge=1))
        if budget is not None:
            budget = check_number("budget", budget, Range(gt=0))
        if warm_start is None and weight != 1.0:
            raise ValueError(f"weight must be left out without warm_start, got {weight}")
        self._check_workers(workers, on)
        warn_of_unused_instances(self.spec)
        new_start = None
        # This comes before the folder is made, so that a refused warm start leaves no folder.
        if warm_start is not None and not read_same_start(self.out, Path(warm_start), weight):
            new_start = make_warm_start(self.spec, SavedSpaceTune.load(warm_start), weight)
        # The folder is locked first: another tuner must not open log or study meanwhile.
        with (
            saved_tune.lock_tune_folder(self.out, self.spec),
            closing(TrialLog(self.out / RUNS_FILE, self.spec.names)) as log,
        ):
            if new_start is not None and not log.all:
                write_warm_start(self.out, new_start)
            with self._open_decision_source(log) as decisions:
                loop = TuningLoop(self.spec, decisions, progress, runs or inf, budget or inf)
                loop.run(workers, on, self._executors)
        return cast(SavedTune, load_tune(self.out))

    def validate(
        self,
        instances: object,
        *,
        workers: int = 1,
        on: str | futures.Executor = THREADS,
        progress: bool | Progress | None = None,
    ) -> dict[str, ConfigurationEstimate]:
        """Run the recommended, the default and other configurations on instances kept aside.

        Each configuration is run once on each instance; the same call resumes a validation.

        Parameters
        ----------
        instances : str, list of str or dict
            As the entry ``instances`` of a spec; instances of the tune are refused.
        workers, on, progress
            As for `run`.

        Returns
        -------
        dict of str to ConfigurationEstimate
            Estimates with the names of `SavedSpaceTune.estimates`, from the runs on these instances
            and on the instances of earlier calls.
        """
        self._check_workers(workers, on)
        parsed_instances = parse_instances(instances, self.spec.folder)
        refuse_used_instances(self.spec, parsed_instances)
        estimates = SavedSpaceTune.load(self.out).estimates()
        with (
            folder_lock(self.out),
            closing(TrialLog(self.out / VALIDATION_FILE, self.spec.names)) as log,
        ):
            plan = ValidationPlan(self.spec, estimates.values(), parsed_instances, log)
            TuningLoop(self.spec, plan, progress).run(workers, on, self._executors)
        return SavedSpaceTune.load(self.out).validation()

    def _check_workers(self, workers: int, on: str | futures.Executor) -> None:
        """Refuse a call whose workers cannot run; warn if they need more cores than there are."""
        check_integer("workers", workers, WORKERS)
        check_cluster_address(on, None)
        if on != THREADS and self._executors is not make_local_executor:
            raise ValueError("executors must be left out with `on`, which makes its own")
        if is_local(on) and (text := workers_warning(workers, self.spec.cores, available_cores())):
            warnings.warn(text, stacklevel=3)
        if is_in_function_process():
            raise RuntimeError(
                "a tuner must not run in the process of a function arm, which imports the script: "
                "put everything but definitions under `if __name__ == '__main__':`"
            )

    @contextmanager
    def _open_decision_source(self, log: TrialLog) -> Iterator[DecisionSource]:
        """Yield the resumed study of a list of commands, or the decider of a parameter space."""
        if self.spec.search is not None:
            yield SpaceDecisionSource(self.spec, make_decider(self.out, self.spec, log.all), log)
            return
        with saved_tune.open_tune_study(self.out, self.spec) as study:
            saved_tune.resume_study(study, log)
            yield StudyDecisionSource(self.spec, study, log)

    def __repr__(self) -> str:
        """Return name, number of arms and folder."""
        arms = count_text(len(self.spec.arms), "arm")
        return f"Tuner({self.spec.name}: {arms}, {str(self.out)!r})"


def _make_progress_printer(max_runs: float) -> Progress:
    """Return a function that prints counts of outcomes and the last run, from time to time."""
    begin = time.monotonic()
    line = StatusLine(_SECONDS_BETWEEN_LINES)
    total_text = f" of {max_runs:,}" if max_runs < inf else ""
    counts: Counter[str] = Counter()

    def print_progress(record: TrialRecord) -> None:
        counts[record.outcome] += 1
        if line.is_due or record.round == max_runs:
            # The longer a tune takes, the rarer the lines: nobody reads one every five seconds for
            # days.
            line.set_interval(min(_SHARE_BETWEEN_LINES * (time.monotonic() - begin), 600.0))
            counts_text = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
            line.print(
                f"run {record.round:,}{total_text}, {record.elapsed:,.0f} s; now {counts_text}; "
                f"last {record.label} with {record.limit:g} s"
            )

    return print_progress


def make_dry_run(spec: Spec, count: int) -> list[tuple[str, float, list[str]]]:
    """Return arm, limit and command of at most `count` trials that could be run; run nothing."""
    spec.check_new()
    warn_of_unused_instances(spec)
    trials = _plan_list_trials(spec) if spec.search is None else _plan_space_trials(spec)
    return [
        (trial.arm.name, trial.limit, make_command(spec, trial))
        for trial in itertools.islice(trials, count)
    ]


def _plan_space_trials(spec: Spec) -> Iterator[PlannedTrial]:
    decider = make_decider(Path(), spec, ())
    with suppress(SpaceExhaustedError):  # nothing is left, or the next trial needs an outcome
        while True:
            trial = decider.ask()
            yield plan_chosen_run(spec, trial.round, spec.instances[trial.instance], trial)


def _plan_list_trials(spec: Spec) -> Iterator[PlannedTrial]:
    order = InstanceOrder(spec.instances, spec.seed)
    pairs = itertools.cycle(itertools.product(reversed(spec.limits), spec.arms))
    for round, (limit, arm) in enumerate(pairs, 1):
        yield PlannedTrial(str(round), round, arm, limit, order.take(arm.name))
