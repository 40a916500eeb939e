import dataclasses

import numpy as np
import pytest

from keyhole.tune.charts import Survival, thin_survival
from tests.tune.trial_records import record


def test_without_censoring_it_is_the_share_of_runs():
    curve = Survival.from_runs([record("ok", seconds, 10.0) for seconds in (4.0, 1.0, 2.0, 2.0)])
    assert curve.seconds.tolist() == [1.0, 2.0, 4.0]
    assert curve.share.tolist() == [0.75, 0.25, 0.0]


def test_it_agrees_with_the_textbook():
    # Cox and Oakes (1984): weeks in remission of 21 patients given 6-MP, after Freireich et al.
    # (1963); a + is a censored time. The shares are those of Kaplan and Meier.
    ended = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    runs = [record("ok", float(week), 40.0) for week in ended]
    runs += [record("out of time", float(week), float(week)) for week in censored]
    curve = Survival.from_runs(runs)
    assert curve.seconds.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.share.round(4).tolist() == [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482]
    # Greenwood's standard error at 23 weeks is .1346 (Collett 2015, table 2.2).
    x = 1.959964 * 0.1346 / (0.4482 * -np.log(0.4482))
    assert curve.low[-1] == pytest.approx(0.4482 ** np.exp(x), abs=2e-4)
    assert curve.high[-1] == pytest.approx(0.4482 ** np.exp(-x), abs=2e-4)


def test_a_run_that_failed_never_succeeds():
    runs = [record("ok", 1.0, 10.0), record("failed", 0.5, 10.0), record("ok", 3.0, 10.0)]
    assert Survival.from_runs(runs).share == pytest.approx([2 / 3, 1 / 3])


def test_with_censored_runs_only_the_survival_is_1():
    curve = Survival.from_runs([record("out of time", 1.0, 1.0), record("out of time", 4.0, 4.0)])
    assert (len(curve.seconds), curve.last_limit) == (0, 4.0)


def test_a_curve_of_many_runs_is_drawn_with_few_steps():
    seconds = np.random.default_rng(3).exponential(0.1, 10_000)
    one = record("ok", 0.1, 1.0)
    runs = [dataclasses.replace(one, seconds=float(s)) for s in seconds if s < 1.0]
    curve = Survival.from_runs(runs)
    assert len(curve.seconds) == len(runs)
    thin = thin_survival(curve)
    assert len(thin.seconds) <= 500
    assert (thin.seconds[0], thin.seconds[-1]) == (curve.seconds[0], curve.seconds[-1])
