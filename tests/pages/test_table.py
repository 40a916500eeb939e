import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole import Curves, Metric
from keyhole.pages.page import Table, keep_intervals_together
from keyhole.results.estimate import Estimate, paired_difference, share_estimate
from tests.html import check_table, parse

SPACE = "\N{NO-BREAK SPACE}"


def shown(thing):
    (table,) = parse(thing._repr_html_()).all("table")
    check_table(table)
    return table


def test_curves_show_their_last_means_in_a_notebook():
    metrics = [Metric("regret"), Metric("wrong", drawn="share"), Metric("pulls", detail=True)]
    values = {"A <1>": np.array([[[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [7.0, 7.0, 7.0]]])}
    curves = Curves([100], metrics, values)
    table = shown(curves)
    assert table.all("caption")[0].words().startswith("After 100 rounds: mean over 3 replications")
    assert [one.words() for one in table.all("th")] == ["policy", "regret", "wrong", "A <1>"]
    cells = [one.text.replace(SPACE, " ") for one in table.all("td")]
    assert cells == [
        curves.estimates("A <1>", name)[0].plus_minus() for name in ("regret", "wrong")
    ]


def test_details_are_shown_where_there_is_nothing_else():
    curves = Curves([1], [Metric("pulls", detail=True)], {"A": np.ones((1, 1, 2))})
    assert "pulls" in shown(curves).words()


def test_a_paired_difference_shows_itself_in_a_notebook():
    gap = paired_difference(np.array([3.0, 4.0, 6.0]), np.array([1.0, 1.5, 2.0]))
    head, body = shown(gap).all("thead")[0], shown(gap).all("tbody")[0]
    assert "p of the two-sided t-test" in head.words()
    assert body.text.split("\n")[1].replace(SPACE, " ") == f"{gap}3"


def test_whatever_a_table_is_given_is_text():
    (table,) = parse(Table("a < b", ["<i>"], [["&amp;"], ["<script>"]]).html()).all("table")
    assert table.words() == "a < b <i> &amp; <script>"


NUMBERS = st.floats(-1e6, 1e6)


@given(NUMBERS, st.floats(1e-6, 1e6), st.integers(2, 1000))
def test_no_line_parts_a_number_from_its_interval_and_its_digits_follow_it(value, error, runs):
    number = Estimate(value, error, runs)
    for text in (str(number), number.plus_minus()):
        if "every run" not in text:
            assert " " not in keep_intervals_together(text)
            assert " " not in keep_intervals_together(f"ln {text}")
    one, low, high = str(number).replace("[", "").replace("]", "").replace(", ", " ").split(" ")
    decimals = {len(part.partition(".")[2]) for part in (one, low, high)}
    assert len(decimals) == 1
    fine = 10.0 ** -decimals.pop()
    assert abs(float(one.replace(",", "")) - value) <= max(fine, number.half_width / 10)
    # Two digits of half of the interval, and no more.
    assert fine <= number.half_width / 9 or fine == 1.0
    assert fine >= number.half_width / 1000 or fine == 1.0


@given(st.integers(0, 50), st.integers(1, 50))
def test_the_interval_of_a_share_stays_with_it(count, more):
    share = share_estimate(np.arange(count + more) < count)
    assert " " not in keep_intervals_together(str(share))


def test_a_name_hides_no_characters_in_html():
    table = Table("a\u202eb", ["", ""], [["c\u200bd", "e\nf"]])
    text = table.html()
    assert r"a\u202eb" in text
    assert r"c\u200bd" in text
    assert "e\nf" in text
