"""The learner: a policy that decides for real, one round at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from keyhole.core.cache import compile_cached
from keyhole.core.kernels import Component, digest_of, guard, policy_component, tuple_of
from keyhole.core.link import Kernel, fingerprint
from keyhole.core.memory import Layout, allot
from keyhole.core.policy import Policy
from keyhole.core.saving import SavedState, read_state, write_state
from keyhole.core.setting import Setting
from keyhole.core.streams import POLICY, stream_key
from keyhole.core.validate import Range, integer

_INIT, _ASK, _TELL, _RECOMMEND = range(4)
_SHOWN_LINES: Final = 10

# One vector of cells and one of integers: unboxing each argument costs about 0.1 us, so fewer are
# better (measured: 0.4 us a call with one vector, over 2 us with tuples of arrays).
SIGNATURE: Final = types.int64(
    types.float64[::1],  # all memory: input, state, context, decision, feedback, report
    types.int64[::1],  # where each of the six begins, then the integers shapes refer to
    types.uint64[::1],  # the policy's stream
    types.int64,  # round
    types.int64,  # what to do
)


class Learner:
    """A policy, what it knows, and what it has learnt so far.

    The same kernels run here as in `keyhole.simulate`: a learner with seed s that is told the
    rewards of replication r = 0 takes the decisions of that replication. Each setting has its own
    subclass with `ask`, `tell` and `recommend` in its own words.

    What is guaranteed: every `ask` is followed by one `tell`; a call that refuses what it is given
    has changed nothing; `save` either leaves a complete file or the one that was there before.

    Parameters
    ----------
    policy : Policy
        The policy.
    facts : mapping of str to value
        What it may know; None for what is not known.
    seed : int, default 0
        Of the policy's own randomness; from 0, below 2**63.
    replication : int, default 0
        Which replication's randomness; from 0.
    """

    def __init__(
        self,
        policy: Policy,
        facts: Mapping[str, Any],
        *,
        seed: int = 0,
        replication: int = 0,
    ) -> None:
        self.policy = policy
        self.facts = policy.informed(facts)
        if text := policy.caution(self.facts, None):
            warnings.warn(text, stacklevel=4)
        self.rounds = 0
        self._pending = False
        # The first call of the compiled step turns this address into the stream it stands for.
        self._rng = np.array(
            [
                integer("seed", seed, Range(ge=0, lt=2**63)),
                integer("replication", replication, Range(ge=0)),
            ],
            np.uint64,
        )
        side = policy_component(type(policy))
        known = policy.numbers() | self.facts
        self._cells, self._plan, parts = allot(_layouts(side), side.dims, side.sizes(known))
        inputs, self.state, self._context, self._decision, self._feedback, self._report = parts
        for name, view in inputs.items():
            view[...] = known[name]
        self._step = _compiled_step(side, policy.setting)
        self._run(_INIT)

    def _run(self, what: int) -> int:
        return int(self._step(self._cells, self._plan, self._rng, self.rounds, what))

    def _ask(self) -> None:
        """Have the policy decide, unless a decision is waiting for its feedback."""
        if self._pending:
            return
        self.rounds += 1
        if not self._run(_ASK):
            self.rounds -= 1
            raise ValueError(self.policy.refusal(f"round {self.rounds + 1}"))
        self._pending = True

    def _expect_feedback(self) -> None:
        if not self._pending:
            raise RuntimeError("tell must follow an ask: no decision is waiting for feedback")

    def _tell(self) -> None:
        """Have the policy learn from the feedback that has been written."""
        self._run(_TELL)
        self._pending = False

    def _recommend(self) -> dict[str, NDArray[Any]]:
        self._run(_RECOMMEND)
        return {name: view.copy() for name, view in self._report.items()}

    def _known(self) -> list[str]:
        """Return the facts, each in a word or two."""
        return [_show(name, value) for name, value in self.facts.items()]

    def _learnt(self) -> list[str]:
        """Return what has been learnt, a line for each thing worth a line."""
        return [f"{name}: {value}" for name, value in self.state.items()]

    def __repr__(self) -> str:
        """Return the policy, what it knows, and what it has learnt."""
        done = self.rounds - self._pending
        known = ", ".join(self._known())
        waiting = ", waiting for feedback" if self._pending else ""
        lines = self._learnt()
        if len(lines) > _SHOWN_LINES:
            lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
        head = f"{self.policy} after {done} round{'' if done == 1 else 's'}, {known}{waiting}"
        return "\n  ".join([head, *lines])

    def save(self, path: str | Path) -> None:
        """Write everything the learner knows and has learnt to a file.

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced, in one step, once the new one is complete.

        Raises
        ------
        OSError
            If the file cannot be written; what was there before is still there.
        """
        write_state(
            Path(path),
            SavedState(
                policy=type(self.policy).__name__,
                module=type(self.policy).__module__,
                parameters=self.policy.parameters(),
                facts=self.facts,
                rounds=self.rounds,
                pending=self._pending,
                stream=self._rng,
                arrays={
                    "state": self.state,
                    "context": self._context,
                    "decision": self._decision,
                },
            ),
        )

    @classmethod
    def load(cls, path: str | Path, policies: Iterable[type[Policy]] = ()) -> Any:
        """Restore a learner from a file that `save` wrote.

        Parameters
        ----------
        path : str or Path
            The file.
        policies : iterable of Policy classes, optional
            Classes of your own among which to look for the policy. Keyhole's own, and those of
            modules already imported, are found without.

        Returns
        -------
        Learner
            The learner of the setting, which goes on exactly as the saved one would have.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a saved learner, is cut short or altered, was written by a newer
            version of Keyhole, or does not fit the policy as it is now.

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
        policy = saved.find_policy(policies).from_parameters(saved.parameters)
        learner = learner_for(policy, saved.facts)
        saved.restore(
            Path(path),
            {
                "state": learner.state,
                "context": learner._context,
                "decision": learner._decision,
            },
        )
        learner._rng[:] = saved.stream
        learner.rounds = saved.rounds
        learner._pending = saved.pending
        return learner


