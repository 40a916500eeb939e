import _thread
import dataclasses
import errno
import itertools
import json
import math
import os
import re
import shlex
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from keyhole.study import PendingDecisionError, Study
from keyhole.tune import SavedTune, Spec, Tuner
from keyhole.tune import tuner as tuner_module
from keyhole.tune.instances import command_seed
from keyhole.tune.report import write_report
from keyhole.tune.saved_tune import (
    RUNS_FILE,
    STUDY,
    STUDY_NAME,
    lock_tune_folder,
    open_tune_study,
    write_scenario,
)
from keyhole.tune.spec import DEFAULT_POLICY
from keyhole.tune.tuner import make_dry_run
from keyhole.tune.warnings import AllFailedError
from tests.tune.conftest import TABLE, Run, Simulated


def check_every_run_counts_once(out, runs):
    """Compare the log of the study with the records: each decision is told once, as recorded."""
    tune = SavedTune.load(out)
    assert len(tune.runs) == runs == len({run.id for run in tune.runs})
    lines = (out / RUNS_FILE).read_text().splitlines()
    counted = [json.loads(line)["id"] for line in lines if '"outcome": "expired"' not in line]
    assert len(counted) == runs
    with Study.open(out / STUDY, STUDY_NAME) as study:
        events = study.history().to_pylist()
        told = {row["decision"]: row for row in events if row["event"] in ("told", "told late")}
        assert sum(row["event"].startswith("told") for row in events) == runs
        assert told.keys() == set(counted)
        for run in tune.runs:
            is_exceeded = run.outcome == "out of time"
            assert bool(told[run.id].get("exceeded")) == is_exceeded
            assert is_exceeded or told[run.id]["consumption"] == min(run.seconds, run.limit)
        assert not study.pending
    return tune


def test_a_tune_learns_which_command_is_quick(spec, tmp_path):
    tune = Tuner(spec, tmp_path / "out", executors=Simulated).run(runs=60)
    assert tune.best().arm == "quick"
    assert sum(run.arm == "quick" for run in tune.runs) > 40
    check_every_run_counts_once(tmp_path / "out", 60)


def test_workers_run_side_by_side_on_cores_of_their_own(spec, tmp_path, monkeypatch):
    for module in ("machine_load", "tuner"):
        monkeypatch.setattr(f"keyhole.tune.{module}.available_cores", lambda: [3, 5, 7])
    barrier = threading.Barrier(3, timeout=600)
    executors = []

    def meet(number, run):
        if number <= 5:
            barrier.wait()
        return run

    def make_executor():
        executors.append(Simulated(meet))
        return executors[-1]

    Tuner(spec, tmp_path / "out", executors=make_executor).run(runs=30, workers=3)
    cores = [{options["cores"] for *_, options in executor.commands} for executor in executors]
    assert sorted(cores, key=min) == [{(3,)}, {(5,)}, {(7,)}]
    assert all(executor.closed for executor in executors)
    check_every_run_counts_once(tmp_path / "out", 30)


def test_a_resumed_tune_takes_the_same_decisions(spec, tmp_path):
    for runs in (7, 7, 12):
        tune = Tuner(spec, tmp_path / "parts", executors=Simulated).run(runs=runs)
    whole = Tuner(spec, tmp_path / "whole", executors=Simulated).run(runs=12)
    facts = [
        [(run.round, run.arm, run.limit, run.instance, run.seed) for run in saved_tune.runs]
        for saved_tune in (tune, whole)
    ]
    assert facts[0] == facts[1]
    check_every_run_counts_once(tmp_path / "parts", 12)


