"""The first use of code that nobody has compiled yet: Python begins, and it is compiled if it pays.

Compiling takes two to five seconds, and what Python plays in one tenth of that is often all that is
wanted. State lies in plain buffers, and both have the same bits, so that machine code can take over
between any two calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from keyhole.kernels.atomic_call import AtomicCall
from keyhole.kernels.fingerprint import Kernel

BUDGET: Final = 0.5
"""Processor seconds that Python may spend in a process on one piece of code before it is compiled:
about a fifth of what compiling takes."""

_wanted: ContextVar[bool] = ContextVar("first_use", default=False)


@contextmanager
def interpreted_at_first(wanted: bool = True) -> Iterator[None]:
    """Let Python begin, of what is made inside, with what is not compiled yet.

    It gives a `FirstUse` where machine code would have to be compiled. Whoever asks for it knows
    that the code can be compiled: what cannot is refused at once, and not after some seconds.
    """
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def is_interpreted_at_first() -> bool:
    """Tell whether `interpreted_at_first` holds where this is called."""
    return _wanted.get()


@dataclass
class Account:
    """What Python has spent on one piece of code, in processor seconds."""

    seconds: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether it is time to compile."""
        return self.seconds > BUDGET

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Add what is spent inside."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - began


class FirstUse:
    """A function that Python runs, until it is compiled.

    Parameters
    ----------
    owner : str
        Whose it is, for messages.
    run : callable
        The function, interpreted.
    account : Account
        Of all that run the same code.
    compiled : callable
        Returns the machine code.
    hold_gil : bool
        Whether a call must be one step to all other threads, and to Ctrl-C, as it is when compiled.
    """

    def __init__(
        self,
        owner: str,
        run: Kernel,
        account: Account,
        compiled: Callable[[], Kernel],
        hold_gil: bool,
    ) -> None:
        def charged(*args: Any) -> Any:
            with account.charged():
                return run(*args)

        self._run: Kernel = AtomicCall(owner, charged) if hold_gil else charged
        self._holds_gil = hold_gil
        self.account, self.compiled = account, compiled
        self.when_compiled: Callable[[Kernel], None] = lambda code: None

    def __call__(self, *args: Any) -> Any:
        """Call the function, compiled if Python has spent its budget."""
        if self._holds_gil and self.account.is_spent:
            code = self.compiled()
            self.when_compiled(code)
            return code(*args)
        return self._run(*args)
