"""Entries of Bengs and Huellermeier (2022), and functions that only they use."""
