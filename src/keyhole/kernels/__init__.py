"""Compilation: from Python functions (kernels) to machine code, cached between processes."""
