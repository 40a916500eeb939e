"""Kernels run by Python, with the bits of machine code: to stop in, to print from, to cover.

A kernel is followed through everything it uses, and copied. The copies have the file and the lines
of their originals; where Python's arithmetic is another than that of compiled code, they call
functions of this package. Nothing here needs Numba.
"""