def test_a_second_ctrl_c_ends_the_wait_for_a_run_that_cannot_be_killed(spec, tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def never_end(number, run):
        begun.set()
        go_on.wait()
        return run

    def interrupt_twice():
        begun.wait()
        _thread.interrupt_main()
        while not executors[0].closed:  # by the first interrupt
            time.sleep(0.01)
        time.sleep(0.1)
        _thread.interrupt_main()

    executors = [Simulated(never_end)]
    threading.Thread(target=interrupt_twice, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        Tuner(spec, tmp_path, executors=lambda: executors[0]).run(runs=3)
    go_on.set()
    assert not SavedTune.load(tmp_path).runs  # the log was closed before the run ended
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    check_every_run_counts_once(tmp_path, 3)


@pytest.mark.parametrize("seed", [0, 7])
def test_seeds_of_commands_are_determined_by_the_seed_of_the_spec(tmp_path, seed):
    executor = Simulated()
    spec = Spec.from_table(TABLE | {"seed": seed})
    tune = Tuner(spec, tmp_path, executors=lambda: executor).run(runs=4)
    seeds = [command_seed(seed, run.round) for run in tune.runs]
    assert [run.seed for run in tune.runs] == seeds
    assert [int(command[-1]) for command, *_ in executor.commands] == seeds


def test_the_budget_counts_all_calls_of_run(spec, tmp_path, monkeypatch):
    clock = itertools.count(step=0.25)
    monkeypatch.setattr(tuner_module.time, "monotonic", lambda: next(clock))
    tuner = Tuner(spec, tmp_path, executors=Simulated)
    first = tuner.run(budget=10.0)
    assert 0 < len(first.runs) < 40
    assert 9.0 < first.elapsed <= 10.5
    again = tuner.run(budget=10.0)
    assert len(again.runs) <= len(first.runs) + 2
    assert len(tuner.run(budget=20.0).runs) > len(first.runs) + 5


def test_a_recorded_run_that_was_not_told_is_told_and_not_repeated(spec, tmp_path, monkeypatch):
    def die(study, id, **feedback):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Study, "tell", die)
        with pytest.raises(KeyboardInterrupt):
            Tuner(spec, tmp_path, executors=Simulated).run(runs=5)
    assert len((tmp_path / RUNS_FILE).read_text().splitlines()) == 1
    executor = Simulated()
    Tuner(spec, tmp_path, executors=lambda: executor).run(runs=5)
    assert len(executor.commands) == 4
    check_every_run_counts_once(tmp_path, 5)


def test_a_pending_decision_without_a_record_is_run_under_its_own_id(spec, tmp_path):
    def die(number, run):
        if number == 3:
            raise KeyboardInterrupt
        return run

    with pytest.raises(KeyboardInterrupt):
        Tuner(spec, tmp_path, executors=lambda: Simulated(die)).run(runs=5)
    tune = Tuner(spec, tmp_path, executors=Simulated).run(runs=5)
    assert [run.round for run in tune.runs] == [1, 2, 3, 4, 5]
    check_every_run_counts_once(tmp_path, 5)


def test_an_incomplete_last_line_is_dropped(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    whole = (tmp_path / RUNS_FILE).read_text()
    (tmp_path / RUNS_FILE).write_text(whole + whole[:50])
    assert len(SavedTune.load(tmp_path).runs) == 3
    Tuner(spec, tmp_path, executors=Simulated).run(runs=4)
    check_every_run_counts_once(tmp_path, 4)


def test_a_damaged_line_is_named(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    lines = (tmp_path / RUNS_FILE).read_text().splitlines(keepends=True)
    (tmp_path / RUNS_FILE).write_text("".join([lines[0], "{}\n", lines[2]]))
    with pytest.raises(
        ValueError,
        match=r"runs\.jsonl, line 2, is not a record .*; .* arm must be given",
    ):
        Tuner(spec, tmp_path, executors=Simulated).run(runs=4)


def test_a_run_during_which_the_machine_slept_is_repeated(spec, tmp_path):
    def sleep(number, run):
        return dataclasses.replace(run, slept=True) if number == 2 else run

    executor = Simulated(sleep)
    with pytest.warns(UserWarning, match="is repeated: the machine slept during the run"):
        tune = Tuner(spec, tmp_path, executors=lambda: executor).run(runs=4)
    assert [run.round for run in tune.runs] == [1, 2, 3, 4]
    assert [run.round for run in tune.expired] == [2]
    assert executor.commands[1] == executor.commands[2]
    check_every_run_counts_once(tmp_path, 4)


def test_runs_that_are_always_lost_end_the_tune(spec, tmp_path):
    lost = Run("lost", reason="its helper has ended")
    with (
        pytest.warns(UserWarning, match="does not count and is repeated"),
        pytest.raises(RuntimeError, match="5 runs in a row did not count: its helper"),
    ):
        Tuner(spec, tmp_path, executors=lambda: Simulated(lambda *_: lost)).run(runs=4)


def failing(number, run):
    return Run("failed", 0.002, code=2, output=b"no licence\n")


def test_a_tune_ends_when_all_runs_fail(spec, tmp_path):
    with pytest.raises(
        AllFailedError, match=r"all 10 runs failed, of 2 arms.*code 2; its output: no licence"
    ):
        Tuner(spec, tmp_path, executors=lambda: Simulated(failing)).run(runs=100)
    assert len(SavedTune.load(tmp_path).runs) == 10


def test_a_pattern_that_is_never_found_is_warned_of_after_ten_runs(tmp_path):
    spec = Spec.from_table(TABLE | {"success": {"pattern": "solved"}, "limits": [0.1, 1]})
    counts = []

    def count_warnings(record):
        counts.append(len(caught))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = {"name": "late", "command": "true 100 {instance} {seed}"}
        arms = (*spec.arms, *Spec.from_table(TABLE | {"arm": [arm]}).arms)
        spec = dataclasses.replace(spec, arms=arms)
        Tuner(spec, tmp_path, executors=Simulated).run(runs=40, progress=count_warnings)
    (text,) = [str(warning.message) for warning in caught]
    assert text.startswith("success.pattern 'solved' was found in none of 10 outputs so far")
    assert counts.index(1) < 39


def test_a_busy_machine_is_warned_of_once(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(tuner_module.LoadMonitor, "other_cpu_seconds", lambda *_: 0.5)
    with pytest.warns(
        UserWarning, match="the machine was busy: .* worked for other processes"
    ) as caught:
        Tuner(spec, tmp_path, executors=lambda: Simulated(slow)).run(runs=20)
    assert len(caught) == 1


def slow(number, run):
    return dataclasses.replace(run, outcome="ok", seconds=1.0, code=0)


def test_more_workers_than_cores_are_warned_of(spec, tmp_path, monkeypatch):
    monkeypatch.setattr("keyhole.tune.tuner.available_cores", lambda: [0])
    with pytest.warns(UserWarning, match="workers: 2 cores .* this process may use 1"):
        Tuner(spec, tmp_path, executors=Simulated).run(runs=4, workers=2)


class Instant(Simulated):
    """Executor whose runs all succeed at once."""

    def run(self, command, limit, **options):
        return Run(seconds=0.001)


def same(seed, size=1):
    return seed > size


def take_all(**fields):
    return True


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ({"arm": [*TABLE["arm"], {"name": "same", "command": "true {seed}"}]}, ["same"]),
        ({"arm": [{"name": "same", "command": "true {seed}", "grid": {"a": [1, 2]}}]},
         ["same a=1", "same a=2"]),
        ({"arm": [{"name": "same", "function": same}]}, ["same"]),
        ({"arm": [{"name": "same", "command": "true {a}"}],
          "parameters": {"a": {"categories": [1, 2], "default": 1}}}, ["same"]),
    ],
)  # fmt: skip
def test_arms_that_do_the_same_on_each_instance_are_warned_of_once(tmp_path, entries, names):
    spec = Spec.from_table(TABLE | entries)
    words = (
        rf"^arms {re.escape(repr(names))} use neither {{instance}} nor a column, so that all 3 inst"
    )
    with pytest.warns(UserWarning, match=words) as caught:
        make_dry_run(spec, 10)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=words) as caught:
        Tuner(spec, tmp_path, executors=Instant).run(runs=1)
    assert len(caught) == 1


def test_arms_with_a_column_or_all_fields_are_not_warned_of(tmp_path):
    (tmp_path / "rows.csv").write_text("instance,size\na,1\nb,2\n")
    arms = [{"name": "column", "command": "true {size}"}, {"name": "all", "function": take_all}]
    table = TABLE | {"arm": arms, "instances": {"csv": "rows.csv"}}
    make_dry_run(Spec.from_table(table, folder=tmp_path), 10)
    make_dry_run(Spec.from_table(TABLE | {"arm": [{"name": "a", "command": "true"}],
                                          "instances": ["one"]}), 10)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limits": [0.01, 0.1, 2]}, r"limits\[2\] was 1.0, is now 2.0"),
        ({"instances": ["a", "b"]}, "the number of instances was 3, is now 2"),
        ({"seed": 3}, "seed was 0, is now 3"),
        (
            {"arm": [TABLE["arm"][0], {"name": "slow", "command": "true 2 {instance}"}]},
            r"arms\[1\].command",
        ),
    ],
)
def test_the_folder_of_another_spec_is_refused(spec, tmp_path, change, words):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=1)
    other = Spec.from_table(TABLE | change)
    with pytest.raises(ValueError, match=f"belongs to a tune with another spec: .*{words}"):
        Tuner(other, tmp_path, executors=Simulated).run(runs=2)


