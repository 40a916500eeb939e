"""Simulation, and learners that decide one round at a time."""
