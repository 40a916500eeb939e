"""Tables for LaTeX, with the rules of its package booktabs."""

from collections.abc import Collection, Sequence
from typing import Final

from keyhole.validation import escape_controls

_LONGEST_CELL: Final = 50  # characters: a longer text is broken into lines
_ESCAPES: Final = str.maketrans(
    {
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
        "[": "{[}",  # a row that begins with [ would give the line break above it an option
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\ensuremath{<}",
        ">": r"\ensuremath{>}",
        "±": r"\ensuremath{\pm}",
        "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
        "\N{NO-BREAK SPACE}": "~",
    }
)


def escape_latex(text: str) -> str:
    r"""Return the LaTeX source that prints a text.

    Examples
    --------
    >>> escape_latex("50 % of a_1 ± 2")
    '50 \\% of a\\_1 \\ensuremath{\\pm} 2'
    """
    return escape_controls(text).translate(_ESCAPES)


def latex_table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    bold: Collection[tuple[int, int]] = (),
) -> str:
    r"""Return a table for a LaTeX document with ``\usepackage{booktabs}``.

    Parameters
    ----------
    caption : str
        The caption of the table.
    head, rows : sequences of str
        The headings of the columns, and the cells of each row.
    bold : collection of (row, column), optional
        Cells to print in bold type, counted from 0.

    Examples
    --------
    >>> print(latex_table("Regret", ["policy", "mean"], [["A", "1 ± 0.1"]], {(0, 1)}))
    \begin{table}
    \centering
    \caption{Regret}
    \begin{tabular}{ll}
    \toprule
    policy & mean \\
    \midrule
    A & \textbf{1 \ensuremath{\pm} 0.1} \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    lines = []
    for i, row in enumerate(rows):
        cells = [
            rf"\textbf{{{escape_latex(cell)}}}" if (i, j) in bold else escape_latex(cell)
            for j, cell in enumerate(row)
        ]
        lines.append(" & ".join(cells) + r" \\")
    # A column with a long text is half a line wide, and breaks its texts into lines.
    column_types = "".join(
        r"p{.5\linewidth}" if max(map(len, cells)) > _LONGEST_CELL else "l"
        for cells in zip(head, *rows, strict=True)
    )
    body = "\n".join(lines)
    return rf"""\begin{{table}}
\centering
\caption{{{escape_latex(caption)}}}
\begin{{tabular}}{{{column_types}}}
\toprule
{" & ".join(map(escape_latex, head))} \\
\midrule
{body}
\bottomrule
\end{{tabular}}
\end{{table}}"""
