"""Kinds of claims of version 0.2.0, and how they are written now.

A claim is a statement of a paper in an entry's file, to be judged by simulations.
"""

from collections.abc import Mapping
from typing import Any, Final

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


_NOW: Final = {
    **{kind: f'kind = "computed", by = "{by}"' for kind, by in _COMPUTED.items()},
    "worst-power": 'kind = "power"',
    "slope": 'of = "gain", per = "ln T"',
}
_PLACES: Final = ", with here and there = { problem, round } for problem, early and late"


def refuse_former_kind(where: str, table: Mapping[str, Any]) -> None:
    """Raise a ValueError that says how a claim of a former kind is written now."""
    field = "of" if table.get("kind") == "estimate" else "kind"
    kind = table.get(field)
    if isinstance(kind, str) and kind in _NOW:
        more = _PLACES if kind == "reversal" else ""
        raise ValueError(f"{where}.{field} {kind!r} is now written {_NOW[kind]}{more}")
