"""Reader of definitions of studies (policy, options, rules) that earlier versions have stored.

Stored bytes are never rewritten, since the digests of all later events depend on them.
"""

from collections.abc import Mapping
from typing import Any, Final

_RULE: Final = {"seconds": "timeout", "decisions": "timeout_decisions", "after": "on_timeout"}
_VALUES: Final = {"imagine": "impute", "again": "ask_again", "nothing came": "no_reward"}


def convert_definition(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition of format 1 in format 2, any other unchanged.

    Examples
    --------
    >>> rule = {"seconds": 5.0, "decisions": None, "after": "again"}
    >>> convert_definition({"format": 1, "pending": "imagine", "rule": rule, "second": 0.0})["rule"]
    {'timeout': 5.0, 'timeout_decisions': None, 'on_timeout': 'ask_again'}
    """
    if content["format"] != 1:
        return content
    rule = {_RULE[name]: _VALUES.get(value, value) for name, value in content["rule"].items()}
    found = {"time_unit" if name == "second" else name: one for name, one in content.items()}
    pending = _VALUES.get(content["pending"], content["pending"])
    return found | {"format": 2, "pending": pending, "rule": rule}
