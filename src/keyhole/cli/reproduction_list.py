"""List of the published experiments that can be reproduced, without slow imports."""

from keyhole.cli.terminal_output import print_heading, print_paragraph
from keyhole.papers.entry_files import FILES, entry_folder, read_tables


def show_entries() -> None:
    """Print the available reproductions."""
    for name in FILES:
        # Unchecked tables suffice: a check of an entry creates its problems, which takes seconds.
        table = read_tables(*entry_folder(name))
        print_heading(name, 0)
        print_paragraph(table["title"], 2)
        runs = ", ".join(
            f"{scale} {size['replications']:,} replications"
            for scale, size in table["scales"].items()
        )
        claims = sum(len(claim.get("problems", [""])) for claim in table.get("claims", []))
        print_paragraph(f"problems: {', '.join(table['problems'])}; claims: {claims}; {runs}", 2)
        print_paragraph(table["source"], 2)
