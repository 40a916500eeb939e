import math

import numpy as np
import pyarrow as pa
import pytest

from keyhole.validation import (
    Range,
    check_choice,
    check_integer,
    check_line,
    check_names,
    check_number,
    check_sequence,
    check_unit_interval,
    check_vector,
    escape_controls,
    explain_memory_errors,
    short_repr,
    suggestion,
)


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (Range(ge=0, le=1), "lie in [0, 1]"),
        (Range(gt=0, lt=1), "lie in (0, 1)"),
        (Range(gt=0), "be above 0"),
        (Range(le=3), "be at most 3"),
        (Range(lt=3), "be below 3"),
        (Range(), "be a finite number"),
    ],
)
def test_a_range_says_what_it_allows(allowed, words):
    assert str(allowed) == words


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match=r"x must be a finite number, got (nan|inf|-inf)"):
        check_number("x", value)


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="x must be a number, got"):
        check_number("x", value)


@pytest.mark.parametrize("value", [1.0, True, "1", np.float64(2)])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match="x must be a whole number, got"):
        check_integer("x", value)


def test_numpy_numbers_are_numbers():
    assert check_integer("x", np.int32(3)) == 3
    assert check_number("x", np.float32(0.5)) == 0.5


def test_a_vector_may_mix_whole_numbers_with_others():
    found = check_vector("x", [1, 0.5, 2**60 + 1])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 0.5, float(2**60 + 1)]


def test_a_vector_names_the_entry_that_is_wrong():
    with pytest.raises(ValueError, match=r"x\[2\] must lie in \[0, 1\], got 7"):
        check_vector("x", [0, 1, 7], Range(ge=0, le=1))
    with pytest.raises(ValueError, match=r"x\[1\] must be a finite number, got nan"):
        check_vector("x", [0.5, math.nan])
    with pytest.raises(ValueError, match=r"x\[1\] must be a finite number, got a whole number of"):
        check_vector("x", [1, 10**400])
    with pytest.raises(TypeError, match=r"x\[1\] must be a number, got True"):
        check_vector("x", [0.5, True])
    with pytest.raises(ValueError, match="x must have at least one entry, got none"):
        check_vector("x", [])
    with pytest.raises(TypeError, match="x must be a list of numbers, got '12'"):
        check_vector("x", "12")


def test_a_wrong_word_is_answered_with_the_nearest():
    with pytest.raises(
        ValueError, match=r"colour must be one of red, blue; got 'bleu' \(did you mean 'blue'\?\)"
    ):
        check_choice("colour", "bleu", ["red", "blue"])
    with pytest.raises(ValueError, match=r"got 'x'$"):
        check_choice("colour", "x", ["red", "blue"])


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), 10**5000], ids=["many", "many below 0", "too many to print"]
)
def test_a_whole_number_beyond_all_floats_is_refused_and_not_printed(value):
    with pytest.raises(ValueError, match=r"x must be a finite number, got a whole number of \d+ d"):
        check_number("x", value)
    with pytest.raises(ValueError, match=r"x must lie in .*got a whole number of \d+ digits"):
        check_integer("x", value)
    with pytest.raises(ValueError, match=r"x must lie in \[0, 1\], got a whole number of"):
        check_number("x", value, Range(ge=0, le=1))
    with pytest.raises(ValueError, match="x must be one of a; got a whole number of"):
        check_choice("x", value, ["a"])


def test_a_large_power_of_two_is_written_as_one():
    with pytest.raises(
        ValueError, match=r"seed must lie in \[0, 2\*\*63\), got 9223372036854775808"
    ):
        check_integer("seed", 2**63, Range(ge=0, lt=2**63))


def test_long_values_are_cut():
    with pytest.raises(TypeError) as refused:
        check_number("x", "a" * 10_000)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("text", ["a\nb", "\x00", "\x1b[31m", "\x7f", "\ud800", "\u2028", "\ufffe"])
def test_control_characters_are_refused(text):
    with pytest.raises(ValueError, match="title must have no control characters or line ends"):
        check_line("title", text)


@pytest.mark.parametrize(
    "text", ["a b", "\u00e9\u00a0!", "\u0639\u200c\u0631", "\U0001f469\u200d\U0001f52c", "$x$"]
)
def test_every_script_may_be_written(text):
    assert check_line("title", text) == text


def test_what_does_not_fit_into_memory_is_named():
    with (
        pytest.raises(ValueError, match="arms = 9 must fit into memory: "),
        explain_memory_errors("arms = 9"),
    ):
        raise MemoryError


