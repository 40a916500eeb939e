"""Policies of the thresholding bandit, one file each."""
