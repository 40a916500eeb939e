"""The contract: policies, environments and settings, and the memory that compiled code shares."""
