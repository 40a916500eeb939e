"""Simulation of policies, and learners: policies that decide one round at a time."""