def test_a_folder_with_other_files_is_refused(spec, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(
        ValueError, match=r"out must be a new folder or that of a tune, but .* has other files"
    ):
        Tuner(spec, tmp_path, executors=Simulated).run(runs=2)


def test_runs_or_budget_must_be_given(spec, tmp_path):
    with pytest.raises(ValueError, match="runs or budget must be given"):
        Tuner(spec, tmp_path, executors=Simulated).run()


def test_a_dry_run_shows_every_arm(spec):
    trials = make_dry_run(spec, 10)
    assert len(trials) == 10
    assert {arm for arm, *_ in trials} == {"quick", "slow"}
    assert {limit for _, limit, _ in trials} == set(spec.limits)


def test_a_worker_waits_while_the_policy_does(spec, tmp_path, monkeypatch):
    ask, refused = Study.ask, []

    def wait(study):
        if len(refused) < 2:
            refused.append(1)
            raise PendingDecisionError("the policy waits for the feedback of a decision")
        return ask(study)

    monkeypatch.setattr(Study, "ask", wait)
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    check_every_run_counts_once(tmp_path, 3)


def test_a_finished_tune_can_be_replayed(spec, tmp_path):
    tune = Tuner(spec, tmp_path, executors=Simulated).run(runs=12)
    assert "12" in repr(tune.replay(DEFAULT_POLICY))


def test_with_clock_cpu_a_sleeping_run_is_killed_too(tmp_path):
    spec = Spec.from_table(TABLE | {"clock": "cpu"})
    executor = Simulated(lambda number, run: dataclasses.replace(run, cpu=run.seconds))
    Tuner(spec, tmp_path, executors=lambda: executor).run(runs=4)
    for _, wall_limit, options in executor.commands:
        assert wall_limit == 10 * options["cpu"] + 1.0
        assert options["cpu"] in spec.limits


def test_with_clock_cpu_pending_runs_count_as_within_their_limits(tmp_path):
    spec = Spec.from_table(TABLE | {"clock": "cpu"})
    still_study = Study.create(  # whose clock stands still
        tmp_path / "other.db", STUDY_NAME, DEFAULT_POLICY, spec.names, on_timeout="ask_again",
        durability="process_crash", time_unit=1.0, clock=lambda: 1e9, **spec.facts(),
    )  # fmt: skip
    with open_tune_study(tmp_path, spec) as study, still_study:
        pending = []
        for turn in range(40):
            decision, still_decision = study.ask(), still_study.ask()
            assert (decision.arm, decision.limit) == (still_decision.arm, still_decision.limit)
            pending.append((decision, still_decision))
            if len(pending) > turn % 8:
                decision, still_decision = pending.pop(0)
                seconds = 0.05 if decision.arm == "quick" else 0.4
                feedback = {"reward": 1.0, "consumption": seconds}
                if seconds > decision.limit:
                    feedback = {"exceeded": True}
                study.tell(decision.id, **feedback)
                still_study.tell(still_decision.id, **feedback)


def test_a_full_disk_ends_the_tune_and_no_run_counts_twice(spec, tmp_path, monkeypatch):
    flush, calls = os.fsync, []

    def full(file):
        calls.append(file)
        if len(calls) == 4:  # the spec, the folder, the first record, the second
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left on device: '.*runs.jsonl'"):
            Tuner(spec, tmp_path, executors=Simulated).run(runs=5)
    Tuner(spec, tmp_path, executors=Simulated).run(runs=5)
    check_every_run_counts_once(tmp_path, 5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda out: (out / STUDY).unlink(),
            r"study\.db lacks 6 of the runs in runs\.j",
        ),
        (
            lambda out: (out / RUNS_FILE).unlink(),
            r"runs\.jsonl lacks 6 of the runs that the study has",
        ),
        (
            lambda out: cut(out / RUNS_FILE, 4),
            r"runs\.jsonl lacks 2 of the runs that the study has",
        ),
    ],
)
def test_records_that_are_not_those_of_the_study_are_refused(spec, tmp_path, change, words):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=6)
    change(tmp_path)
    with pytest.raises(ValueError, match=words):
        Tuner(spec, tmp_path, executors=Simulated).run(runs=8)


