import pytest

from keyhole import Metric


def test_a_metric_is_called_by_its_words_and_unit():
    assert Metric("wrong_best").title == "wrong best"
    assert Metric("search", "length of the search", unit="rounds").title == (
        "length of the search (rounds)"
    )


def test_of_lower_and_higher_one_is_best():
    assert Metric("regret").best == "lowest"
    assert Metric("reward", better="higher").best == "highest"


def test_a_metric_of_each_arm_keeps_what_is_known_of_it():
    errors = Metric("errors", "chance of an error", drawn="share", per_arm=True, detail=True)
    assert errors.of(3) == Metric(
        "errors[3]", "chance of an error, arm 3", drawn="share", detail=True
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"better": "highest"}, r"better of x must be one of lower, higher; got 'highest' \(did"),
        ({"drawn": "log"}, r"drawn of x must be one of mean, from 0, share, ln\(mean / arms\)"),
    ],
)
def test_what_is_not_allowed_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Metric("x", **values)


def test_a_metric_needs_a_name():
    with pytest.raises(TypeError, match="name must be a text, got 3"):
        Metric(3)
