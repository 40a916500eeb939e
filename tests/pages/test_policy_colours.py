from collections import Counter

import pytest

from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from keyhole.pages.policy_colours import COLOURS, line_styles, policy_colour


def test_the_colour_follows_the_leading_identifier():
    assert policy_colour("LSA") == policy_colour("LSA(alpha=1.35)") == policy_colour("LSA, ours")
    assert policy_colour("LSA") != policy_colour("LSAX")
    assert policy_colour("LSA") == "#0072B2"  # the same in every process
    assert policy_colour("") in COLOURS


@pytest.mark.parametrize("name", BUILT_IN)
def test_policies_of_a_setting_share_colours_only_where_they_must(name):
    policies = find_setting(name).policies
    most = -(-len(policies) // len(COLOURS))
    shared = Counter(map(policy_colour, policies))
    assert max(shared.values()) <= most, (
        f"{most + 1} policies of {name} have one colour: search for other constants of the hash"
    )


@pytest.mark.parametrize(
    "labels",
    [
        ["LSA", "APT(0)", "UCBE(0)", "Opt-KG(1,1)", "Uniform"],
        ["RegressionUCB", "ODAAF", "Naive", "QPM-D"],
        ["CSB-DT", "ThresholdThompson", "CTS"],
        ["RCUCB", "TS", "HazardUCB"],
    ],
)
def test_policies_in_a_figure_of_the_documentation_have_colours_of_their_own(labels):
    assert len(set(map(policy_colour, labels))) == len(labels)


def test_lines_of_one_colour_differ_by_their_dashes():
    styles = line_styles(["APT(0)", "LSA", "APT(0.05)", "LSA, our replica", "APT(0.1)"])
    assert [one.dashes for one in styles.values()] == [0, 0, 1, 1, 2]
    assert len({one.colour for one in styles.values()}) == 2
    assert [one.position for one in styles.values()] == [0, 1, 2, 3, 4]


def test_parameters_of_one_policy_have_colours_of_their_own():
    styles = line_styles([f"LSA(alpha={alpha})" for alpha in range(9)])
    assert [one.colour for one in styles.values()] == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert [one.dashes for one in styles.values()] == [0] * 7 + [1] * 2
