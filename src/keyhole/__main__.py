"""``python -m keyhole`` is the command line."""

from keyhole.cli import main

main()
