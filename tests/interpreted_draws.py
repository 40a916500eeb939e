"""Draws from streams for references, by Python: compiled ones would be compiled in each process."""

from keyhole.draws import samplers, streams
from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction

beta = InterpretedFunction("a reference", samplers.beta)
seek_pull = InterpretedFunction("a reference", streams.seek_pull)
uniform = InterpretedFunction("a reference", streams.uniform)
