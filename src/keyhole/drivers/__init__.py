"""The compiled loops that run policies and environments."""
