"""The contract: how policies, problems and environments are written, checked and compiled.

A *policy* is a rule that takes decisions. A *problem* is an instance of a setting, and its
*environment* simulates the outcome of each decision.

Policies and environments consist of *kernels*: functions in plain Python that are compiled.
"""
