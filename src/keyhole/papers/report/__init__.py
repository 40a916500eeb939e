"""Report pages of reproductions, and the declarations of their figures and tables in entries.

A reproduction simulates a published experiment, its *entry*, and judges whether the statements of
the paper, its *claims*, hold.
"""
