from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError

from keyhole.spec_values import (
    error_message,
    file_path,
    list_of,
    plain_value,
    tagged_union_reader,
    tagged_value_reader,
)
from keyhole.validation import Range, check_number


class Line:
    def __init__(self, slope, start=0.0):
        self.slope = check_number("slope", slope, Range(ge=0))
        self.start = start


def around():
    return "around"


def given(sequence):
    return sequence


LINES, ORDER = list_of(tagged_union_reader(Line)), tagged_value_reader(around, given)


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (tagged_union_reader(Line), 3, "x must be a table with the entry 'distribution', got 3"),
        (tagged_union_reader(Line), {"slope": 1}, "x.distribution must be given: one of Line"),
        (tagged_union_reader(Line), {"distribution": "Line"}, "x.slope must be given for Line"),
        (
            tagged_union_reader(Line),
            {"distribution": "Line", "slope": -1},
            "x.slope must be at least 0, got -1",
        ),
        (
            tagged_union_reader(Line),
            {"distribution": "Line", "slop": 1},
            "x: each parameter of Line must be one of slop",
        ),
        (LINES, {}, "x must be a list of tables, got {}"),
        (
            LINES,
            [{"distribution": "Line", "slope": 1}, 2],
            r"x\[1\] must be a table with the entry 'distribution'",
        ),
        (ORDER, "aruond", r"x must be one of around; got 'aruond' \(did you mean 'around'\?\)"),
        (ORDER, "given", "x must be one of around; got 'given'"),
        (ORDER, {"around": 1}, "x must be one of given; got 'around'"),
        (ORDER, 3, "x must be a name, or one name with its value, got 3"),
        (file_path, "", "x must be the name of a file, got ''"),
        (
            lambda field, value, folder: plain_value(field, value),
            {"a": [None]},
            r"x.a\[0\] must be a te",
        ),
    ],
)
def test_errors_begin_with_the_field(read, value, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        read("x", value, Path())


def test_values_are_made_by_name():
    assert [line.slope for line in LINES("x", [{"distribution": "Line", "slope": 2}], Path())] == [
        2.0
    ]
    assert ORDER("x", "around", Path()) == "around"
    assert ORDER("x", {"given": [3, 1]}, Path()) == [3, 1]
    assert file_path("x", "a.csv", Path("folder")) == Path("folder/a.csv")


class Inner(BaseModel, extra="forbid"):
    count: int = Field(ge=1)


class Table(BaseModel, extra="forbid"):
    inner: Inner | list[int]
    names: list[str] = []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "inner must be given"),
        ({"inner": {"count": 0}}, "inner.count must be greater than or equal to 1, got 0"),
        (
            {"inner": {"count": 1, "cuont": 1}},
            "inner.cuont is not known; known are count (did you ",
        ),
        ({"inner": 3}, "inner must be a list or a table, got 3"),
        ({"inner": [1], "names": [2]}, "names[0] must be a text, got 2"),
        ({"inner": [1], "more": 2}, "more is not known and must be left out"),
    ],
)
def test_what_pydantic_finds_is_said_in_our_words(table, message):
    with pytest.raises(ValidationError) as caught:
        Table(**table)
    found = error_message(caught.value, {"inner": Inner}, {"inner": "be a list or a table"})
    assert found.startswith(message)
