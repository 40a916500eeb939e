"""Simulation of policies, and learners: policies at work in a program, round by round."""
