"""Entries (reproduced experiments) of Verma et al. (2019), and functions that only they use."""
