"""A pytest decorator that makes a test of each check, so that it can be run alone, by its name."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from keyhole.testing.check_context import CheckContext
from keyhole.testing.policy_checks import CHECKS, Check
from keyhole.testing.setting_case import SettingCase
from keyhole.validate import check_choice


def parametrize_with_checks(
    subjects: Iterable[CheckContext | SettingCase], checks: Sequence[Check] = CHECKS
) -> Callable[[Any], Any]:
    """Return a pytest decorator that runs each check on each subject as a test of its own.

    The test takes two arguments, ``check`` and ``subject``. A check that a subject lists as
    `failing` must fail.

    Parameters
    ----------
    subjects : iterable of CheckContext or SettingCase
        The arguments of the checks.
    checks : sequence of callable, default CHECKS
        Or `PROBLEM_CHECKS`, `SETTING_CHECKS`.

    Examples
    --------
    >>> from keyhole.testing import CheckContext
    >>> from keyhole.thresholding import APT, LSA, Problem
    >>> problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    >>> @parametrize_with_checks([CheckContext(LSA(), problem), CheckContext(APT(), problem)])
    ... def test_it_keeps_the_contract(check, subject):
    ...     check(subject)
    """
    import pytest  # not a dependency of Keyhole itself

    names = [check.__name__ for check in checks]
    cases = []
    for subject in subjects:
        what = repr(subject.policy if isinstance(subject, CheckContext) else subject)
        for name in subject.failing:
            check_choice(f"failing of {what}", name, names)
        for check in checks:
            reason = subject.failing.get(check.__name__)
            # Strict: a check that is listed as failing and passes is an error, as in `run_checks`.
            marks = () if reason is None else (pytest.mark.xfail(reason=reason, strict=True),)
            cases.append(pytest.param(check, subject, id=f"{what}-{check.__name__}", marks=marks))
    decorator: Callable[[Any], Any] = pytest.mark.parametrize(("check", "subject"), cases)
    return decorator
