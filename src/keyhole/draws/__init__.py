"""Random numbers and special functions for kernels (functions that are compiled)."""
