"""Entries of Abernethy, Amin and Zhu (2016), and functions that only they use."""
