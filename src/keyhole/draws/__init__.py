"""Random numbers and special functions for kernels."""
