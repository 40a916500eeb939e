"""Policies of the stochastic bandit (rules that choose an option in each round), one file each.

An option (arm) gives a random reward, with an unknown mean. They try all of them, and choose the
best ever more often.
"""
