import dataclasses
import signal

import pytest

from keyhole.tune import Spec
from keyhole.tune.arms import Arm
from keyhole.tune.success_rule import CannotStartError, SuccessRule, judge_outcome
from tests.tune.conftest import TABLE, Run

COMMAND, FUNCTION = Arm("a", ("true",)), Arm("f", function="module:f")
RULE = SuccessRule.from_table({"pattern": "^done$", "number": r"cost (\S+)", "scale": [0, 100]})
MARK = b"keyhole.runner.function_process_child: "
CASES = {
    "an exit code of success": (SuccessRule(), Run(), "ok", 1.0, ""),
    "another code": (SuccessRule(), Run("failed", code=3), "failed", None, "ended with code 3"),
    "another code of success": (SuccessRule((10,)), Run("failed", code=10), "ok", 1.0, ""),
    "code 0 without success": (SuccessRule((10,)), Run(), "failed", None, "ended with code 0"),
    "a crash": (
        SuccessRule(), Run("failed", code=None, signal=11), "failed", None, "ended by signal 11"),
    "the time limit": (SuccessRule(), Run("out of time", 1.003), "out of time", None, ""),
    "the memory limit": (SuccessRule(), Run("out of memory"), "out of memory", None, ""),
    "an exit after the limit": (
        SuccessRule(), Run(seconds=1.2), "out of time", None, "ended after 1.200 s"),
    "a machine that slept": (
        SuccessRule(), Run(slept=True), "expired", None, "the machine slept during the run"),
    "a run that was lost": (SuccessRule(), Run("lost", reason="gone"), "expired", None, "gone"),
    "a number": (RULE, Run(output=b"cost 3\ncost 41.5\ndone\n"), "ok", 41.5, ""),
    "lines of Windows": (RULE, Run(output=b"cost 3\r\ncost 41.5\r\ndone\r\n"), "ok", 41.5, ""),
    "lines of Windows through a terminal": (
        RULE, Run(output=b"cost 3\r\r\ndone\r\r\n"), "ok", 3.0, ""),
    "a progress bar": (RULE, Run(output=b"cost 3\rcost 41.5\rdone\n"), "ok", 41.5, ""),
    "colours": (
        RULE, Run(output=b"\x1b[1;32mcost 3\x1b[0m\n\x1b[2K\x1b[32mdone\x1b[m\n"), "ok", 3.0, ""),
    "a byte order mark": (RULE, Run(output=b"\xef\xbb\xbfdone\ncost 3\n"), "ok", 3.0, ""),
    "bytes that are no UTF-8, and NUL": (
        RULE, Run(output=b"\xff\0 cost 3\ndone\n\0"), "ok", 3.0, ""),
    "no pattern": (RULE, Run(output=b"cost 3\n"), "failed", None, "the pattern was not found"),
    "no number": (RULE, Run(output=b"done\n"), "failed", None, "the number was not found"),
    "a text in place of the number": (
        RULE, Run(output=b"cost nan\ndone"), "failed", None, "the number was 'nan'"),
    "a number beyond the scale": (
        RULE, Run(output=b"cost 101\ndone"), "failed", None, "the reward 101 is not in [0, 100]"),
}  # fmt: skip


def spec_of(success, clock="wall"):
    return dataclasses.replace(Spec.from_table(TABLE), success=success, clock=clock)


@pytest.mark.parametrize(("success", "run", "outcome", "reward", "reason"), CASES.values(),
                         ids=CASES)  # fmt: skip
def test_a_run_ends_with(success, run, outcome, reward, reason):
    judged = judge_outcome(spec_of(success), COMMAND, 1.0, run)
    assert (judged.outcome, judged.reward, judged.reason) == (outcome, reward, reason)
    assert judged.seconds <= 1.0


def test_a_command_that_cannot_start_ends_the_tune():
    with pytest.raises(CannotStartError, match="arm 'a' could not be started: no such file"):
        judge_outcome(
            spec_of(SuccessRule()), COMMAND, 1.0, Run("could not start", reason="no such file")
        )


@pytest.mark.parametrize(
    ("output", "outcome", "reward", "seconds"),
    [
        (b'{"seconds": 0.25, "result": true}', "ok", 50.0, 0.25),
        (b'{"seconds": 0.25, "result": 7}', "ok", 7.0, 0.25),
        (b'{"seconds": 0.25, "result": false}', "failed", None, 0.25),
        (b'{"seconds": 1.25, "result": true}', "out of time", None, 1.0),
    ],
)
def test_the_time_of_a_function_is_the_one_in_its_answer(output, outcome, reward, seconds):
    run = Run(seconds=30.0, output=b"words\n" + MARK + output + b"\n")
    judged = judge_outcome(spec_of(SuccessRule(scale=(0.0, 50.0))), FUNCTION, 1.0, run)
    assert (judged.outcome, judged.reward, judged.seconds) == (outcome, reward, seconds)


