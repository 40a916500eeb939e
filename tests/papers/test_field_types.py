from types import SimpleNamespace
from typing import Annotated, get_args

import pytest
from pydantic import BaseModel, Field

from keyhole.papers.claims import KINDS, Finding
from keyhole.papers.claims.claim import make_claim_class
from keyhole.papers.claims.kinds import find_claim_class
from keyhole.papers.entry import ParameterFigure
from keyhole.papers.field_types import (
    Checkpoint,
    PolicyName,
    ProblemName,
    TableModel,
    refuse_unknown_names,
)
from tests.papers.made_up import BY, COMMON, kind_fields, make_claim

# Fields of words that stand for nothing that there must be in an entry, and of whole numbers.
WORDS = {
    "text",
    "source",
    "reading",
    "no_negative_control",
    "id",
    "same_as",
    "title",
    "x_label",
    "number",
}
COUNTS = {"runs"}


def rivalry(
    results,
    problem: ProblemName,
    rivals: list[PolicyName],
    pairs: Annotated[list[list[PolicyName]] | None, Field(min_length=1)] = None,
    weights: dict[PolicyName, float] | None = None,
    at: Checkpoint | list[Checkpoint] | None = None,
):
    """Judge what nobody has claimed yet."""
    return Finding("undecided", "")


def check(**more):
    plan = SimpleNamespace(policies=["us", "x"], metrics=["aggregate_regret"], checkpoints=[10, 20])
    claim = make_claim_class(rivalry, kind="rivalry").model_validate(
        COMMON | {"kind": "rivalry"} | more
    )
    refuse_unknown_names("claims[0]", claim, ["made-up"], lambda key: {"quick": plan})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rivals": ["x", "y"]}, r"claims\[0\]\.rivals\[1\] must be one of us, x; got 'y'"),
        ({"pairs": [["us", "x"], ["us", "y"]]}, r"pairs\[1\]\[1\] must be one of us, x; got 'y'"),
        ({"weights": {"y": 1.0}}, r"weights must be one of us, x; got 'y'"),
        ({"at": 11}, r"at must be one of the checkpoints of 'made-up' at scale 'quick', 10, 20; "),
        ({"at": [10, 11]}, r"at\[1\] must be one of the checkpoints"),
        ({"problem": "made"}, r"problem must be one of made-up; got 'made'"),
        ({"metric": "regret"}, r"metric must be one of aggregate_regret; got 'regret'"),
    ],
)
def test_names_in_a_new_kind_are_checked_by_the_types_of_its_fields(table, message):
    check(rivals=["x"])
    with pytest.raises(ValueError, match=message):
        check(**({"rivals": ["x"]} | table))


def bare(hint, kind, notes=()):
    """Return whether a type holds words or whole numbers of which nothing is said."""
    if hint is kind:
        return not notes
    inner = get_args(hint)
    if hasattr(hint, "__metadata__"):
        return bare(inner[0], kind, hint.__metadata__)
    return any(bare(one, kind) for one in inner)


def models():
    """Yield every kind of claim, parameter figures, and all models that they hold."""
    computed = [find_claim_class("", kind_fields(f"computed: {name}"), None) for name in BY]
    queue = [*KINDS.values(), *computed, ParameterFigure]
    while queue:
        model = queue.pop()
        yield model
        for field in model.model_fields.values():
            hints = [field.annotation, *get_args(field.annotation)]
            queue += [h for h in hints if isinstance(h, type) and issubclass(h, BaseModel)]


@pytest.mark.parametrize("model", dict.fromkeys(models()), ids=lambda model: model.__name__)
def test_no_field_of_words_or_rounds_is_left_unmarked(model):
    for kind, known in ((str, WORDS), (int, COUNTS)):
        found = {
            name
            for name, field in model.model_fields.items()
            if bare(field.annotation, kind, field.metadata)
        }
        assert found <= known


def test_metrics_are_found_wherever_they_are_named():
    claim = make_claim(
        COMMON
        | kind_fields("computed: identical_results")
        | {"cells": [{"policy": "us"}, {"policy": "x"}]}
        | {"metrics": ["pulls[0]", "regret"]}
    )
    assert claim.metric_names == ("aggregate_regret", "pulls[0]", "regret")
    figure = ParameterFigure(title="O", x_label="x", x={"a": 1, "b": 2})
    assert figure.metric_names == ()


def test_a_key_of_a_table_may_be_a_name():
    class Keyed(TableModel):
        x: dict[ProblemName, float]

    with pytest.raises(ValueError, match=r"keyed\.x must be one of a; got 'b'"):
        refuse_unknown_names("keyed", Keyed(x={"b": 1.0}), ["a"], lambda key: {})
