from keyhole.tune import SavedTune, Spec
from keyhole.tune.summary import (
    find_rival,
    format_open_question,
    format_recommendation,
    pair_table,
    time_over_full,
)
from tests.tune.conftest import TABLE
from tests.tune.trial_records import record


def half_hang():
    """Return runs of one command of which half exit at once and the others never."""
    return [
        record("ok", 0.02, 1.0) if k % 2 else record("out of time", 1.0, 1.0) for k in range(200)
    ]


def cells_of(tune):
    """Return the cells of the table of estimates by row and column."""
    head, rows = pair_table(tune)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_time_saved_is_that_of_the_printed_means(spec, tmp_path):
    tune = SavedTune(tmp_path, spec, half_hang())
    best, more = tune.best(), time_over_full(tune)
    assert (best.arm, best.limit) == ("quick", 0.1)
    assert more.value == best.seconds.value - best.full.seconds.value
    # Half of the runs are stopped at 0.1 s, not at 1 s.
    assert more.low < -0.45 < more.high
    assert more.high - more.low < 0.25
    cells = cells_of(tune)
    assert cells["time"] == {
        "0.1 s": f"{best.seconds} s", "1 s": f"{best.full.seconds} s", "difference": f"{more} s"
    }  # fmt: skip
    assert cells["gain"]["difference"] == str(best.gain_over_full)
    assert cells["runs"] == {"0.1 s": "200", "1 s": "200", "difference": ""}


def test_more_time_is_a_positive_difference(tmp_path):
    # At the full cut-off the quick command fails; the slow one succeeds, most often before .1 s.
    spec = Spec.from_table(TABLE | {"limits": [0.5, 1.0], "objective": {"cost_per_second": 0.01}})
    runs = [record("ok", 0.4, 0.5, "slow") for _ in range(40)]
    runs += [record("ok" if k % 2 else "failed", 0.01, 1.0) for k in range(40)]
    tune = SavedTune(tmp_path, spec, runs)
    best = tune.best()
    assert (best.arm, best.limit, best.full.arm) == ("slow", 0.5, "quick")
    assert time_over_full(tune).value > 0.0
    assert list(cells_of(tune)["time"]) == ["0.5 s", "quick with 1 s", "difference"]


def test_nothing_is_saved_at_the_full_cut_off(spec, tmp_path):
    runs = [record("ok", 0.5, 1.0, arm) for arm in ("quick", "slow") for _ in range(20)]
    tune = SavedTune(tmp_path, spec, runs)
    assert tune.best().limit == 1.0
    assert time_over_full(tune).value == 0.0
    assert list(cells_of(tune)["gain"]) == ["1 s"]


def test_the_rival_of_two_equal_commands_is_the_other_one(spec, tmp_path):
    runs = [record("ok", 0.5 + 0.01 * (k % 9), 1.0, arm)
            for k in range(20) for arm in ("quick", "slow")]  # fmt: skip
    tune = SavedTune(tmp_path, spec, runs)
    best, (rival, probability) = tune.best(), find_rival(tune)
    assert {best.arm, rival.arm} == {"quick", "slow"}
    assert (rival.limit, rival.runs) == (1.0, 20)
    assert 0.0 < probability <= 1.0 - best.probability
    question = format_open_question(tune)
    assert question.startswith(f"open: is {rival.arm} with 1 s better? ")
    assert "; --runs 160, about " in question
    assert question in format_recommendation(tune)


def test_a_single_pair_has_no_rival(tmp_path):
    spec = Spec.from_table(TABLE | {"arm": TABLE["arm"][:1], "limits": 1.0})
    tune = SavedTune(tmp_path, spec, [record("ok", 0.5, 1.0)])
    assert find_rival(tune) is None
    assert format_open_question(tune) == ""
    assert [list(row) for row in cells_of(tune).values()] == 4 * [["1 s"]]
