"""Names of arms: which are taken, and how they are looked up."""

import enum
import math

import numpy as np
import pytest

from keyhole.contract.arm_names import (
    ArmNames,
    entry_names_for_errors,
    name_text,
    order_by_name,
    split_named_arms,
)


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


@pytest.mark.parametrize(
    "names",
    [
        ["red", "blue"],
        ("red", 2, 2.5, None, False, ("dark", 1), frozenset({1})),
        [10, 20],
        list(Colour),
        {"red": 1, "blue": 2}.keys(),
    ],
)
def test_names_are_any_hashable_values(names):
    found = ArmNames("arms", names)
    assert found.names == tuple(names)
    assert [found.find_number("arm", name) for name in names] == list(range(len(names)))
    assert found.find_numbers("arms", list(names)).tolist() == list(range(len(names)))


def test_an_enumeration_names_arms_by_its_members():
    assert ArmNames("arms", Colour).names == (Colour.RED, Colour.BLUE)
    assert name_text(Colour.RED) == "Colour.RED"


def test_scalars_of_numpy_become_plain_values():
    names = ArmNames("arms", np.array(["red", "blue"])).names
    assert names == ("red", "blue")
    assert {type(name) for name in names} == {str}
    assert [type(name) for name in ArmNames("arms", [np.int64(3), np.float64(0.5)])] == [int, float]


def test_equal_names_are_one_name():
    names = ArmNames("arms", [1, "1"])
    assert names.find_number("arm", True) == names.find_number("arm", 1.0) == 0
    assert names.find_number("arm", np.int64(1)) == 0
    assert names.find_number("arm", "1") == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("red", "arms must be a number, or a sequence of names, got 'red'"),
        ({"red", "blue"}, "arms must be a number, or a sequence of names, got"),
        ({"red": 1}, "arms must be a number, or a sequence of names, got {'red': 1}"),
        ([], "arms must have at least one entry, got none"),
        (["red", ["blue"]], r"arms\[1\] must be hashable, such as a text, got \['blue'\]"),
        (["red", "blue", "red"], "arms must differ, got 'red' twice"),
        ([1, True], "arms must differ, but 1 and True are equal"),
        ([1, 1.0], "arms must differ, but 1 and 1.0 are equal"),
        ([math.nan], r"arms\[0\] must be equal to itself, got nan"),
        (np.array(["NaT"], "datetime64[D]"), r"arms\[0\] must be equal to itself, got .*NaT"),
        (["red\n"], r"arms\[0\] must have no control characters"),
        (["red", ""], r"arms\[1\] must not be empty"),
    ],
)
def test_other_names_are_refused(names, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ArmNames("arms", names)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rde", r"arm must be one of red, 7; got 'rde' \(did you mean 'red'\?\)"),
        (8, "arm must be one of red, 7; got 8"),
        ([7], r"arm must be one of red, 7; got \[7\]"),
    ],
)
def test_unknown_names_are_refused(name, message):
    names = ArmNames("arms", ["red", 7])
    with pytest.raises(ValueError, match=f"^{message}$"):
        names.find_number("arm", name)
    with pytest.raises(ValueError, match=rf"^arms\[1\]{message.removeprefix('arm')}$"):
        names.find_numbers("arms", ["red", name])


def test_names_that_read_alike_are_told_apart():
    names = ArmNames("arms", [1, "1", None, "None", "red"])
    assert [names.text(arm) for arm in range(5)] == ["1", "'1'", "None", "'None'", "red"]
    with pytest.raises(ValueError, match=r"^arm must be one of 1, '1', None, 'None', red; got 2$"):
        names.find_number("arm", 2)


def test_texts_of_arms_differ_where_their_representations_do_not():
    names = ArmNames("arms", ["1", 1, "'1'", "'1' (number 0)"])
    texts = [names.text(arm) for arm in range(4)]
    assert texts[1] == "1"
    assert len(set(texts)) == 4
    long = [(0,) * 100 + (end,) for end in range(2)]
    first, second = map(ArmNames("arms", long).text, range(2))
    assert first.endswith("... (number 0)")
    assert second.endswith("... (number 1)")


def test_a_text_of_an_arm_is_one_printable_line():
    class Red:
        def __repr__(self):
            return "\x1b[31mred"

    class Lines(str):
        def __str__(self):
            return "two\nlines"

    assert name_text(Red()) == r"\x1b[31mred"
    assert name_text(Lines("one")) == "one"
    assert name_text((10**5000, 1)) == "a tuple that is too long to print"


def test_many_names_are_listed_in_part():
    with pytest.raises(ValueError, match=r"98, 99 and 900 more; got -1$"):
        ArmNames("arms", range(1000)).find_number("arm", -1)


def test_names_of_problems_differ_as_texts():
    with pytest.raises(ValueError, match="the names of arms of means must differ, got '1' twice"):
        split_named_arms("means", {1: 0.2, "1": 0.3})


def test_a_name_of_thousands_of_digits_is_shortened_in_errors():
    (field,) = entry_names_for_errors("means", {10**5000: 0.2})
    assert field == "means[a whole number of 5001 digits]"


def test_values_by_name_need_the_same_names():
    with pytest.raises(
        ValueError, match="thresholds must have a value of each arm, red, blue; got"
    ):
        order_by_name("thresholds", {"red": 0.5}, ("red", "blue"))
    values = {"red": 0.5}
    assert order_by_name("thresholds", values, None) is values
