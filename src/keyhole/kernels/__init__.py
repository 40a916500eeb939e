"""Compilation of kernels (Python functions) to machine code, which is cached between processes."""
