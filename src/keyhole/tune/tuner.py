"""Tuner: start or resume, in a folder, learning which command is best and when to stop it."""

import warnings
from concurrent import futures
from contextlib import closing
from pathlib import Path
from typing import Final

from keyhole.clusters.cluster_connection import THREADS, check_address
from keyhole.play.progress import StatusLine
from keyhole.text_formatting import count_text
from keyhole.tune import folder as places
from keyhole.tune.cluster_executor import cluster_executors, is_local
from keyhole.tune.cpu_cores import assign_cores, available_cores
from keyhole.tune.function_arms import is_in_function_process
from keyhole.tune.instances import InstanceOrder, command_seed
from keyhole.tune.loop import Executor, Executors, Progress, TuningLoop, command_fields
from keyhole.tune.saved_tune import SavedTune
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord
from keyhole.tune.warnings import workers_warning
from keyhole.validate import Range, check_integer, check_number, short_repr

_SECONDS_BETWEEN_LINES: Final = 5.0
WORKERS: Final = Range(ge=1, le=1024)


def make_local_executor() -> Executor:
    """Make a runner for this machine; warn if processes may outlive their run."""
    from keyhole.runner import Runner

    runner = Runner()
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
        Makes the executor of each worker: see `keyhole.tune.loop.Executor`. By default a
        `keyhole.runner.Runner`.

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
        self, spec: Spec, out: str | Path, *, executors: Executors = make_local_executor
    ) -> None:
        if not isinstance(spec, Spec):
            raise TypeError(
                f"spec must be what Spec.from_file or Spec.from_table returns, "
                f"got {short_repr(spec)}"
            )
        self.spec, self.out, self._executors = spec, Path(out), executors

    def run(
        self,
        *,
        runs: int | None = None,
        budget: float | None = None,
        workers: int = 1,
        on: str | futures.Executor = THREADS,
        progress: bool | Progress | None = None,
    ) -> SavedTune:
        """Run trials until the number of runs or the time budget is spent; return the tune.

        Both include earlier calls. Ctrl-C and the end of this process kill all commands; the same
        call then resumes the tune.

        Parameters
        ----------
        runs : int, optional
            How many runs, in all.
        budget : float, optional
            Seconds of wall time while the tuner is at work, in all. No run starts later.
        workers : int, default 1
            How many runs at a time; on this machine each has its own cores.
        on : str or concurrent.futures.Executor, default "threads"
            Where the commands are run: on this machine, on a cluster, as for
            `keyhole.clusters.connect`, or on an executor.
        progress : bool or callable, optional
            Whether to show the last run: on standard error, in a notebook below the cell; or a
            function that is called with the record of every run.
        """
        if runs is None and budget is None:
            raise ValueError("runs or budget must be given")
        most = check_integer("runs", runs, Range(ge=1)) if runs is not None else None
        seconds = check_number("budget", budget, Range(gt=0)) if budget is not None else None
        check_integer("workers", workers, WORKERS)
        check_address(on, None)
        if on != THREADS and self._executors is not make_local_executor:
            raise ValueError("executors must be left out with `on`, which makes its own")
        if is_local(on) and (text := workers_warning(workers, self.spec.cores, available_cores())):
            warnings.warn(text, stacklevel=2)
        if is_in_function_process():
            raise RuntimeError(
                "a tuner must not run in the process of a function arm, which imports the script: "
                "put everything but definitions under `if __name__ == '__main__':`"
            )
        # The folder comes first, with its lock: another tuner must not open log or study meanwhile.
        with (
            places.open_tune_folder(self.out, self.spec),
            closing(TrialLog(self.out / places.RUNS, self.spec.names)) as records,
            places.open_study(self.out, self.spec) as study,
            cluster_executors(on, workers, self.spec) as theirs,
        ):
            places.resume_study(study, records)
            show = progress if callable(progress) else _show_last(most) if progress else None
            loop = TuningLoop(self.spec, study, records, theirs or self._executors, show)
            cores = [None] * workers if theirs else assign_cores(workers, self.spec.cores)
            loop.run(most, seconds, cores)
        return SavedTune.load(self.out)

    def __repr__(self) -> str:
        """Return name, number of arms and folder."""
        arms = count_text(len(self.spec.arms), "arm")
        return f"Tuner({self.spec.name}: {arms}, {str(self.out)!r})"


def _show_last(most: int | None) -> Progress:
    """Return a function that shows the last run, from time to time."""
    line, of = StatusLine(_SECONDS_BETWEEN_LINES), f" of {most:,}" if most else ""

    def show(record: TrialRecord) -> None:
        if line.is_due or record.round == most:
            what = f"{record.arm} with {record.limit:g} s: {record.outcome}"
            line.print(f"run {record.round:,}{of}: {what}")

    return show


def make_dry_run(spec: Spec, count: int) -> list[tuple[str, float, list[str]]]:
    """Return arm, limit and command line of `count` trials, arms in turn, without running them."""
    spec.check_new()
    found, order = [], InstanceOrder(spec.instances, spec.seed)
    for round in range(1, count + 1):
        arm = spec.arms[(round - 1) % len(spec.arms)]
        # The largest limit first, and the next one each time that all arms have had their turn.
        limit = spec.limits[-1 - (round - 1) // len(spec.arms) % len(spec.limits)]
        seed = command_seed(spec.seed, round)
        found.append(
            (arm.name, limit, command_fields(spec, arm, order.take(arm.name), seed, limit))
        )
    return found
