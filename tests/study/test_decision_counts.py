import sqlite3
from contextlib import closing

import matplotlib as mpl
import pytest

from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.study.arm_means import arm_means
from keyhole.study.study_summary import arm_table_cells

mpl.use("agg")


@pytest.fixture
def study(tmp_path):
    with Study.create(
        tmp_path / "s.db", "s", UCB1(), ["a", "b"], timeout_decisions=3, on_timeout="ask_again",
        scale=(0, 10),
    ) as found:  # fmt: skip
        yield found


def counted(study):
    counts = study._replica.query_counts(lambda counts: counts)
    state = study._replica.query_state(lambda now: (now.rounds, now.feedback_count, now.seq))
    assert (len(counts.asked_arms), counts.feedback_count, counts.seq) == state
    assert list(counts.pending) == [decision.id for decision in study.pending]
    assert counts.arms.names_in_use == study.arms
    return counts


@pytest.mark.interpreted
def test_counts_follow_the_log(study):
    assert arm_table_cells(counted(study), 9)[1] == [["a", "0", "0"], ["b", "0", "0"]]
    first = study.ask()
    for reward in (10, 4):
        study.tell(study.ask(), reward)
    counts = counted(study)
    assert len(counts.pending) == 1
    study.expire(first)
    assert len(counted(study).pending) == 1  # to be asked for again
    assert counted(study).expiry_count == 1
    again = study.ask()
    assert again.id == first.id
    study.tell(again, 6)
    study.add_arm("c")
    late = study.ask()
    study.expire(late)
    study.retire(late.arm)  # nobody will be asked for it again
    assert not counted(study).pending
    study.tell(late, 8)
    assert counted(study) is counts
    assert arm_table_cells(counts, 9)[0] == ["arm", "decisions", "told", "mean reward"]
    means = [by_word["reward"] for by_word in arm_means(counts).values() if by_word]
    assert sum(mean.told * mean.mean for mean in means) == pytest.approx(28)
    study.change_policy(UCB1())
    assert counted(study).policy == UCB1()


@pytest.mark.interpreted
def test_the_plot_counts_decisions_and_means_by_arm(study):
    for reward in (10, 2, 5, 5):
        study.tell(study.ask(), reward)
    lines = {line.get_label(): line for line in study.plot().lines}
    assert sorted(lines) == ["a", "b"]
    assert sum(line.get_ydata()[-1] for line in lines.values()) == 4
    axes = study.plot("mean")
    assert axes.get_ylabel() == "mean reward"
    counts = {name: means["reward"].mean for name, means in study.means().items()}
    assert {n.get_label(): n.get_ydata()[-1] for n in axes.lines} == pytest.approx(counts)
    ends = {name: means["reward"].interval for name, means in study.means().items()}
    drawn = [band.get_paths()[0].vertices[:, 1].tolist() for band in axes.collections]
    assert len(drawn) == 2
    assert all(any(set(interval) <= set(band) for band in drawn) for interval in ends.values())
    with pytest.raises(ValueError, match=r"^shows must be one of decisions, mean; got 'share'"):
        study.plot("share")


@pytest.mark.interpreted
def test_the_eight_arms_with_the_most_decisions_are_drawn(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), [f"${i}" for i in range(20)]) as study:
        study.plot()  # nothing to draw yet
        for _ in range(20):
            study.ask()
        names = [text.get_text() for text in study.plot().get_legend().get_texts()]
        assert names == [f"${i}" for i in range(8)]
        assert "... and 8 more" in str(study)


def test_the_chart_of_means_fits_them_and_tells_arms_apart(tmp_path):
    names = ["Bundle", "New In", "Members", "Summer", "Free", "Welcome", "Gift", "Again"]
    with Study.create(tmp_path / "s.db", "s", UCB1(), names) as study:
        for number in range(640):
            study.tell(study.ask(), number % 20 == 0)
        axes = study.plot("mean")
        low, high = axes.get_ylim()
        means = [by_name["reward"].mean for by_name in study.means().values()]
        assert low < min(means) <= max(means) < high < 0.4
        ends = [by_name["reward"].interval for by_name in study.means().values()]
        narrowest = min(ends, key=lambda interval: interval[1] - interval[0])
        assert low < narrowest[0] < narrowest[1] < high
        looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
        assert len(looks) == len({line.get_marker() for line in axes.lines}) == len(names)
        assert len({line.get_color() for line in axes.lines}) == 7


@pytest.mark.interpreted
def test_decisions_about_all_arms_at_once_are_not_plotted(tmp_path):
    with Study.create(tmp_path / "s.db", "s", CSBDT(), ["a", "b"], resource=1.0) as study:
        study.ask()
        with pytest.raises(TypeError, match="has no plot: its decisions are not about one arm"):
            study.plot()
        assert "  decisions: 1\n" in str(study)


@pytest.mark.interpreted
def test_a_summary_reads_the_log_alone(study, tmp_path, monkeypatch):
    study.ask()
    with Study.open(tmp_path / "s.db", "s") as other:
        for name in ("_load_snapshot", "_rebuild"):
            monkeypatch.setattr(type(other._replica), name, None)
        assert "  decisions: 1\n" in str(other)
        assert "  recommended: not computed yet; recommend() does it\n" in str(other)
        monkeypatch.setattr("keyhole.study.study_summary.MOST_EVENTS", 0)
        other._replica._counts = None
        assert str(other).endswith("too many events to count here; means() counts them")
        other.plot()
        assert "  decisions: 1\n" in str(other)


@pytest.mark.interpreted
def test_a_study_that_cannot_be_read_says_why_in_a_line(study, tmp_path):
    study.tell(study.ask(), 1)
    with closing(sqlite3.connect(tmp_path / "s.db")) as other:
        other.execute("UPDATE event SET body = x'00' WHERE seq = 2")
        other.commit()
        assert "event 2 of study &#x27;s&#x27; in" in study._repr_html_()
        assert "event 2 of study 's' in" in str(study)
        other.execute("PRAGMA user_version = 99")
        assert str(study).endswith("this Keyhole knows 5: use the newer one")
    assert "\n" not in str(study) + study._repr_html_()
