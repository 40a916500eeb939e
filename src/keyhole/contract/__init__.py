"""The contract: how policies, problems and environments are written, checked and compiled.

Their functions are *kernels*: plain Python that is compiled to machine code.
"""
