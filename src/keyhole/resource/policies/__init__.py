"""Policies that choose what to run, and the limit at which it is stopped, one file each."""
