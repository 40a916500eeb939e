"""Simulation of policies, and learners: policies at work in a program, round by round.

A *plan* describes a simulation. The work for one of its policies is a *job*. The replications of a
job are simulated in *blocks*, and a block in *pieces*, which are distributed over threads.
"""
