"""Policies of the threshold bandit (rules that choose an option by the round's bar), one file each.

Each round shows a bar (the threshold), and the random number that the chosen option (arm) gives
should reach it.
"""
