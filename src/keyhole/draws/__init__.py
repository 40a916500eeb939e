"""Randomness and special functions, for kernels: the same words on every machine."""
