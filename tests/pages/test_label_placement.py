from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.pages.line_chart_drawing import place_labels

SIZE, LENGTH, FARTHEST = 17.0, 300.0, 40.0
PLACES = st.lists(st.floats(0, LENGTH), max_size=40)


def place(wanted):
    return place_labels(wanted, size=SIZE, length=LENGTH, farthest=FARTHEST)


@settings(max_examples=40)
@given(PLACES)
def test_labels_lie_within_and_do_not_overlap(wanted):
    found = place(wanted)
    assert len(found) == len(wanted)
    shown = sorted(one for one in found if one is not None)
    assert all(SIZE / 2 <= one <= LENGTH - SIZE / 2 for one in shown)
    assert all(after - before >= SIZE - 1e-6 for before, after in pairwise(shown))


@settings(max_examples=40)
@given(PLACES)
def test_labels_are_near_their_lines_and_in_their_order(wanted):
    found = [(one, at) for one, at in zip(wanted, place(wanted), strict=True) if at is not None]
    assert all(abs(one - at) <= FARTHEST + 1e-6 for one, at in found)
    assert [at for _, at in sorted(found)] == sorted(at for _, at in found)


@settings(max_examples=40)
@given(PLACES.filter(bool))
def test_the_first_label_always_has_a_place(wanted):
    assert place(wanted)[0] is not None


def test_labels_that_fit_stay_where_they_belong():
    assert place([20, 100, 200]) == [20, 100, 200]


def test_the_first_labels_get_the_places_if_there_are_too_few():
    found = place([150.0] * 9)
    assert found[:5] == [116, 133, 150, 167, 184]
    assert found[5:] == [None] * 4


def test_a_label_at_the_edge_moves_inwards():
    assert place([0.0, 300.0]) == [8.5, 291.5]