@pytest.mark.parametrize("lose", [lambda path: path.unlink(), lambda path: path.write_text("")])
def test_a_tune_that_lost_its_runs_is_not_shown_as_new(spec, tmp_path, lose):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=6)
    lose(tmp_path / RUNS_FILE)
    with pytest.raises(ValueError, match=r"runs\.jsonl lacks 6 of the runs that the study has"):
        SavedTune.load(tmp_path)


def test_a_tune_that_lost_some_of_its_runs_is_shown_with_a_warning(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=6)
    cut(tmp_path / RUNS_FILE, 4)
    with pytest.warns(UserWarning, match=r"runs\.jsonl lacks 2 of the runs that the study has"):
        assert len(SavedTune.load(tmp_path).runs) == 4


def test_the_runs_of_a_tune_are_shown_without_its_study(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=6)
    (tmp_path / STUDY).write_bytes(b"damaged" * 1000)
    assert len(SavedTune.load(tmp_path).runs) == 6


def test_a_tune_that_has_run_nothing_is_shown(spec, tmp_path):
    with lock_tune_folder(tmp_path, spec):
        assert SavedTune.load(tmp_path).runs == []
        with open_tune_study(tmp_path, spec) as study:
            study.ask()
        assert SavedTune.load(tmp_path).runs == []


