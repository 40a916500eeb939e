"""Drivers: the compiled functions that call the kernels of policies and environments in turn."""
