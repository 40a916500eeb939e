"""Policies that divide a resource among arms (places where losses may occur), one file each.

An arm has no loss if it gets the amount that it needs, its threshold. Some policies know the
thresholds; the others find them by trial.
"""