def cut(path, lines):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("seconds", "x", "seconds must be a valid number, .*got 'x'"),
        ("arm", "third", "arm 'third' is not in the spec"),
        ("outcome", "good", "outcome must be 'ok', "),
        ("other", 1, "other is not known"),
        ("at", 1e300, "at must be less than"),
        ("seconds", -5.0, "seconds must be greater than or equal to 0"),
        ("seconds", 1e308, "seconds must be less than"),
        ("cpu", math.inf, "cpu must be less than"),
        ("elapsed", math.nan, "elapsed must be less than"),
    ],
)
def test_an_altered_record_is_named(spec, tmp_path, entry, value, words):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=1)
    record = json.loads((tmp_path / RUNS_FILE).read_text()) | {entry: value}
    (tmp_path / RUNS_FILE).write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match=f"line 1, is not a record of a run: {words}"):
        SavedTune.load(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other devices")
def test_a_device_in_the_place_of_the_runs_is_refused(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=1)
    (tmp_path / RUNS_FILE).unlink()
    (tmp_path / RUNS_FILE).symlink_to("/dev/null")
    with pytest.raises(ValueError, match=f"{RUNS_FILE} must be a file, got a device"):
        SavedTune.load(tmp_path)


def test_a_line_that_is_no_object_is_named(spec, tmp_path):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=1)
    (tmp_path / RUNS_FILE).write_text("[]\n")
    with pytest.raises(ValueError, match=r"line 1, is not .*: must be a dictionary .*got \[\]"):
        SavedTune.load(tmp_path)


def test_a_tuner_that_is_refused_changes_nothing(spec, tmp_path):
    def meet(number, run):
        with pytest.raises(ValueError, match="another process is at work"):
            Tuner(dataclasses.replace(spec, notes="mine"), tmp_path).run(runs=1)
        return run

    Tuner(spec, tmp_path, executors=lambda: Simulated(meet)).run(runs=1)
    assert SavedTune.load(tmp_path).spec.notes == ""


