"""Policies for rewards that arrive late (rules that choose an option a round), one file each."""
