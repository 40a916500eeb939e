"""The rules by which claims (statements of papers) are judged and counted, as pages state them."""

from typing import Final

RULES: Final = (
    "A claim holds, does not hold, or is undecided: too few replications to tell, or a "
    "negative control, a bad policy that should break it, keeps it too. Differences are "
    "paired over common random numbers; intervals are 95 %: Student's t for means, the delta "
    "method for ratios, exact ones for shares of replications. The comparisons of one claim are "
    "adjusted together (Holm, 5 %), those of different claims are not."
)

MARK_RULE: Final = (
    "The first word counts the paper's claims alone, each by the verdict with the most runs. Yes: "
    "all hold. Mostly: more than half hold. No: more than half do not hold. Not decided: at "
    "least half are open. In part: anything else. Claims judged on set-ups of ours may weaken "
    "the word, and make no more of it than In part. So far: another entry judges one of the claims "
    "in more runs, and has not been run."
)
