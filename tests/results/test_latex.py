import re
import shutil
import subprocess

import numpy as np
import pytest

from keyhole import Curves
from keyhole.results.latex import latex_table

CELLS = ["50 % of a_b & c", "#1 $x^2$ {~}", "1 ± 0.1 [0.9, 1.1] < 2", "p\\q"]


def curves():
    rng = np.random.default_rng(1)
    base = rng.normal(10, 1, 40)
    values = {
        "best_1": base,
        "as good": base + rng.normal(0, 0.5, 40),
        "worse": base + 1 + rng.normal(0, 0.1, 40),
    }
    return Curves([10], ["regret"], {name: row[None, None] for name, row in values.items()})


def columns(table):
    body = table.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [len(re.split(r"(?<!\\)&", line)) for line in body.strip().splitlines()]


def test_every_row_has_its_cells_and_every_special_letter_is_escaped():
    table = latex_table("100 %", ["a"] * 4, [CELLS, ["[x]", "", "", ""]])
    assert columns(table) == [4, 4]
    assert r"50 \% of a\_b \& c" in table
    assert r"\#1 \$x\textasciicircum{}2\$ \{\textasciitilde{}\}" in table
    assert r"p\textbackslash{}q" in table
    assert "\n{[}x]" in table  # else it would be the option of the \\ before
    assert table.count("{") == table.count("}")


def test_bold_are_the_best_and_those_not_significantly_worse():
    table = curves().to_latex(caption="A & B")
    assert r"\caption{A \& B: After 10 rounds" in table
    rows = {line.split(" &")[0]: r"\textbf" in line for line in table.splitlines() if " & " in line}
    assert rows == {"policy": False, r"best\_1": True, "as good": True, "worse": False}


def test_metrics_are_chosen_by_name():
    assert columns(curves().to_latex(metrics=["regret"])) == [2, 2, 2]
    with pytest.raises(ValueError, match="did you mean 'regret'"):
        curves().to_latex(metrics=["regrets"])


def test_one_replication_marks_nothing_as_worse():
    one = Curves([1], ["regret"], {"A": np.ones((1, 1, 1)), "B": np.zeros((1, 1, 1))})
    assert one.to_latex().count(r"\textbf") == 2


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_a_document_with_the_tables_compiles(tmp_path):
    tables = [curves().to_latex(), latex_table("100 %", ["a"] * 4, [CELLS])]
    tables.append(latex_table("Claims", ["claim", "verdict"], [["The mean falls. " * 20, "holds"]]))
    text = "\n".join(
        [
            r"\documentclass{article}\usepackage{booktabs}\begin{document}",
            *tables,
            r"\end{document}",
        ]
    )
    (tmp_path / "a.tex").write_text(text)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    # The sentences of a claim are not in one line, which would leave the page.
    assert "Overfull" not in (tmp_path / "a.log").read_text()
