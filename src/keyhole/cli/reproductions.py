"""List of the available reproductions, without slow imports."""

from keyhole.cli.text import heading, paragraph
from keyhole.papers.entry_files import FILES, entry_folder, read_tables


def show_entries() -> None:
    """Print the available reproductions."""
    for name in FILES:
        table = read_tables(*entry_folder(name))
        heading(name, 0)
        paragraph(table["title"], 2)
        runs = ", ".join(
            f"{scale} {size['replications']:,} replications"
            for scale, size in table["scales"].items()
        )
        claims = sum(len(claim.get("problems", [""])) for claim in table.get("claims", []))
        paragraph(f"problems: {', '.join(table['problems'])}; claims: {claims}; {runs}", 2)
        paragraph(table["source"], 2)
