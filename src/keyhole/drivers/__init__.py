"""Drivers: the compiled loops that play rounds between a policy and a simulated environment."""
