"""Kinds of claims of version 0.2.0, and how they are written now.

A claim is a statement of a paper in an entry's file, to be judged by simulations.
"""

from typing import Final

_JUDGEMENTS: Final = "keyhole.papers.claims.judgements"
_COMPUTED: Final = {
    "advantage": f"{_JUDGEMENTS}:growing_lead",
    "allocation-equivalence": "keyhole.papers.verma2019.threshold_equivalence:best_allocation",
    "computed-order": "keyhole.papers.bengs2022.problem_numbers:falling_numbers",
    "equivalence": f"{_JUDGEMENTS}:equivalence",
    "identical": f"{_JUDGEMENTS}:identical_results",
    "interaction": f"{_JUDGEMENTS}:wider_lead",
    "linear": "keyhole.papers.claims.linear_fit:linear_fit",
    "not-worse": "keyhole.papers.claims.better_policy:not_worse",
    "other-best": f"{_JUDGEMENTS}:different_best",
    "potential": "keyhole.papers.abernethy2016.ucb_potential:potential_lemma",
    "reversal": f"{_JUDGEMENTS}:different_best",
    "spread": f"{_JUDGEMENTS}:policy_spread",
}


def refuse_former_kind(where: str, kind: object) -> None:
    """Raise a ValueError that says how a claim of a former kind is written now."""
    now = 'kind = "power"' if kind == "worst-power" else ""
    if kind in _COMPUTED:
        now = f'kind = "computed", by = "{_COMPUTED[str(kind)]}"'
    if kind == "reversal":
        now += ", with here and there = { problem, round } for problem, early and late"
    if now:
        raise ValueError(f"{where} {kind!r} is now written {now}")
