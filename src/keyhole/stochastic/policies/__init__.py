"""Policies of the stochastic bandit, one file each."""