def test_shown_output_begins_at_the_beginning_of_a_line(spec, tmp_path):
    lines = b"".join(b"line %d of many\n" % i for i in range(100))
    fail = Run("failed", 0.002, code=2, output=lines)
    with pytest.raises(
        AllFailedError, match=r"code 2; its output: line \d+ of many .* line 99 of m"
    ):
        Tuner(spec, tmp_path, executors=lambda: Simulated(lambda *_: fail)).run(runs=100)
    assert all(run.output.startswith("line ") for run in SavedTune.load(tmp_path).runs)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_tune_goes_on_with_a_name_that_is_not_utf_8(tmp_path, no_figures):
    for name in (b"a.cnf", b"b\xff.cnf"):
        (tmp_path / os.fsdecode(name)).write_text("")
    spec = Spec.from_table(
        {"arm": [{"name": "cat", "command": "cat {instance}"}], "instances": "*.cnf", "limits": 60},
        folder=tmp_path,
    )
    Tuner(spec, tmp_path / "out").run(runs=1)
    tune = Tuner(spec, tmp_path / "out").run(runs=4)
    names = ["a.cnf", "b\udcff.cnf"]
    assert sorted(run.instance for run in tune.runs) == sorted(2 * names)
    assert {run.outcome for run in tune.runs} == {"ok"}
    assert r"b\udcff.cnf" in write_report(tune).read_text("utf-8")
    scenario = write_scenario(tune, tmp_path / "scenario")
    assert r"b\udcff.cnf" in (scenario / "algorithm_runs.arff").read_text("utf-8")


ANYTIME = """if True:
    import signal, sys, time
    def stop(*_):
        print("best", 7.5)
        sys.exit(1)
    signal.signal(signal.SIGTERM, stop)
    print("best", 1)
    while True:
        time.sleep(0.01)
"""
AT_LIMIT = {
    "arm": [{"name": "anytime", "command": [sys.executable, "-I", "-S", "-c", ANYTIME]}],
    "limits": 1,
    "grace": "60s",
    "success": {"number": r"best (\S+)", "scale": [0, 10], "at_limit": True},
    "objective": {"cost_per_second": 0.5, "cost_of_giving_up": 3},
}


def test_an_anytime_solver_earns_what_it_has_printed_by_its_limit(tmp_path):
    tune = Tuner(Spec.from_table(AT_LIMIT), tmp_path).run(runs=2)
    assert [(run.outcome, run.reward, run.seconds) for run in tune.runs] == 2 * [("ok", 7.5, 1.0)]
    check_every_run_counts_once(tmp_path, 2)  # the study is told of its limit and of no time-out
    # A reward of 7.5, less half a point for a second, and nothing for giving up.
    gain = tune.best().gain
    assert gain.low < 7.0 <= gain.high
    assert tune.best().successes == 2
    assert SavedTune.load(tmp_path).spec == Spec.from_table(AT_LIMIT)


def test_the_anytime_solver_of_the_how_to_runs(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "howto" / "timeouts.md"
    blocks = re.findall(r"```(?:python|toml)\n# (tour\.\w+)\n(.*?)```", page.read_text(), re.DOTALL)
    assert [name for name, _ in blocks] == ["tour.py", "tour.toml"]
    for name, text in blocks:
        (tmp_path / name).write_text(text.replace('"python3 ', f'"{shlex.quote(sys.executable)} '))
    tune = Tuner(Spec.from_file(tmp_path / "tour.toml"), tmp_path / "out").run(runs=4)
    assert {run.arm for run in tune.runs} == {"tour move=reverse", "tour move=shift"}
    assert all(run.outcome == "ok" and -60 < run.reward < 0 for run in tune.runs)


def test_an_executor_gets_grace_only_if_the_spec_has_it(tmp_path, spec):
    for number, grace in enumerate((0, 2)):
        executor = Simulated()
        graced = dataclasses.replace(spec, grace=float(grace))
        Tuner(graced, tmp_path / str(number), executors=lambda executor=executor: executor).run(
            runs=1
        )
        assert executor.commands[0][2].get("grace", 0) == grace
        assert ("grace" in executor.commands[0][2]) == bool(grace)
