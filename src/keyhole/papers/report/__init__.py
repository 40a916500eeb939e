"""Report pages of reproductions: one of each entry, and the index of all."""
