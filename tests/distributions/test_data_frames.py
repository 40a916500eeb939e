"""Data frames and their columns, where lists are taken."""

import numpy as np
import pyarrow as pa
import pytest

from keyhole import delayed, semibandit, stochastic, thresholding
from keyhole.distributions import Replay

LOG = {"arm": ["b", "a", "b"], "reward": [1.0, 0.25, 0.0], "delay": [3, 0, 1]}


def pandas_frame(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


FRAMES = pytest.mark.parametrize("frame", [pandas_frame, pa.table], ids=["pandas", "arrow"])


@FRAMES
def test_a_log_of_rewards_is_a_problem_whose_arms_come_as_they_first_appear(frame):
    log = frame(LOG)
    assert stochastic.Problem.replay(log).means.tolist() == [0.5, 0.25]
    assert thresholding.Problem.replay(log, threshold=0.4).means.tolist() == [0.5, 0.25]
    problem = delayed.Problem.replay(log, log)
    assert problem.means.tolist() == [0.5, 0.25]
    assert [pairs.numbers.tolist() for pairs in problem.distributions] == [[1, 0, 3, 1], [0.25, 0]]


@FRAMES
def test_a_frame_of_other_columns_is_refused_by_its_columns(frame):
    words = (
        r"^samples must be a list for each arm, or a data frame with the columns arm and reward "
        r"\(if it has a column for each arm, give dict\(frame\)\), got a data frame with the "
        r"columns variant, converted$"
    )
    with pytest.raises(ValueError, match=words):
        stochastic.Problem.replay(frame({"variant": [0, 1], "converted": [1, 0]}))


def test_a_frame_with_a_column_for_each_arm_is_taken_as_a_mapping():
    wide = pandas_frame({"a": [1, 0, 1, 1], "b": [0, 0, 0, 1]})
    assert stochastic.Problem.replay(dict(wide)).means.tolist() == [0.75, 0.25]
    with pytest.raises(ValueError, match=r"^samples\['b'\]\[1\] must lie in \[0, 1\], got 2"):
        stochastic.Problem.replay({"a": [1], "b": [0, 2]})


def test_delays_belong_to_the_arms_of_the_rewards():
    rewards, delays = {"a": [1, 0], "b": [0.5]}, {"b": [7], "a": [2, 3]}
    problem = delayed.Problem.replay(rewards, delays)
    assert [pairs.numbers.tolist() for pairs in problem.distributions] == [[1, 0, 2, 3], [0.5, 7]]
    with pytest.raises(ValueError, match="delays must have the arms of rewards, 'a', 'b'; got 'a'"):
        delayed.Problem.replay(rewards, {"a": [1, 2], "c": [3]})


@FRAMES
def test_a_column_is_a_list_of_numbers(frame):
    column = frame(LOG)["reward"]
    assert Replay(column).samples.tolist() == LOG["reward"]
    assert stochastic.Problem(column).means.tolist() == LOG["reward"]
    with pytest.raises(TypeError, match=r"^samples\[0\] must be a number, got 'b'$"):
        Replay(frame(LOG)["arm"])


@FRAMES
def test_a_frame_where_one_list_is_wanted_is_refused_by_its_columns(frame):
    words = "must be a list of numbers, got a data frame with the columns arm, reward, delay$"
    with pytest.raises(TypeError, match=f"^samples {words}"):
        Replay(frame(LOG))
    with pytest.raises(TypeError, match=f"^means {words}"):
        stochastic.Problem(frame(LOG))


@FRAMES
def test_a_frame_of_days_has_a_column_for_each_arm(frame):
    days = frame({"north": [0, 1, 0, 1], "south": [1, 1, 0, 1]})
    problem = semibandit.Problem.replay(days, thresholds=0.5, resource=1)
    assert np.array_equal(problem.mean_losses, [0.5, 0.75])


def test_what_is_missing_is_no_number():
    with pytest.raises(ValueError, match=r"^samples\[1\] must be a finite number, got nan"):
        Replay(pandas_frame({"reward": [1.0, None]})["reward"])
    with pytest.raises(TypeError, match=r"^samples must be a list for each arm, got 3$"):
        stochastic.Problem.replay(3)
