"""Simulation of policies (rules that choose among options), and their use round by round.

A *learner* is a policy at work in a program, which asks it and tells it what came of it.
"""
