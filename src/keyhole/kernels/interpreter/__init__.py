"""The interpreter: kernels (compiled functions) run by Python, with the same bits, for debugging.

A kernel is followed through everything it uses, and copied. The copies have the file and lines of
their originals. Where Python's arithmetic differs from compiled code's, they call functions of this
package. Nothing here needs Numba.
"""
