import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from keyhole import Curves, Metric
from keyhole.results.estimate import Tail


@pytest.fixture
def curves():
    draw = np.random.default_rng(0)
    values = {"A": draw.normal(size=(2, 2, 50)), "B": draw.normal(0.5, size=(2, 2, 50))}
    return Curves([10, 20], ["regret", "error"], values)


def test_mean_and_standard_error_are_those_of_the_replications(curves):
    values = curves.values("B", "error")
    assert values.shape == (2, 50)
    np.testing.assert_allclose(curves.mean("B", "error"), values.mean(axis=1))
    np.testing.assert_allclose(curves.std_error("B", "error"), stats.sem(values, axis=1))


def test_paired_is_the_paired_t_test(curves):
    a, b = (curves.values(label, "regret")[1] for label in "AB")
    expected = stats.ttest_rel(a, b)
    found = curves.paired("A", "B", metric="regret", round=20)
    interval = expected.confidence_interval(0.95)
    assert found.difference == pytest.approx((a - b).mean())
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.replications == 50


def test_a_declared_share_has_the_exact_interval():
    values = {"A": np.array([[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])}
    errors = Metric("errors", drawn="share", per_arm=True)
    curves = Curves([10], [Metric("wrong", drawn="share"), "regret", errors.of(7)], values)
    assert curves.estimates("A", "wrong")[0].high == pytest.approx(1 - 0.025**0.25)
    assert curves.estimates("A", "regret")[0].high == 0.0
    assert curves.estimates("A", "errors[7]")[0].count == 1


def test_printed_they_show_the_means_at_the_last_checkpoint():
    values = {
        "A": np.array([[[0.0, 1.0, 2.0, 1.0]], [[1.0, 2.0, 3.0, 2.0]]]),
        "Longer": np.array([[[0.0, 0.0, 0.0, 0.0]], [[7.0, 7.0, 7.0, 7.0]]]),
    }
    curves = Curves([10, 2000], ["regret"], values)
    caption, *lines = str(curves).splitlines()
    assert caption.startswith("After 2,000 rounds: mean over 4 replications ± half of its 95 %")
    mean = curves.estimates("A", "regret")[-1].plus_minus()
    assert lines == ["policy  regret", f"A       {mean}", "Longer  7 in every run"]
    assert repr(curves) == str(curves)
    assert '<img alt="regret over the rounds 10 to 2,000. At the end' in curves._repr_html_()


def test_one_replication_has_an_infinite_error():
    curves = Curves([10], ["regret"], {"A": np.array([[[3.0]]])})
    assert repr(curves).endswith("\npolicy  regret\nA       3 ± n/a")
    assert curves.std_error("A", "regret").tolist() == [np.inf]
    assert curves.estimates("A", "regret")[0].low == -np.inf


def test_the_table_has_a_row_for_each_policy_metric_and_checkpoint(curves):
    frame = curves.to_pandas()
    assert list(frame.columns) == ["policy", "round", "metric", "mean", "std_error", "replications"]
    assert len(frame) == 2 * 2 * 2
    row = frame[(frame["policy"] == "A") & (frame["metric"] == "error") & (frame["round"] == 20)]
    assert row["mean"].item() == curves.mean("A", "error")[1]
    assert curves.to_arrow().num_rows == 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.mean("C", "regret"), "policy must be one of A, B; got 'C'"),
        (lambda c: c.mean(0, "regret"), "policy must be one of A, B; got 0"),
        (lambda c: c.mean("A", "regrets"), r"metric must be .* \(did you mean 'regret'\?\)"),
        (
            lambda c: c.paired("A", "B", metric="regret", round=15),
            "round must be one of the checkpoints 10, 20, got 15",
        ),
        (lambda c: c.plot("nothing"), "metric must be one of regret, error; got 'nothing'"),
    ],
)
def test_what_is_not_there_is_named(curves, call, message):
    with pytest.raises(ValueError, match=message):
        call(curves)


def test_a_policy_is_found_by_its_name_where_that_is_clear():
    values = {
        label: np.full((1, 1, 2), i) for i, label in enumerate(["A(x=1)", "A(x=2)", "B(y=3)"])
    }
    curves = Curves([10], ["regret"], values)
    assert curves.mean("B", "regret")[0] == curves.mean("B(y=3)", "regret")[0] == 2
    with pytest.raises(ValueError, match=r"policy must be one of A\(x=1\), A\(x=2\)"):
        curves.mean("A", "regret")


def test_settings_are_imported_on_first_use():
    code = (
        "import keyhole as kh, sys\n"
        "assert 'keyhole.thresholding' not in sys.modules\n"
        "assert 'thresholding' in dir(kh)\n"
        "print(kh.thresholding.LSA())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "LSA(alpha=1.35)\n"


def test_bad_runs_are_those_of_the_worse_end():
    runs = np.random.default_rng(1).permutation(20.0 + np.arange(20))
    values = {"A": np.stack([np.zeros((2, 20)), np.stack([runs, runs])])}
    curves = Curves([5, 10], [Metric("cost"), Metric("gain", better="higher")], values)
    # The last checkpoint counts; of 20 runs two are beyond the quantile or on it.
    assert curves.tail("A", "cost") == Tail(38.0, 39.0)
    assert curves.tail("A", "gain") == Tail(21.0, 20.0)
    assert str(Tail(1234.5, 0.00123456)) == "1,234, 0.001235"