def learner_for(
    policy: Policy, facts: Mapping[str, Any], *, seed: int = 0, replication: int = 0
) -> Any:
    """Return a policy's learner, of the kind that its room asks for.

    Parameters
    ----------
    policy : Policy
        The policy.
    facts : mapping of str to value
        What it may know.
    seed, replication : int
        Of the policy's own randomness.

    Returns
    -------
    Learner
        The learner.
    """
    kind = policy.learner_class or Learner
    return kind(policy, facts, seed=seed, replication=replication)


def _show(name: str, value: Any) -> str:
    if name == "arms":
        return f"{value} arm{'' if value == 1 else 's'}"
    if isinstance(value, np.ndarray):
        return f"{len(value)} {name}"
    return f"{name} {value:g}"


def _layouts(side: Component) -> tuple[Layout, ...]:
    return (side.inputs, side.state, *side.channels.layouts)


def _compiled_step(side: Component, setting: Setting) -> Kernel:
    digest = digest_of("step", side.digest, fingerprint(setting.allowed))
    return compile_cached(side.owner.__name__, digest, lambda: _build(side, setting), SIGNATURE)


def _build(side: Component, setting: Setting) -> Kernel:
    kernels, channels = side.kernels(), side.channels
    init, update, allowed = kernels["init"], kernels["update"], guard(side, setting)
    select = channels.decision.producer(kernels["select"], "p, s, t, rng, context")
    recommend = channels.report.producer(kernels["recommend"], "p, s, t, rng")
    sizes = tuple_of(len(side.dims), start=6)
    read_p, read_s = side.inputs.reader("P"), side.state.reader("S")
    read_context, read_decision = channels.context.reader(), channels.decision.reader()
    read_feedback, write_decision = channels.feedback.reader(), channels.decision.writer()

    def step(cells, plan, rng, t, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        p, s = read_p(cells, plan[0], dims), read_s(cells, plan[1], dims)
        context = read_context(cells, plan[2], dims)
        if what == _INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], POLICY)
            init(p, s, t, rng)
        elif what == _ASK:
            decision = select(p, s, t, rng, context, cells, plan[3], dims)
            if not allowed(p, decision):
                return 0
            write_decision(cells, plan[3], dims, decision)
        elif what == _TELL:
            taken = read_decision(cells, plan[3], dims)
            update(p, s, t, rng, context, taken, read_feedback(cells, plan[4], dims))
        else:
            recommend(p, s, t, rng, cells, plan[5], dims)
        return 1

    return step
