"""Report pages of reproductions: a page for each entry, and the index of all entries."""
