"""The contract: how policies, problems and environments are written, checked and compiled.

A *policy* is a rule that chooses among options; a *problem* gives the options with their chances;
an *environment* simulates what comes of each choice.

Policies and environments consist of *kernels*: functions in plain Python that are compiled.
"""
