"""The sections of a page that tell what became of claims."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from keyhole.experiment.html import heading, together
from keyhole.papers.verdicts import Verdict, counts_line


def summary_section(verdicts: Sequence[Verdict]) -> str:
    """Return the line on top of a report: what became of the claims, if there are any."""
    if not verdicts:
        return ""
    return f'<p class="summary"><a href="#claims">Claims</a>: {counts_line(verdicts)}.</p>'


def claims_section(verdicts: Sequence[Verdict]) -> str:
    """Return the claims, each with its verdict; one made of several problems stands once."""
    if not verdicts:
        return ""
    body = ""
    for (text, cited), group in groupby(verdicts, key=lambda v: (v.text, v.cited)):
        rows = "".join(
            f'<tr><td class="verdict {v.status.replace(" ", "-")}">{v.status}</td>'
            f"<td>{escape(v.about)}</td><td>{escape(together(v.detail))}</td></tr>"
            for v in group
        )
        body += (
            f'<tbody><tr><th colspan="3" scope="rowgroup">{escape(text)}<br>'
            f"<small>{escape(cited)}</small></th></tr>{rows}</tbody>"
        )
    head = "".join(f'<th scope="col">{cell}</th>' for cell in ("verdict", "of", "what was found"))
    return (
        f'{heading(2, "Claims")}<div class="wide"><table id="claims" class="claims">'
        f"<caption>{counts_line(verdicts)}</caption>"
        f"<thead><tr>{head}</tr></thead>{body}</table></div>"
    )
