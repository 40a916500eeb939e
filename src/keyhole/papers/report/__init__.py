"""Report pages of reproductions, and the declarations of their figures and tables in entries."""
