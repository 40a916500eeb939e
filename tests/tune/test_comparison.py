from keyhole.tune import SavedTune, Spec
from keyhole.tune.comparison import compare_time, find_rival
from keyhole.tune.key_figures import key_figures_block
from keyhole.tune.summary import format_saving
from tests.tune.conftest import TABLE
from tests.tune.trial_records import record


def half_hang():
    """Return runs of one command of which half exit at once and the others never."""
    return [
        record("ok", 0.02, 1.0) if k % 2 else record("out of time", 1.0, 1.0) for k in range(200)
    ]


def test_the_time_saved_is_that_of_the_printed_means(spec, tmp_path):
    tune = SavedTune(tmp_path, spec, half_hang())
    best, saved = tune.best(), compare_time(tune)
    assert (best.arm, best.limit) == ("quick", 0.1)
    assert saved.seconds.value == best.full.seconds.value - best.seconds.value
    # Half of the runs are stopped at 0.1 s, not at 1 s.
    assert saved.seconds.low < 0.45 < saved.seconds.high
    assert saved.seconds.high - saved.seconds.low < 0.25
    assert saved.share.low < 0.45 / 0.51 < saved.share.high
    assert "less" in format_saving(tune)


def test_more_time_is_called_more(tmp_path):
    # At the full cut-off the quick command fails; the slow one succeeds, most often before .1 s.
    spec = Spec.from_table(TABLE | {"limits": [0.5, 1.0], "objective": {"cost_per_second": 0.01}})
    runs = [record("ok", 0.4, 0.5, "slow") for _ in range(40)]
    runs += [record("ok" if k % 2 else "failed", 0.01, 1.0) for k in range(40)]
    tune = SavedTune(tmp_path, spec, runs)
    best = tune.best()
    assert (best.arm, best.limit, best.full.arm) == ("slow", 0.5, "quick")
    assert compare_time(tune).seconds.value < 0.0
    assert format_saving(tune).endswith(" more")


def test_nothing_is_saved_at_the_full_cut_off(spec, tmp_path):
    runs = [record("ok", 0.5, 1.0, arm) for arm in ("quick", "slow") for _ in range(20)]
    tune = SavedTune(tmp_path, spec, runs)
    assert tune.best().limit == 1.0
    assert (compare_time(tune).seconds.value, compare_time(tune).share.value) == (0.0, 0.0)


def test_the_rival_of_two_equal_commands_is_the_other_one(spec, tmp_path):
    runs = [record("ok", 0.5 + 0.01 * (k % 9), 1.0, arm)
            for k in range(20) for arm in ("quick", "slow")]  # fmt: skip
    tune = SavedTune(tmp_path, spec, runs)
    best, rival = tune.best(), find_rival(tune)
    assert {best.arm, rival.arm} == {"quick", "slow"}
    assert (rival.limit, rival.runs) == (1.0, 20)
    assert 0.0 < rival.probability <= 1.0 - best.probability
    said = key_figures_block(tune).figures[-1]
    assert said.text.startswith(f"Is {rival.arm} with 1 s better? ")
    assert said.option == "--runs 160"


def test_a_single_pair_has_no_rival(tmp_path):
    spec = Spec.from_table(TABLE | {"arm": TABLE["arm"][:1], "limits": 1.0})
    tune = SavedTune(tmp_path, spec, [record("ok", 0.5, 1.0)])
    assert find_rival(tune) is None
    names = [figure.name for figure in key_figures_block(tune).figures]
    assert names == ["Time of a run", "Success", "Gain of a run", "Spent"]  # and nothing open
