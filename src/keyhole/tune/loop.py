"""One stay at work: ask for a command and a limit, run it, write down what came of it, tell."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Final

from keyhole.study import Decision, PendingDecisionError, Study
from keyhole.study.events import TOLD, TOLD_LATE, TOLD_TOO_LATE
from keyhole.tune.command import Arm
from keyhole.tune.cpu_cores import LoadMonitor
from keyhole.tune.executor import Executor, Executors
from keyhole.tune.folder import STUDY
from keyhole.tune.function_arms import TO_START, function_command
from keyhole.tune.function_process import MARK
from keyhole.tune.instances import Instance, InstanceOrder, command_seed
from keyhole.tune.outcome import judge_outcome
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord
from keyhole.tune.warnings import EarlyWarnings

_LAPSES: Final = 5  # in a row, of one worker
_KEPT: Final = 500  # characters of what a run wrote that failed
_WAIT: Final = 0.05
_ASLEEP: Final = 10.0  # times its limit: for runs that use none of their processor time
Progress = Callable[[TrialRecord], None]
"""Told of every run that has ended."""


class TuningLoop:
    """One call of `run`: from where the last one ended to where this one does."""

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
        self._watch = EarlyWarnings(spec)
        self._order = InstanceOrder(spec.instances, spec.seed, records.by_id.values())
        self._lock, self._stop = Lock(), Event()
        self._working: list[Executor] = []
        self._error: BaseException | None = None
        self._before = max((one.elapsed for one in records.all), default=0.0)
        self._began = time.monotonic()
        self._left: int | None = None
        self._budget: float | None = None

    @property
    def elapsed(self) -> float:
        """For how long the tuner has been at work, all its stays together."""
        return self._before + time.monotonic() - self._began

    def catch_up(self) -> None:
        """Tell what was written down and not told; hand out again what was asked and not run."""
        open_ones = self.study.pending
        self._compare({one.id for one in open_ones})
        for decision in open_ones:
            if (record := self.records.by_id.get(decision.id)) is not None:
                self.study.tell(decision.id, **record.to_feedback())
            else:
                self.study.expire(decision.id)

    def _compare(self, open_ones: set[str]) -> None:
        """Refuse records that are not those of the study: a file was removed, cut, or put back."""
        told = {
            row.decision for row in self.study.log() if row.kind in (TOLD, TOLD_LATE, TOLD_TOO_LATE)
        }
        recorded, path = set(self.records.by_id), self.records.path
        if lost := len(told - recorded):
            raise ValueError(f"{path} lacks {lost:,} of the runs that the study was told of")
        if unknown := len(recorded - told - open_ones):
            raise ValueError(
                f"{path.with_name(STUDY)} knows nothing of {unknown:,} of the runs in {path.name}"
            )

    def run(
        self,
        runs: int | None,
        budget: float | None,
        cores: Sequence[tuple[int, ...] | None],
    ) -> None:
        """Run commands until runs or budget are spent; one thread for each entry of `cores`."""
        self._left = None if runs is None else runs - len(self.records.by_id)
        self._budget = budget
        threads = [Thread(target=self._work, args=(mine,), daemon=True) for mine in cores]
        if self._is_over():
            return
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(_WAIT)
        except BaseException:  # Ctrl-C: what runs is ended, and its decisions stay open
            self._end()
            for thread in threads:
                thread.join()
            raise
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        self._stop.set()
        with self._lock:
            working = list(self._working)
        for executor in working:
            with suppress(Exception):
                executor.close()

    def _is_over(self) -> bool:
        return (self._left is not None and self._left <= 0) or (
            self._budget is not None and self.elapsed >= self._budget
        )

    def _claim_trial(self) -> bool:
        """Return whether one more run is to be begun, and count it."""
        with self._lock:
            if self._stop.is_set() or self._is_over():
                return False
            if self._left is not None:
                self._left -= 1
            return True

    def _work(self, cores: tuple[int, ...] | None) -> None:
        """Run one command after the other, on these cores."""
        executor: Executor | None = None
        try:
            executor = self._executors()
            with self._lock:
                self._working.append(executor)
            while self._claim_trial():
                self._run_trial(executor, cores)
        except BaseException as error:  # all others end too, and `go` raises it
            if not self._stop.is_set():
                self._error = error
                self._end()
        finally:
            if executor is not None:
                with suppress(Exception):
                    executor.close()

    def _run_trial(self, executor: Executor, cores: tuple[int, ...] | None) -> None:
        """Have one run that counts."""
        for _ in range(_LAPSES):
            decision = self._ask()
            with self._lock:
                instance = self._order.take(decision.arm)
            record = self._execute(executor, decision, instance, cores)
            if self._stop.is_set() and not record.is_counted:
                return  # ended by us: its decision stays open
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
                self._watch.observe(record)
            if record.is_counted:
                return
        raise RuntimeError(f"{_LAPSES} runs in a row counted for nothing: {record.reason}")

    def _ask(self) -> Decision:
        while True:
            try:
                return self.study.ask()
            except PendingDecisionError:  # a policy that takes one decision at a time
                if self._stop.wait(_WAIT):
                    raise

    def _wall(self, arm: Arm, limit: float) -> float:
        """Return the seconds of a clock after which a run is ended, whatever it is doing."""
        if self.spec.clock == "cpu":
            return _ASLEEP * limit + 1.0
        return limit + TO_START if arm.function else limit

    def _execute(
        self,
        executor: Executor,
        decision: Decision,
        instance: Instance,
        cores: tuple[int, ...] | None,
    ) -> TrialRecord:
        """Run what a decision says on an instance."""
        spec, arm, limit = self.spec, self._arms[decision.arm], decision.limit
        seed = command_seed(spec.seed, decision.round)
        at, watched = time.time(), LoadMonitor(cores)
        run = executor.run(
            command_fields(spec, arm, instance, seed, limit),
            self._wall(arm, limit),
            cpu=limit if spec.clock == "cpu" else None,
            memory=spec.memory,
            folder=spec.folder,
            environment={**os.environ, **spec.environment} if spec.environment else None,
            cores=cores,
        )
        came = judge_outcome(spec, arm, limit, run)
        failed = came.outcome not in ("ok", "out of time")
        return TrialRecord(
            id=decision.id,
            round=decision.round,
            arm=arm.name,
            limit=limit,
            instance=instance.name,
            seed=seed,
            outcome=came.outcome,
            reward=came.reward,
            seconds=came.seconds,
            cpu=run.cpu,
            memory=run.memory,
            code=run.code,
            signal=run.signal,
            reason=came.reason,
            output=_end(run.output) if failed else "",
            at=at,
            elapsed=self.elapsed,
            others=watched.other_load(run.cpu),
        )


def _end(output: bytes) -> str:
    """Return the last lines of what a run wrote; the answer of a call is not its own."""
    text = output.decode("utf-8", "replace").partition(f"\n{MARK}")[0]
    if len(text) <= _KEPT:
        return text
    _, end, whole = text[-_KEPT:].partition("\n")
    return whole if end and whole else text[-_KEPT:]


def command_fields(spec: Spec, arm: Arm, instance: Instance, seed: int, limit: float) -> list[str]:
    """Return the words of the command of a run."""
    fields: dict[str, Any] = spec.fields(instance, seed, limit)
    if arm.function:
        return function_command(arm.function, {**fields, **arm.parameters})
    return arm.format_command(fields)
