"""The learner: a policy that decides for real, one round at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.component import Component, policy_component
from keyhole.contract.memory import Layout, allot
from keyhole.contract.policy import Policy
from keyhole.contract.words import counted
from keyhole.drivers.step import ASK, CHECK, INIT, RECOMMEND, TELL, compiled_step
from keyhole.kernels.jit import bounds_checked, is_bounds_checked
from keyhole.play.saving import DAMAGE, SavedState, find_policy, read_state, write_state
from keyhole.validate import Range, integer, room_in_memory, shown

_SHOWN_LINES: Final = 10
_ADDRESS: Final = Range(ge=0, lt=2**63)


class Learner:
    """A policy, what it knows, and what it has learnt so far.

    The same kernels run here as in `keyhole.simulate`: a learner with seed s that is told the
    rewards of replication r = 0 takes the decisions of that replication. Each setting has its own
    subclass with `ask`, `tell` and `recommend` in its own words.

    What is guaranteed: every `ask` is followed by one `tell`; a call that refuses what it is given
    has changed nothing; `save` either leaves a complete file or the one that was there before. A
    copy (`copy.copy`, `copy.deepcopy`, `pickle`) is a learner of its own that goes on as this one
    would. Each call is one step to all others: several threads may share a learner and no count
    is lost, but it still takes one decision at a time, so that whoever asks while another has yet
    to tell gets the same decision, and the second to tell it is refused.

    Parameters
    ----------
    policy : Policy
        The policy.
    facts : mapping of str to value
        What it may know; None for what is not known.
    seed : int, default 0
        Of the policy's own randomness; from 0, below 2**63.
    replication : int, default 0
        Which replication's randomness; from 0, below 2**63.
    """

    _loaded = False
    """Whether it comes from a file."""

    def __init__(
        self,
        policy: Policy,
        facts: Mapping[str, Any],
        *,
        seed: int = 0,
        replication: int = 0,
    ) -> None:
        told = policy.informed(facts)
        address = [
            integer(name, value, _ADDRESS)
            for name, value in (("seed", seed), ("replication", replication))
        ]
        if text := policy.caution(told, None):
            warnings.warn(text, stacklevel=3)
        self._prepare(policy, told)
        # The first call of the compiled step turns this address into the stream it stands for.
        self._rng[:] = address
        self._run(INIT)

    def _prepare(self, policy: Policy, told: dict[str, Any]) -> None:
        """Make room for what the policy is told, remembers and says; all but the first is zero."""
        self.policy, self.facts = policy, told
        self.rounds, self._pending = 0, False
        self._lock = RLock()
        # For ask and tell: `with self._lock` takes 150 ns more of their 2 us (measured).
        self._enter, self._leave = self._lock.acquire, self._lock.release
        self._rng = np.zeros(2, np.uint64)
        side = policy_component(type(policy))
        known = policy.numbers() | told
        with room_in_memory(f"{policy} with {', '.join(self._known())}"):
            self._cells, self._plan, parts = allot(_layouts(side), side.dims, side.sizes(known))
        inputs, self.state, self._context, self._decision, self._feedback, self._report = parts
        for name, view in inputs.items():
            view[...] = known[name]
        # Nothing that a file says can be believed, and some of it is where kernels write.
        with bounds_checked(self._loaded or is_bounds_checked()):
            self._step = compiled_step(side, policy.setting)

    def _run(self, what: int) -> int:
        try:
            return int(self._step(self._cells, self._plan, self._rng, self.rounds, what))
        except IndexError as error:
            if "out of bounds" not in str(error):  # a kernel's own
                raise
            raise self._astray() from error

    def _astray(self) -> Exception:
        text = f"a kernel of {self.policy} reads or writes beyond an array"
        if self._loaded:
            return ValueError(f"{text}: the file that it was loaded from is damaged")
        return IndexError(text)

    def _ask(self) -> None:
        """Have the policy decide, unless a decision is waiting for its feedback."""
        if self._pending:
            return
        round_ = self.rounds + 1
        try:
            allowed = self._step(self._cells, self._plan, self._rng, round_, ASK)
        except IndexError as error:
            if "out of bounds" not in str(error):  # a kernel's own
                raise
            raise self._astray() from error
        if not allowed:
            taken = ", ".join(f"{n} {shown(v.tolist())}" for n, v in self._decision.items())
            raise ValueError(self.policy.refusal(f"round {round_}", taken))
        self.rounds = round_
        self._pending = True

    def _expect_feedback(self) -> None:
        if not self._pending:
            raise RuntimeError("tell must follow an ask: no decision is waiting for feedback")

    def _tell(self) -> None:
        """Have the policy learn from the feedback that has been written."""
        try:
            self._step(self._cells, self._plan, self._rng, self.rounds, TELL)
        except IndexError as error:
            if "out of bounds" not in str(error):  # a kernel's own
                raise
            raise self._astray() from error
        self._pending = False

    def _recommend(self) -> dict[str, NDArray[Any]]:
        with self._lock:
            self._run(RECOMMEND)
            return {name: view.copy() for name, view in self._report.items()}

    def _known(self) -> list[str]:
        """Return the facts, each in a word or two."""
        setting = self.policy.setting
        words = []
        for name, value in self.facts.items():
            if name == setting.mode:
                words.append(f"{setting.modes[value]} feedback")
            elif setting.facts[name].argument is not None:
                words.append(_show(name, value))
        return words

    @property
    def told(self) -> int:
        """How many rounds it has been told the feedback of."""
        return self.rounds - self._pending

    def __repr__(self) -> str:
        """Return the policy, what it knows, and what it has learnt."""
        with self._lock:
            return self._described()

    def _described(self) -> str:
        known = ", ".join(self._known())
        waiting = ", waiting for feedback" if self._pending else ""
        lines = self.policy.describe(self)
        if len(lines) > _SHOWN_LINES:
            lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
        head = f"{self.policy} after {counted(self.told, 'round')}, {known}{waiting}"
        return "\n  ".join([head, *lines])

    def save(self, path: str | Path) -> None:
        """Write everything the learner knows and has learnt to a file.

        An existing file is replaced, in one step, once the new one is complete.
        """
        write_state(Path(path), self._saved())

    def _saved(self) -> SavedState:
        with self._lock:
            return SavedState(
                policy=type(self.policy).__name__,
                module=type(self.policy).__module__,
                parameters=self.policy.parameters(),
                facts=self.facts,
                rounds=self.rounds,
                pending=self._pending,
                stream=self._rng.copy(),
                arrays={
                    group: {name: view.copy() for name, view in views.items()}
                    for group, views in self._kept().items()
                },
            )

    def _kept(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return all that a saved learner holds of the memory."""
        fields = policy_component(type(self.policy)).state.fields
        state = {name: view for name, view in self.state.items() if fields[name].kept}
        return {"state": state, "context": self._context, "decision": self._decision}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: the memory is one buffer, of which all arrays are views."""
        return _revived, (type(self), self.policy, self._saved(), self._loaded)

    def _restore(self, policy: Policy, saved: SavedState, *, loaded: bool) -> Self:
        """Become a learner that was saved; refuse what no learner can have been."""
        told = policy.informed(saved.facts)
        side = policy_component(type(policy))
        sizes = side.sizes(policy.numbers() | told)
        saved = saved.keys_alone(side.state, sizes)
        # Before there is memory for it: a file may speak of any number of arms.
        saved.check_form("state", side.state, sizes)
        self._loaded = loaded
        self._prepare(policy, told)
        saved.fill(self._kept())
        side.state.mend(self._cells[self._plan[1] :], sizes)
        self._rng[:] = saved.stream
        self.rounds, self._pending = saved.rounds, saved.pending
        if self._pending and not (self.rounds and self._run(CHECK)):
            raise ValueError(f"the decision that waits for feedback is none that {policy} can take")
        self._check_restored()
        return self

    def _check_restored(self) -> None:
        """Refuse a restored round or context that the room does not have."""

    @classmethod
    def load(cls, path: str | Path, policies: Iterable[type[Policy]] = ()) -> Any:
        """Restore a learner from a file that `save` wrote.

        A file may have been altered, so that it decides where compiled code writes: its learner
        runs with every index checked, which changes no decision. It goes on exactly as the saved
        one would have. A file that is no saved learner, is cut short or altered, was written by a
        newer version of Keyhole, or does not fit the policy as it is now, is refused.

        Parameters
        ----------
        path : str or Path
            The file.
        policies : iterable of Policy classes, optional
            Classes of your own among which to look for the policy. Keyhole's own, and those of
            modules already imported, are found without.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from keyhole.thresholding import LSA
        >>> learner = LSA().learner(arms=3, threshold=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.save(Path(folder) / "learner.json")
        ...     again = Learner.load(Path(folder) / "learner.json")
        >>> again.ask() == learner.ask()
        True
        """
        saved = read_state(Path(path))
        kind = find_policy(saved.policy, saved.module, policies)
        try:
            policy = kind.from_parameters(saved.parameters)
            home = policy.learner_class or Learner
            if not issubclass(home, cls):
                raise ValueError(f"it is of the setting {policy.setting.name!r}")
            return _revived(home, policy, saved, True)
        except DAMAGE as error:
            raise ValueError(f"{path} does not fit {saved.policy} as it is now: {error}") from error


def _revived(kind: type[Learner], policy: Policy, saved: SavedState, loaded: bool) -> Learner:
    """Return a learner of some kind that goes on where one was saved."""
    return kind.__new__(kind)._restore(policy, saved, loaded=loaded)


def learner_for(
    policy: Policy, facts: Mapping[str, Any], *, seed: int = 0, replication: int = 0
) -> Any:
    """Return a policy's learner, of the kind that its room asks for."""
    kind = policy.learner_class or Learner
    return kind(policy, facts, seed=seed, replication=replication)


def _show(name: str, value: Any) -> str:
    if name == "arms":
        return counted(value, "arm")
    if isinstance(value, np.ndarray):
        return f"{len(value)} {name}"
    return f"{name} {value:g}"


def _layouts(side: Component) -> tuple[Layout, ...]:
    return (side.inputs, side.state, *side.channels.layouts)
