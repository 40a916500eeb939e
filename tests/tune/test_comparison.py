from keyhole.tune import SavedTune, Spec
from keyhole.tune.summary import more_runs_note, summarize
from tests.tune.conftest import TABLE
from tests.tune.trial_records import record


def test_the_table_compares_with_the_full_cut_off(spec, tmp_path):
    # Half of the runs exit at once, and the others never.
    runs = [
        record("ok", 0.02, 1.0) if k % 2 else record("out of time", 1.0, 1.0) for k in range(200)
    ]
    tune = SavedTune(tmp_path, spec, runs)
    best, (head, rows) = tune.best(), summarize(tune).table
    assert (best.arm, best.limit) == ("quick", 0.1)
    assert head == ["", "limit", "gain", "gain over full cut-off", "success", "time", "runs"]
    assert [row[:4] for row in rows] == [
        ["recommended", "0.1 s", str(best.gain), str(best.gain_over_full)],
        ["quick, full cut-off", "1 s", str(best.full.gain), ""],
    ]
    assert [row[-2:] for row in rows] == [
        [f"{best.seconds} s", "200"], [f"{best.full.seconds} s", "200"]
    ]  # fmt: skip


def test_the_command_at_the_full_cut_off_may_be_another_one(tmp_path):
    # At the full cut-off the quick command fails; the slow one succeeds, most often before .1 s.
    spec = Spec.from_table(TABLE | {"limits": [0.5, 1.0], "objective": {"cost_per_second": 0.01}})
    runs = [record("ok", 0.4, 0.5, "slow") for _ in range(40)]
    runs += [record("ok" if k % 2 else "failed", 0.01, 1.0) for k in range(40)]
    tune = SavedTune(tmp_path, spec, runs)
    assert (tune.best().arm, tune.best().limit, tune.best().full.arm) == ("slow", 0.5, "quick")
    assert [row[0] for row in summarize(tune).table[1]] == ["recommended", "quick, full cut-off"]


def test_the_full_cut_off_is_compared_with_itself_by_one_row(spec, tmp_path):
    runs = [record("ok", 0.5, 1.0, arm) for arm in ("quick", "slow") for _ in range(20)]
    summary = summarize(SavedTune(tmp_path, spec, runs))
    assert summary.estimate.limit == 1.0
    assert [row[:2] for row in summary.table[1]] == [["recommended", "1 s"]]
    assert summary.reference == "recommended"


def test_how_many_runs_halve_what_may_be_missed_is_said_while_it_matters(spec, tmp_path):
    runs = [record("ok", 0.5 + 0.01 * (k % 9), 1.0, arm)
            for k in range(20) for arm in ("quick", "slow")]  # fmt: skip
    tune = SavedTune(tmp_path, spec, runs)
    assert more_runs_note(tune).startswith("--runs 160, about ")
    assert more_runs_note(tune) in summarize(tune).sentences
    single = Spec.from_table(TABLE | {"arm": TABLE["arm"][:1], "limits": 1.0})
    assert more_runs_note(SavedTune(tmp_path, single, [record("ok", 0.5, 1.0)])) == ""
