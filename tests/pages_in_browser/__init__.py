"""Pages in a browser: a package, so that one browser serves the tests of all its files."""
