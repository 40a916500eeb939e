"""The interpreter: Python runs kernels, with the same bits as compiled code.

A kernel is followed through everything it uses, and copied. The copies have the file and lines of
their originals, for debuggers. Where Python's arithmetic differs from compiled code's, a copy calls
functions of this package. Nothing here needs Numba.
"""
