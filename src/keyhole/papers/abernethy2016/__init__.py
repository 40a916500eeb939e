"""Entries (reproduced experiments) of Abernethy et al. (2016), and functions that only they use."""
