"""Policies of the threshold bandit, one file each."""
