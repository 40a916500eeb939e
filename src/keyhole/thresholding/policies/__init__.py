"""Policies of the thresholding bandit (rules that choose which option to try next), one file each.

In the end each option (arm) is labelled: its mean reward is at least a threshold, or below.
"""
