"""Policies that divide a resource among arms, one file each."""