@pytest.mark.parametrize(
    ("given", "found"), [(True, 1.0), (np.False_, 0.0), (0.25, 0.25), (1, 1.0)]
)
def test_a_reward_may_be_a_yes_or_no(given, found):
    assert check_unit_interval("reward", given) == found


@pytest.mark.parametrize("given", [1.5, -0.1, math.nan, "1", None])
def test_other_rewards_are_refused(given):
    with pytest.raises((TypeError, ValueError), match="reward must"):
        check_unit_interval("reward", given)


def test_of_thousands_of_words_the_first_are_listed_and_the_nearest():
    words = [f"item {i}" for i in range(3000)]
    with pytest.raises(ValueError, match="item 7 and 2,992 more; got 'itm 2999'") as raised:
        check_choice("name", "itm 2999", words)
    assert "(did you mean 'item 2999'?)" in str(raised.value)
    assert len(str(raised.value)) < 200


FRAME = pa.table({"arm": ["x", "y"], "day": [1, 2]})


@pytest.mark.parametrize(
    "values",
    [
        ["x", "y"],
        ("x", "y"),
        np.array(["x", "y"]),
        {"x": 1, "y": 2}.keys(),
        FRAME["arm"],
        pa.array(["x", "y"]),
    ],
)
def test_entries_are_those_of_what_has_an_order(values):
    assert check_sequence("arms", values) == ["x", "y"]
    assert check_sequence("arms", (value for value in check_sequence("arms", values))) == ["x", "y"]


def test_entries_may_be_a_column_of_a_data_frame():
    frame = pytest.importorskip("pandas").DataFrame({"arm": ["x", "y"], "day": [1, 2]})
    assert (
        check_sequence("arms", frame["arm"])
        == check_sequence("arms", frame["arm"].unique())
        == ["x", "y"]
    )
    with pytest.raises(
        TypeError, match=r"df.'arm'., say, got a data frame with the columns arm, d"
    ):
        check_sequence("arms", frame)


@pytest.mark.parametrize(
    "values", ["xy", b"xy", 3, None, {"x": 1}, {"x"}, frozenset("x"), np.array("x"), np.eye(2)]
)
def test_what_has_no_entries_or_no_order_is_refused_in_a_line(values):
    with pytest.raises(TypeError, match=r"^arms must be a sequence of names, got .*$"):
        check_sequence("arms", values)


def test_a_data_frame_is_refused_with_what_to_pass_instead():
    message = (
        "arms must be a sequence of names; for a column of a data frame pass df['arm'], say, "
        "got a data frame with the columns arm, day"
    )
    with pytest.raises(TypeError) as raised:
        check_sequence("arms", FRAME)
    assert str(raised.value) == message


def test_a_value_is_shown_on_a_line():
    assert short_repr(np.eye(2)) == "array([[1., 0.],        [0., 1.]])"
    assert short_repr("a\nb") == r"'a\nb'"
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert short_repr({family: "a\u200db"}) == rf"{{'{family}': 'a\u200db'}}"
    assert short_repr(r"\u200d") == r"'\\u200d'"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", r"a\u202eb"),  # a mark of direction
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("a\x9b\u2028", r"a\x9b\u2028"),
        ("a\u3164", r"a\u3164"),  # a letter without a shape
        ("ab\u200dc", r"ab\u200dc"),
        ("中\u200d国", r"中\u200d国"),
        ("\u0645\u200c", "\u0645" + r"\u200c"),
    ],
)
def test_what_cannot_be_seen_is_escaped(text, shown):
    assert escape_controls(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648",
        "क्\u200dष",
        "👨\u200d👩\u200d👧",
        "👩🏽\u200d🚀",
        "❤\ufe0f\u200d🔥",
        "日本\u3000語",
    ],
)
def test_joiners_stay_where_writing_needs_them(text):
    assert escape_controls(text) == text


@pytest.mark.parametrize(
    ("typed", "words", "meant"),
    [
        ("lsa", ["APT", "LSA"], "'LSA'"),
        ("lsa", ["LSA(alpha=1.35)", "RoundRobin()"], "'LSA(alpha=1.35)'"),
        (
            "regret",
            ["aggregate_regret", "simple_regret"],
            "'aggregate_regret' or 'simple_regret'",
        ),
        ("regret", ["regret", "simple_regret"], "'regret'"),
        ("1", ["LSA(alpha=1)"], ""),
    ],
)
def test_a_suggestion_ignores_case_and_knows_parts_of_names(typed, words, meant):
    assert suggestion(typed, words) == (meant and f" (did you mean {meant}?)")


def test_visible_differences_are_not_warned_of():
    check_names("arms", ["red", "r ed", "caf\xe9", "cafe", "m2", "m\xb2", ""])
