"""Policies that choose what to run, and the limit at which it is stopped, one file each.

An arm is a thing that can be run, such as a solver; its run consumes time, say. Of a stopped run it
is only seen that it would have consumed more than the limit (it is *censored*).
"""
