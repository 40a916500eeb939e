import numpy as np
import pytest

from tests.papers.made_up import COMMON, judge, make_claim, result


def identical(**more):
    cells = [{"policy": "a"}, {"policy": "b"}]
    by = "keyhole.papers.claims.judgements:identical_results"
    return make_claim(COMMON | {"kind": "computed", "by": by, "cells": cells} | more)


def test_identical_means_to_the_last_bit():
    found = result({"a": [1, 2], "b": [1, 2]})
    values = {p: found.curves.values(p, "aggregate_regret") for p in "ab"}
    values["b"][:] = values["a"]
    assert judge(identical(), found)[:2] == ("holds", "so in all of 400 replications")
    values["b"][0, 7] = np.nextafter(values["b"][0, 7], 2.0)
    status, detail, _ = judge(identical(), found)
    assert status == "does not hold"
    assert detail == "replications in which aggregate_regret of b differs from a's: 1 of 400"


def test_identical_needs_two():
    with pytest.raises(ValueError, match="at least 2 items"):
        identical(cells=[{"policy": "a"}])
