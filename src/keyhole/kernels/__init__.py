"""Compilation of Python functions (kernels) to machine code, which is cached between processes."""
