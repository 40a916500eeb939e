"""The compiled loops: what machine code is made for."""
