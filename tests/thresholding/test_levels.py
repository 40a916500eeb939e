"""Regret in the paper's set-ups, against independent simulations (ln of regret / K)."""

import math

import numpy as np
import pytest

from keyhole import simulate
from keyhole.thresholding import APT, LSA, UCBE, OptKG, Problem, RoundRobin
from tests.thresholding.cases import SETUP_1, SETUP_2, SETUP_3

REPLICATIONS = 2000
# Shown with two digits.
ROUNDING = 0.005
POLICIES = {
    "LSA(1.35)": LSA(),
    "APT(0)": APT(0),
    "APT(.025)": APT(0.025),
    "APT(.05)": APT(0.05),
    "APT(.1)": APT(0.1),
    "UCBE(-1)": UCBE(-1),
    "UCBE(0)": UCBE(0),
    "UCBE(4)": UCBE(4),
    "Opt-KG(1,1)": OptKG(),
    "Opt-KG(.5,.5)": OptKG(0.5, 0.5),
    "RoundRobin": RoundRobin(),
}
# Independent programs, at least 2,000 replications in set-up 1.
SETUP_1_LEVELS = {
    "LSA(1.35)": (-2.93, -4.10, -5.81),
    "APT(0)": (-2.53, -3.38, -4.64),
    "APT(.025)": (-2.68, -3.88, -5.83),
    "APT(.05)": (-2.82, -4.17, -5.96),
    "APT(.1)": (-2.93, -4.03, -5.42),
    "UCBE(-1)": (-1.42, -1.74, -2.28),
    "UCBE(0)": (-1.88, -2.93, -4.40),
    "UCBE(4)": (-2.55, -3.12, -3.67),
    "Opt-KG(1,1)": (-2.90, -4.07, -5.68),
    "Opt-KG(.5,.5)": (-2.79, -3.88, -5.49),
    "RoundRobin": (-2.41, -2.99, -3.40),
}
# The same, 300 replications.
SETUP_2_LEVELS = {
    "LSA(1.35)": -2.90,
    "APT(0)": -1.87,
    "APT(.05)": -2.93,
    "UCBE(0)": -0.86,
    "Opt-KG(1,1)": -2.73,
    "RoundRobin": -2.39,
}
SETUP_3_LEVELS = {
    "LSA(1.35)": -2.07,
    "APT(0)": -1.44,
    "APT(.05)": -1.96,
    "UCBE(0)": -0.86,
    "Opt-KG(1,1)": -2.04,
    "RoundRobin": -1.82,
}

# All policies are in set-up 1, and the same code plays them there.
LSA_THEN_SLOW = [
    name if name == "LSA(1.35)" else pytest.param(name, marks=pytest.mark.slow)
    for name in SETUP_2_LEVELS
]


def levels(policy, means, checkpoints, replications=REPLICATIONS):
    """Return ln(regret / K) and its standard error (delta method), by checkpoint."""
    curves = simulate(
        Problem(means, 0.5),
        {"it": policy},
        horizon=checkpoints[-1],
        checkpoints=checkpoints,
        replications=replications,
        seed=20190527,
    )
    mean = curves.mean("it", "aggregate_regret")
    return np.log(mean / len(means)), curves.std_error("it", "aggregate_regret") / mean


def test_lsa_meets_the_precise_levels_of_set_up_1():
    # 400,000 replications; their own error is less than a tenth of ours.
    expected = np.array([-2.932, -3.733, -4.467, -5.196, -5.907])
    found, error = levels(LSA(), SETUP_1, [200, 400, 600, 800, 1000])
    assert (np.abs(found - expected) < 5 * error).all()


@pytest.mark.parametrize("name", POLICIES)
def test_policies_meet_the_levels_of_set_up_1(name):
    # Five times the error of both simulations together: a chance of 1e-6 each.
    found, error = levels(POLICIES[name], SETUP_1, [200, 500, 1000])
    both = error * math.sqrt(1 + REPLICATIONS / 2000)
    assert (np.abs(found - SETUP_1_LEVELS[name]) < 5 * both + ROUNDING).all()


@pytest.mark.parametrize("name", LSA_THEN_SLOW)
def test_policies_meet_the_levels_of_set_up_2(name):
    found, error = levels(POLICIES[name], SETUP_2, [10_000], 300)
    both = error[0] * math.sqrt(1 + 300 / 300)
    assert abs(found[0] - SETUP_2_LEVELS[name]) < 5 * both + ROUNDING


@pytest.mark.parametrize("name", LSA_THEN_SLOW)
def test_policies_meet_the_levels_of_set_up_3(name):
    found, error = levels(POLICIES[name], SETUP_3, [20_000], 300)
    both = error[0] * math.sqrt(1 + 300 / 300)
    assert abs(found[0] - SETUP_3_LEVELS[name]) < 5 * both + ROUNDING
