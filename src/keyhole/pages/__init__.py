"""HTML pages of reports: layout, tables, charts, and figures with their files."""
