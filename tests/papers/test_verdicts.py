from itertools import permutations

from keyhole.papers.verdicts import (
    Verdict,
    deciding_verdict,
    deciding_verdicts,
    keep_one_per_statement,
)


def verdict(id, replications, same_as=(), status="holds"):
    return Verdict(
        text="So", source="here.", origin="paper", setup="paper", status=status, detail="",
        id=id, replications=replications, same_as=same_as,
    )  # fmt: skip


FEW = verdict("a/1", 5000, ("b/1",))
MANY = verdict("b/1", 100_000, ("a/1",), "does not hold")
OTHER = verdict("a/2", 5000)


def test_the_verdict_with_the_most_replications_decides():
    assert deciding_verdicts([FEW, OTHER, MANY]) == {"a/1": MANY, "a/2": OTHER, "b/1": MANY}
    assert deciding_verdict(MANY, {"a/1": FEW}) is MANY


def test_a_verdict_that_is_not_known_does_not_decide():
    assert deciding_verdict(FEW, {}) is FEW
    assert keep_one_per_statement([FEW, OTHER]) == [FEW, OTHER]


def test_a_statement_counts_once_in_any_order():
    equal = verdict("c/1", 100_000, ("a/1", "b/1"))
    both = verdict("b/1", 100_000, ("a/1", "c/1"))
    for order in permutations([FEW, both, equal]):
        assert [one.id for one in keep_one_per_statement(order)] == ["b/1"]
