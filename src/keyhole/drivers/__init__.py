"""Drivers: the compiled loops that play rounds between a policy and a simulated environment.

A *policy* is a rule that chooses among options; an *environment* simulates what then comes back. In
a *round* the one decides, the other draws the outcome, and the policy learns from it. The parts of
both are *kernels*, functions that are compiled.
"""
