"""A policy at work in a study: what it has learnt, and the copy on which open decisions are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import policy_component
from keyhole.contract.state_memory import FloatArray, IntArray, allocate
from keyhole.drivers.pending_step import (
    CHECK,
    DECIDE,
    HEAD,
    IMAGINED,
    INIT,
    RECOMMEND,
    TELL,
    compiled_pending_step,
)
from keyhole.kernels.execution import interpreted, is_interpreted
from keyhole.kernels.jit import bounds_checked
from keyhole.play.study_vocabulary import Values
from keyhole.study.definition import Definition
from keyhole.validate import check_memory

_NO_ROWS: Final = np.zeros(1)


class PolicyState:
    """The policy with its memory; `arms` is how many it knows of."""

    def __init__(self, head: Definition, facts: Mapping[str, Any]) -> None:
        policy, self.head, self.facts = head.policy, head, dict(facts)
        self._side = side = policy_component(type(policy))
        known = policy.numbers() | self.facts
        self.sizes = side.sizes(known)
        layouts = (side.inputs, side.state, *side.channels.layouts)
        with check_memory(f"{policy} with {self.facts['arms']} arms"):
            self._settled, self._plan, parts = allocate(layouts, side.dims, self.sizes)
        inputs, self.state, self._context, self._decision, self._feedback, self._report = parts
        for name, view in inputs.items():
            view[...] = known[name]
        self._imagines = head.pending == "impute"
        self._copy = self._settled.copy() if self._imagines else self._settled
        begin, middle, end = (8 * int(at) for at in self._plan[2:5])
        memory = self._copy.data.cast("B")
        self._seen, self._taken = memory[begin:middle], memory[middle:end]
        self.words = np.array([head.seed, 0, 0, 0], np.uint64)
        self._interpreted = is_interpreted()
        with bounds_checked():  # a log may come from anybody
            self._step = compiled_pending_step(side, policy.setting)
        self._run(INIT, 0)

    def _run(self, what: int, t: int, rows: FloatArray = _NO_ROWS, count: int = 0) -> int:
        settled, copy, plan = self._settled, self._copy, self._plan
        try:
            return int(self._step(settled, copy, plan, rows, self.words, t, count, what))
        except IndexError as error:
            if "out of bounds" not in str(error):  # a kernel's own
                raise
            raise RuntimeError(
                f"a kernel of {self.head.policy} reads or writes beyond an array: it has an error, "
                "or the log of the study is not one that a study wrote"
            ) from error

    def decide(self, t: int, context: bytes, rows: FloatArray, *, anew: bool) -> bytes:
        """Return the decision of a round, once the decisions in `rows` have been imagined.

        They are all that are open, if it is to begin `anew` from what is settled; else those that
        are new since the last time. For a policy that does not impute there are none.
        """
        self._seen[:] = context
        count = len(rows)
        cells = rows.reshape(-1) if count else _NO_ROWS
        if not self._run(DECIDE if anew and self._imagines else IMAGINED, t, cells, count):
            raise ValueError(self.head.policy.refusal(f"round {t}"))
        return bytes(self._taken)

    def is_allowed(self, context: bytes, decision: bytes) -> bool:
        """Return whether the room allows a decision."""
        begin, middle, end = (8 * int(at) for at in self._plan[2:5])
        memory = self._settled.data.cast("B")
        memory[begin:middle], memory[middle:end] = context, decision
        return bool(self._run(CHECK, 0))

    def learn(self, rows: bytes, count: int) -> None:
        """Learn so many rows, each with its feedback, in their order."""
        if count:
            self._run(TELL, 0, np.frombuffer(bytearray(rows)), count)

    def report(self) -> dict[str, NDArray[Any]]:
        """Return what the policy recommends, as values."""
        self._run(RECOMMEND, 0)
        return {name: view.copy() for name, view in self._report.items()}

    def with_arms(self, arms: int, before: IntArray, after: IntArray) -> "PolicyState":
        """Return the mind with other arms: position ``after[i]`` has learnt what ``before[i]`` had.

        Arms that nobody had before are as they are at the beginning.
        """
        with interpreted(self._interpreted):
            other = PolicyState(self.head, self.facts | {"arms": arms})
        fields = self._side.state.fields
        for name, old in self.state.items():
            new, axes = other.state[name], fields[name].shape
            if "arms" not in axes:
                new[...] = old
                continue
            axis = axes.index("arms")
            source, target = np.moveaxis(old, axis, 0), np.moveaxis(new, axis, 0)
            target[after] = source[before]
        return self._handed_to(other)

    def with_facts(self, facts: dict[str, Any]) -> "PolicyState":
        """Return the mind with other lengths of arrays, which hold at their beginning what it had.

        It is this one where all facts are as they were.
        """
        if all(self.facts[name] == value for name, value in facts.items()):
            return self
        with interpreted(self._interpreted):
            other = PolicyState(self.head, self.facts | facts)
        for name, old in self.state.items():
            other.state[name][tuple(map(slice, old.shape))] = old
        return self._handed_to(other)

    def _handed_to(self, other: "PolicyState") -> "PolicyState":
        other.rebuild()
        other.words[:] = self.words
        return other

    def learn_round(
        self, t: int, context: Values, decision: Values, feedback: Mapping[str, Sequence[Any]]
    ) -> None:
        """Learn the feedback of a round, as values; sequences may be shorter than their arrays."""
        plan, channels = self._plan, self._side.channels
        row = np.zeros(HEAD + plan[5] - plan[2])
        row[0] = t
        groups = (channels.context, channels.decision, channels.feedback)
        for i, (channel, values) in enumerate(
            zip(groups, (context, decision, feedback), strict=True)
        ):
            begin, end = HEAD + plan[2 + i] - plan[2], HEAD + plan[3 + i] - plan[2]
            for name, view in channel.layout.views(row[begin:end], self.sizes).items():
                if view.shape:
                    view[: len(values[name])] = values[name]
                else:
                    view[()] = values[name]
        self._run(TELL, 0, row, 1)

    def rebuild(self) -> None:
        """Bring in order what belongs to arrays that were written from outside."""
        self._side.state.rebuild_trees(self._settled[self._plan[1] :], self.sizes)

    def arrays_to_save(self) -> bytes:
        """Return what it has learnt, for a snapshot."""
        state = self._settled[self._plan[1] : self._plan[2]]
        return self.words[:2].tobytes() + state.tobytes()

    def restore(self, data: bytes) -> None:
        """Become what `kept` returned."""
        self.words[:2] = np.frombuffer(data[:16], np.uint64)
        self._settled[self._plan[1] : self._plan[2]] = np.frombuffer(data[16:])

    @property
    def digest(self) -> str:
        """A digest of everything the policy's kernels depend on."""
        return self._side.digest
