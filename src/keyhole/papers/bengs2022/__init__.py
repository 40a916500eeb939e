"""Entries (reproduced experiments) of Bengs et al. (2022), and functions that only they use."""
