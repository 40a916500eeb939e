"""Tuning loop: choose a command and a time limit, run it, record the outcome, learn from it.

A tune learns from each run which of several commands is best, and when to stop it.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final, Protocol

from keyhole.runner import CommandResult
from keyhole.runner.function_process_child import MARK
from keyhole.study import Decision, PendingDecisionError, Study
from keyhole.tune.arms import LOAD_SECONDS, Arm, function_command
from keyhole.tune.cpu_cores import LoadMonitor
from keyhole.tune.instances import Instance, InstanceOrder, command_seed
from keyhole.tune.spec import Spec
from keyhole.tune.success_rule import judge_outcome
from keyhole.tune.trial_log import TrialLog, TrialRecord
from keyhole.tune.warnings import EarlyWarnings

_MAX_EXPIRED: Final = 5  # expired trials in a row, of one worker
_KEPT_OUTPUT: Final = 500  # characters of the output of a failed run that are recorded
_POLL_SECONDS: Final = 0.05
_WALL_FACTOR: Final = 10.0  # with clock "cpu": wall limit per second of CPU limit
Progress = Callable[[TrialRecord], None]
"""Called with the record of every run that has ended."""


class Executor(Protocol):
    """Runs commands for a tuner, one at a time, such as `keyhole.runner.Runner`."""

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
        """Kill the current run, and release resources; called from another thread on Ctrl-C."""


Executors = Callable[[], Executor]
"""A factory that is called once per worker."""


class TuningLoop:
    """The trials of one call of `Tuner.run`, in one thread per worker."""

    def __init__(
        self,
        spec: Spec,
        study: Study,
        records: TrialLog,
        executors: Executors,
        progress: Progress | None,
    ) -> None:
        self.spec, self.study, self.records = spec, study, records
        self._executors, self._progress = executors, progress
        self._arms = {arm.name: arm for arm in spec.arms}
        self._warnings = EarlyWarnings(spec)
        self._order = InstanceOrder(spec.instances, spec.seed, records.by_id.values())
        self._lock, self._stop = Lock(), Event()
        self._executing: list[Executor] = []
        self._error: BaseException | None = None
        # Time spent after the last record of an earlier call is not counted.
        self._before = max((record.elapsed for record in records.all), default=0.0)
        self._began = time.monotonic()
        self._left: int | None = None
        self._budget: float | None = None

    @property
    def elapsed(self) -> float:
        """Seconds of work, including earlier calls of `Tuner.run`."""
        return self._before + time.monotonic() - self._began

    def run(
        self,
        runs: int | None,
        budget: float | None,
        cores: Sequence[tuple[int, ...] | None],
    ) -> None:
        """Run trials until runs or budget are spent, with one thread per entry of `cores`."""
        self._left = None if runs is None else runs - len(self.records.by_id)
        self._budget = budget
        threads = [Thread(target=self._work, args=(mine,), daemon=True) for mine in cores]
        if self._is_finished():
            return
        for thread in threads:
            thread.start()
        try:
            # A join without a timeout could not be interrupted by Ctrl-C.
            for thread in threads:
                while thread.is_alive():
                    thread.join(_POLL_SECONDS)
        except BaseException:
            # Ctrl-C: commands are killed, and their decisions stay pending. The next call expires
            # them (`resume_study`), so that the policy never learns from an interrupted run.
            self._stop_all()
            for thread in threads:
                thread.join()
            raise
        if self._error is not None:
            raise self._error

    def _stop_all(self) -> None:
        # The flag comes first: a thread that is about to start a trial sees it in `_claim_trial`,
        # and the outcome of a run that is killed here is not recorded (`_run_until_one_counts`).
        self._stop.set()
        with self._lock:
            executing = list(self._executing)
        for executor in executing:
            with suppress(Exception):
                executor.close()

    def _is_finished(self) -> bool:
        return (self._left is not None and self._left <= 0) or (
            self._budget is not None and self.elapsed >= self._budget
        )

    def _claim_trial(self) -> bool:
        """Claim one more trial of those that are left; return False if none is."""
        with self._lock:
            if self._stop.is_set() or self._is_finished():
                return False
            if self._left is not None:
                self._left -= 1
            return True

    def _work(self, cores: tuple[int, ...] | None) -> None:
        """Run one trial after the other on these cores: the main function of a thread."""
        executor: Executor | None = None
        try:
            executor = self._executors()
            with self._lock:
                self._executing.append(executor)
            while self._claim_trial():
                self._run_until_one_counts(executor, cores)
        except BaseException as error:  # stops all threads; `run` raises it
            if not self._stop.is_set():
                self._error = error
                self._stop_all()
        finally:
            if executor is not None:
                with suppress(Exception):
                    executor.close()

    def _run_until_one_counts(self, executor: Executor, cores: tuple[int, ...] | None) -> None:
        """Run trials until one counts."""
        for _ in range(_MAX_EXPIRED):
            decision = self._ask()
            # Taken when the run starts and not when it is recorded: parallel runs of an arm must
            # have different instances.
            with self._lock:
                instance = self._order.take(decision.arm)
            record = self._execute(executor, decision, instance, cores)
            if self._stop.is_set() and not record.is_counted:
                return  # stopped by us: its decision stays pending
            # The record is durable before the study is told: after a kill in between, the next call
            # tells the study (`resume_study`). In the reverse order the record would be lost.
            with self._lock:
                self.records.add(record)
                if not record.is_counted:
                    self._order.put_back(decision.arm, instance)
            if record.is_counted:
                self.study.tell(decision.id, **record.to_feedback())
            else:
                self.study.expire(decision.id)
            with self._lock:
                if self._progress is not None:
                    self._progress(record)
                self._warnings.observe(record)
            if record.is_counted:
                return
        raise RuntimeError(f"{_MAX_EXPIRED} runs in a row did not count: {record.reason}")

    def _ask(self) -> Decision:
        while True:
            try:
                return self.study.ask()
            except PendingDecisionError:  # the policy allows one pending decision
                if self._stop.wait(_POLL_SECONDS):
                    raise

    def _wall_limit(self, arm: Arm, limit: float) -> float:
        """Return the wall-time limit of a run, in seconds."""
        # A command that sleeps uses no CPU time, and would never reach a limit of CPU time alone.
        if self.spec.clock == "cpu":
            return _WALL_FACTOR * limit + 1.0
        # The function process has an alarm at the limit, which begins when the function does.
        return limit + LOAD_SECONDS if arm.function else limit

    def _execute(
        self,
        executor: Executor,
        decision: Decision,
        instance: Instance,
        cores: tuple[int, ...] | None,
    ) -> TrialRecord:
        """Run the command of a decision on an instance, and return its record."""
        spec, arm, limit = self.spec, self._arms[decision.arm], decision.limit
        seed = command_seed(spec.seed, decision.round)
        at, load = time.time(), LoadMonitor(cores)
        run = executor.run(
            command_fields(spec, arm, instance, seed, limit),
            self._wall_limit(arm, limit),
            cpu=limit if spec.clock == "cpu" else None,
            memory=spec.memory,
            folder=spec.folder,
            environment={**os.environ, **spec.environment} if spec.environment else None,
            cores=cores,
            **({"grace": spec.grace} if spec.grace else {}),
        )
        result = judge_outcome(spec, arm, limit, run)
        # Of a run that is out of time too, if its output was judged.
        failed = result.outcome not in ("ok", "out of time") or spec.success.at_limit
        return TrialRecord(
            id=decision.id,
            round=decision.round,
            arm=arm.name,
            limit=limit,
            instance=instance.name,
            seed=seed,
            **vars(result),
            cpu=run.cpu,
            memory=run.memory,
            code=run.code,
            signal=run.signal,
            output=_last_lines(run.output) if failed and result.reward is None else "",
            at=at,
            elapsed=self.elapsed,
            others=load.other_load(run.cpu),
        )


def _last_lines(output: bytes) -> str:
    """Return the last lines of an output, without the answer of a function process."""
    text = output.decode("utf-8", "replace").partition(f"\n{MARK}")[0]
    if len(text) <= _KEPT_OUTPUT:
        return text
    _, end, whole = text[-_KEPT_OUTPUT:].partition("\n")
    return whole if end and whole else text[-_KEPT_OUTPUT:]


def command_fields(spec: Spec, arm: Arm, instance: Instance, seed: int, limit: float) -> list[str]:
    """Return the command line of a run as a list of words."""
    fields: dict[str, Any] = spec.fields(instance, seed, limit)
    if arm.function:
        return function_command(arm.function, {**fields, **arm.parameters}, arm.cells)
    return arm.format_command(fields)
