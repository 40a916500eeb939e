"""Tiered execution: code that is not compiled yet is interpreted, and compiled if that pays.

Compiling takes two to five seconds; a short interpreted run takes a tenth of that. State lies in
plain buffers, and both ways give the same bits. So machine code can take over between two calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Final

from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.interpreted_mode import AtomicCall, interpret, set_in_context

BUDGET: Final = 0.5
"""The processor seconds for which a process interprets one piece of code before compiling it: about
a fifth of the time to compile it, so that no run loses more than that."""

_interprets_first: ContextVar[bool] = ContextVar("interpret_first", default=False)


def interpret_first(is_wanted: bool = True) -> AbstractContextManager[None]:
    """Return a context in which code that is not compiled yet is interpreted at first.

    `compile_cached` then returns a `TieredFunction`. The context is for code that is known to
    compile, since other code must be refused at once, not after some seconds.
    """
    return set_in_context(_interprets_first, is_wanted)


def is_tiered() -> bool:
    """Return whether `interpret_first` holds where this is called."""
    return _interprets_first.get()


@dataclass
class TimeBudget:
    """The processor seconds, out of `BUDGET`, for which one piece of code has been interpreted."""

    used_seconds: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether it is time to compile."""
        return self.used_seconds > BUDGET

    @contextmanager
    def charge(self) -> Iterator[None]:
        """Add the processor time that is spent inside."""
        start = time.thread_time()
        try:
            yield
        finally:
            self.used_seconds += time.thread_time() - start


class TieredFunction:
    """A function that is interpreted until it is compiled.

    Parameters
    ----------
    owner : str
        The name of the policy, or of the policy and the environment, for messages.
    build : callable
        Returns the function, in plain Python.
    budget : TimeBudget
        The budget that all functions with the same code share.
    compile_now : callable
        Compiles the function, and returns its machine code.
    hold_gil : bool
        Whether a call must be atomic to other threads and to Ctrl-C, as it is when compiled.
    """

    def __init__(
        self,
        owner: str,
        build: Callable[[], Kernel],
        budget: TimeBudget,
        compile_now: Callable[[], Kernel],
        hold_gil: bool,
    ) -> None:
        with budget.charge():
            run = interpret(owner, build())

        def charged_run(*args: object) -> object:
            with budget.charge():
                return run(*args)

        self._run: Kernel = AtomicCall(owner, charged_run) if hold_gil else charged_run
        self._holds_gil = hold_gil
        self.budget = budget
        self._compile_now = compile_now
        # Settings such as `bounds_checked` are context variables. Their present values are kept for
        # compiling later.
        self._context = copy_context()
        # Receives the machine code. A learner sets this, to call that code from then on.
        self.when_compiled: Callable[[Kernel], None] = lambda code: None

    def compile_function(self) -> Kernel:
        """Compile the function, and return its machine code."""
        context = self._context.copy()
        context.run(_interprets_first.set, False)
        return context.run(self._compile_now)

    def __call__(self, *args: object) -> object:
        """Call the function, compiled if the budget is spent."""
        # Only functions of learners are compiled here: they hold the GIL, and their calls are
        # short. Whether to compile a simulation is decided before it starts, from its estimated
        # length.
        if self._holds_gil and self.budget.is_spent:
            code = self.compile_function()
            self.when_compiled(code)
            return code(*args)
        return self._run(*args)