def test_an_alarm_is_out_of_time_and_an_exception_a_failure():
    ended = Run("failed", 1.2, code=None, signal=int(signal.SIGALRM))
    assert judge_outcome(spec_of(SuccessRule()), FUNCTION, 1.0, ended).outcome == "out of time"
    raised = judge_outcome(spec_of(SuccessRule()), FUNCTION, 1.0, Run("failed", 1.2, code=1))
    assert (raised.outcome, raised.reason) == ("failed", "ended with code 1")


def test_with_clock_cpu_seconds_are_cpu_seconds():
    run = Run(seconds=30.0, cpu=0.5)
    assert judge_outcome(spec_of(SuccessRule(), "cpu"), COMMAND, 1.0, run).seconds == 0.5
    late = Run(seconds=30.0, cpu=1.5)
    assert judge_outcome(spec_of(SuccessRule(), "cpu"), COMMAND, 1.0, late).outcome == "out of time"


def test_a_call_that_raised_has_failed_after_the_time_that_the_function_took():
    output = MARK + b'{"seconds": 0.25, "result": null, "failure": "ValueError: no"}\n'
    judged = judge_outcome(
        spec_of(SuccessRule()), FUNCTION, 1.0, Run("failed", 30.0, code=1, output=output)
    )
    assert (judged.outcome, judged.seconds) == ("failed", 0.25)
    assert judged.reason == "raised ValueError: no"


def test_an_answer_counts_only_with_exit_code_0():
    output = MARK + b'{"seconds": 0.25, "result": true}\nbye\n'
    assert judge_outcome(spec_of(SuccessRule()), FUNCTION, 1.0, Run(output=output)).outcome == "ok"
    crashed = Run("failed", code=1, output=output)
    assert judge_outcome(spec_of(SuccessRule()), FUNCTION, 1.0, crashed).outcome == "failed"


@pytest.mark.parametrize(("end", "reward"), [(b"9\ndone\n", None), (b"9\ncost 5\ndone\n", 5.0)])
def test_lines_cut_by_the_gap_in_the_output_are_not_read(end, reward):
    half = 40
    output = b"cost 1".rjust(half) + b"\n... 900 bytes ...\n" + end.rjust(half, b"7")
    assert judge_outcome(spec_of(RULE), COMMAND, 1.0, Run(output=output)).reward == reward
    whole = b"cost 12\n... 900 bytes ...\ndone\n"  # a command may print such a line itself
    assert judge_outcome(spec_of(RULE), COMMAND, 1.0, Run(output=whole)).reward == 12


@pytest.mark.parametrize(
    ("run", "outcome", "reward", "reason"),
    [
        (Run("out of time", 1.0, code=None, output=b"cost 7\ndone\ncost 9\n"), "ok", 9.0, None),
        (Run("out of time", 1.4, code=None, signal=15, output=b"cost 7\ndone\n"), "ok", 7.0, None),
        (Run("out of time", 1.4, code=143, output=b"cost 7\ndone"), "ok", 7.0, None),
        (Run(seconds=1.001, code=1, output=b"cost 7\ndone"), "ok", 7.0, None),
        (Run("out of time", code=None, output=b"cost 7\ndone\ncost 4"), "ok", 7.0, None),
        (Run("out of time", code=None), "out of time", None, "the pattern was not found"),
        (Run("out of time", code=None, output=b"done\ncost 400\n"), "out of time", None,
         "the reward 400 is not in [0, 100]"),
        (Run("failed", 0.5, code=1, output=b"cost 7\ndone\n"), "failed", None,
         "ended with code 1"),
        (Run("out of memory", 0.5, code=None, output=b"cost 7\ndone\n"), "out of memory", None, ""),
    ],
    ids=["killed", "by SIGTERM", "in its grace", "by itself", "in a line", "nothing", "beyond",
         "before its limit", "memory"],
)  # fmt: skip
def test_a_run_at_its_limit_is_judged_by_what_it_printed(run, outcome, reward, reason):
    at_limit = dataclasses.replace(RULE, at_limit=True)
    judged = judge_outcome(spec_of(at_limit), COMMAND, 1.0, run)
    assert (judged.outcome, judged.reward) == (outcome, reward)
    assert judged.reason == ("judged at its limit" if reason is None else reason)
    assert judged.seconds == (1.0 if run.seconds >= 1.0 or "time" in run.outcome else run.seconds)
    if outcome == "ok":
        assert judge_outcome(spec_of(RULE), COMMAND, 1.0, run).outcome == "out of time"


def test_progress_without_line_ends_is_read_beside_the_gap_in_the_output():
    half = 40
    first, last = b"cost 6\rdone\rcost 1".ljust(half, b"2"), b"3\rcost 9\r".rjust(half, b"7")
    output = first + b"\n... 900 bytes ...\n" + last
    assert judge_outcome(spec_of(RULE), COMMAND, 1.0, Run(output=output)).reward == 9
