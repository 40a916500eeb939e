"""Policies for rewards that arrive late, one file each."""
