"""``python -m keyhole`` is the command line."""

from keyhole.cli import main

if __name__ == "__main__":  # processes that are started for a cluster import it
    main()
