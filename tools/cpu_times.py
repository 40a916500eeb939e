"""A pytest plugin that prints which test files cost the most CPU time.

It counts the processor time of the test process and of the child processes that have ended. The
load of a machine changes that far less than the durations that pytest itself prints.
`conftest.py` loads it; `--cpu-times=N` prints the N files that cost most, `--cpu-times=0` all.
"""

import os
from collections import defaultdict
from typing import Any, Final

import pytest

Seconds = tuple[float, float]

_HEADER: Final = "   total     test children  tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        "--cpu-times",
        type=int,
        metavar="N",
        help="print the N test files that cost the most CPU time (0: all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the meter if the option is given, also in the workers of xdist."""
    wanted = config.getoption("--cpu-times")
    if wanted is not None:
        config.pluginmanager.register(_Meter())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Table(wanted))


class _Meter:
    """Write the CPU seconds of each phase of a test into its report."""

    def __init__(self) -> None:
        self._before = _seconds()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._before = _seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        report = yield
        now = _seconds()
        report.cpu_times = [end - start for start, end in zip(self._before, now, strict=True)]
        self._before = now
        return report


class _Table:
    """Add up the seconds by file, and print those that cost most."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._costs: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])

    def pytest_runtest_logreport(self, report: Any) -> None:
        cost = self._costs[report.nodeid.partition("::")[0]]
        own, children = getattr(report, "cpu_times", (0.0, 0.0))
        cost[0] += own
        cost[1] += children
        cost[2] += report.when == "setup"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        rows = sorted(self._costs.items(), key=lambda item: -sum(item[1][:2]))
        terminalreporter.section("CPU seconds of tests, by file")
        terminalreporter.write_line(_HEADER)
        for file, cost in rows[: self._wanted or None]:
            terminalreporter.write_line(_row(cost, file))
        total = [sum(cost[i] for cost in self._costs.values()) for i in range(3)]
        terminalreporter.write_line(_row(total, "in all"))


def _seconds() -> Seconds:
    """Return the CPU seconds of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def _row(cost: list[float], what: str) -> str:
    own, children, tests = cost
    return f"{own + children:8.1f} {own:8.1f} {children:8.1f} {tests:6.0f}  {what}"
