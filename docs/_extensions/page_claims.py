"""What the text of tutorials and exercises says in words of the numbers that their code computes.

Each build runs the code. After the last block of a page its claims are checked in the names of the
code, and one that does not hold ends the build.
"""

import ast
from pathlib import Path
from typing import Any, Final

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

# By the name of the script.
CLAIMS: Final = {
    "1_is_my_formula_any_good": """
lost = {name: simulate(problem, {name: policy}, horizon=5000, replications=1000)
    .values(name, "regret")[-1] for name, policy in
    {"ours": FixedBonus(), "KL-UCB": KLUCB(), "optimistic": OptimisticThompson()}.items()}
assert lost["ours"].mean() < lost["KL-UCB"].mean()
assert np.median(lost["ours"]) < 0.7 * np.median(lost["optimistic"])
assert np.quantile(lost["ours"], 0.99) > 4 * np.quantile(lost["optimistic"], 0.99)
""",
    "2_which_pictures_need_more_labels": """
assert 0 < sum(clear) < len(clear) and 0 < more.count(0)
assert count_wrong(learner.recommend()) < sum(equally) / 20 < count_wrong(labels.means > 0.5)
""",
    "3_which_subject_line_sells": "assert best == max(chances, key=chances.get)",
    "4_which_solver_and_for_how_long": """
assert {run.arm for run in tune.runs} == {"search", "repair"}
assert len({run.id for run in tune.runs}) == len(tune.runs) == 90
""",
    "5_when_have_we_seen_enough": """
assert share_wrong <= 0.05 and set(verdicts) == set(range(len(services)))
used = [curves.mean(name, "rounds_used")[-1] for name in curves.labels]
assert used[0] < used[1] < used[2] < 2 * used[0]
""",
    "1_is_it_significant_yet": """
assert excludes[:, -1].mean() < 0.1 < 0.3 < ever[:, -1].mean()
assert sequence_ever[:, -1].mean() <= 0.05
""",
    "2_why_are_the_averages_too_low": """
assert averages["ThompsonSampling"][1].mean() < 0.48 < 0.49 < averages["in turn"][1].mean() < 0.51
assert missed <= 0.05 * len(averages["ThompsonSampling"][0])
""",
    "3_why_not_ask_about_the_most_doubtful": """
assert lost["most doubtful"][-1] > 0.9 * lost["most doubtful"][0] > 3 * lost["equally often"][-1]
assert max(asked) > 1900 and needed < 1000
""",
    "4_what_would_the_buyers_have_paid": """
first = {name: max("AB", key=lambda m: of(records[m], 8)) for name, of in estimates.items()}
assert first == {"sales dropped": "B", "taken at the price": "B", "Kaplan-Meier": "A"}
assert shares["Kaplan-Meier"] > 0.42 > max(shares["sales dropped"], shares["taken at the price"])
""",
    "5_whose_sales_are_these": """
assert abs(np.diff(credited(1))[0]) < 0.03 and 0.35 < np.diff(credited(1000))[0] < 0.42
assert 0.2 < seen[0] < 0.3 and 0.35 < seen[-1] < 0.45
assert curves.mean("regression", "regret")[-1] < curves.mean("phases", "regret")[-1]
""",
    "6_why_not_share_equally": """
assert best == 4 and divided[3] > 0 and max(divided[4:]) == 0
found = [prevented(allocation, needs) for allocation in divisions.values()]
assert found == sorted(found) and len(set(found)) == 4
""",
    "7_first_the_solver_then_the_limit": """
assert "gambling" == best[0] not in (first_solver, then_solver)
assert gain(*best) > 1.5 * max(gain(first_solver, then_limit), gain(then_solver, first_limit))
""",
    "8_how_many_replications_are_enough": """
paired = few.paired("LSA", "APT", metric="aggregate_regret", round=500)
(lsa, a), (apt, b) = (interval(few.values(n, "aggregate_regret")[-1]) for n in ("LSA", "APT"))
assert lsa + a > apt - b and paired.high < 0
assert savings["alike"] > 2 * savings["LSA", "APT"] > 2
""",
}


def check_claims(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Check the claims of a script after its last block; it is a scraper that finds no figures."""
    script = Path(block_vars["src_file"])
    code = [part for part in split_code_and_text_blocks(str(script))[1] if part.type == "code"]
    if script.stem in CLAIMS and block[1] == code[-1].content:
        for claim in ast.parse(CLAIMS[script.stem]).body:
            text = ast.unparse(claim)
            try:
                exec(text, block_vars["example_globals"])
            except AssertionError:
                raise AssertionError(f"{script.name}: its text does not hold: {text}") from None
    return ""
