"""The command line as ``python -m keyhole``."""

from keyhole.cli import main

if __name__ == "__main__":  # processes that are started for a cluster import this file
    main()
