"""Digests of results are the same for the same results, and for no others."""

import tomllib
from pathlib import Path

import pytest

from tools.result_digests import digests, main

pytestmark = pytest.mark.interpreted

TABLE = tomllib.loads("""
name = "small"
replications = 9
horizon = 1000
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
label = "ours"
[[policy]]
name = "RoundRobin"
""")


def test_digests_are_of_the_values_alone():
    found = digests(TABLE, Path())
    assert list(found) == ["ours", "RoundRobin()"]
    assert len(set(found.values())) == 2
    assert digests(TABLE | {"name": "other", "horizon": 2000}, Path()) == found
    other = digests(TABLE | {"seed": 1}, Path())
    assert not set(found.values()) & set(other.values())


@pytest.mark.slow
def test_an_entry_has_a_line_for_each_policy_and_one_of_all(capsys):
    main(["tao2019-setup1"])
    *lines, last = capsys.readouterr().out.splitlines()
    assert {line.split(" | ")[0] for line in lines} == {"tao2019-setup1"}
    assert len({line.split(" | ")[2] for line in lines}) == len(lines) == 11
    assert len(last.split(" | ")) == 2
