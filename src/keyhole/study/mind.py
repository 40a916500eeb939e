"""A policy at work in a study: what it has learnt, and the copy on which open decisions are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.component import policy_component
from keyhole.contract.memory import FloatArray, allot
from keyhole.drivers.open_step import (
    CHECK,
    DECIDE,
    HEAD,
    IMAGINED,
    INIT,
    RECOMMEND,
    TELL,
    compiled_open_step,
)
from keyhole.kernels.jit import bounds_checked
from keyhole.study.head import Head
from keyhole.validate import room_in_memory

_NO_ROWS: Final = np.zeros(1)


class Mind:
    """The policy with its memory; `arms` is how many it knows of."""

    def __init__(self, head: Head, facts: Mapping[str, Any]) -> None:
        policy, self.head, self.facts = head.policy, head, dict(facts)
        self._side = side = policy_component(type(policy))
        known = policy.numbers() | self.facts
        self.sizes = side.sizes(known)
        layouts = (side.inputs, side.state, *side.channels.layouts)
        with room_in_memory(f"{policy} with {self.facts['arms']} arms"):
            self._settled, self._plan, parts = allot(layouts, side.dims, self.sizes)
        inputs, self.state, self._context, self._decision, self._feedback, self._report = parts
        for name, view in inputs.items():
            view[...] = known[name]
        self._imagines = head.pending == "imagine"
        self._copy = self._settled.copy() if self._imagines else self._settled
        begin, middle, end = (8 * int(at) for at in self._plan[2:5])
        memory = self._copy.data.cast("B")
        self._seen, self._taken = memory[begin:middle], memory[middle:end]
        self.words = np.array([head.seed, 0, 0, 0], np.uint64)
        with bounds_checked():  # a log may come from anybody
            self._step = compiled_open_step(side, policy.setting)
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

    def decide(self, t: int, context: bytes, rows: Sequence[bytes], *, anew: bool) -> bytes:
        """Return the decision of a round, once the decisions in `rows` have been imagined.

        They are all that are open, if it is to begin `anew` from what is settled; else those that
        are new since the last time. For a policy that does not imagine there are none.
        """
        self._seen[:] = context
        cells = np.frombuffer(bytearray(b"".join(rows))) if rows else _NO_ROWS
        if not self._run(DECIDE if anew and self._imagines else IMAGINED, t, cells, len(rows)):
            raise ValueError(self.head.policy.refusal(f"round {t}"))
        return bytes(self._taken)

    def allows(self, context: bytes, decision: bytes) -> bool:
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

    def with_arms(self, arms: int, kept: Mapping[int, int]) -> "Mind":
        """Return the mind with other arms: position `kept[i]` has learnt what i had.

        Arms that nobody had before are as they are at the beginning.
        """
        other = Mind(self.head, self.facts | {"arms": arms})
        fields = self._side.state.fields
        for name, old in self.state.items():
            new, axes = other.state[name], fields[name].shape
            if "arms" not in axes:
                new[...] = old
                continue
            axis = axes.index("arms")
            source, target = np.moveaxis(old, axis, 0), np.moveaxis(new, axis, 0)
            for before, after in kept.items():
                target[after] = source[before]
        other.mend()
        other.words[:] = self.words
        return other

    def end_round(
        self, t: int, arm: int, total: float, pairs: Sequence[tuple[int, float]], told: int
    ) -> "Mind":
        """Learn what arrived in a round; return the mind, a larger one if there was no room.

        For the room whose feedback is a sum, or pairs of an arm and its reward, of which so many
        were `told` before.
        """
        memory = self.facts["memory"]
        named = len(pairs) if self.facts["named"] else 0
        needed = cast(Any, self.head.policy).held(self.state, told) + named
        while memory < needed:
            memory *= 2
        mind = self if memory == self.facts["memory"] else self._roomier(memory)
        row = np.zeros(HEAD + mind._plan[5] - mind._plan[2])
        row[0], begin = t, HEAD + mind._plan[4] - mind._plan[2]
        mind._side.channels.decision.layout.views(row[HEAD:begin], mind.sizes)["arm"][()] = arm
        heard = mind._side.channels.feedback.layout.views(row[begin:], mind.sizes)
        heard["total"][()], heard["count"][()] = total, named
        for i, (source, reward) in enumerate(pairs[:named]):
            heard["sources"][i], heard["rewards"][i] = source, reward
        mind._run(TELL, 0, row, 1)
        return mind

    def _roomier(self, memory: int) -> "Mind":
        other = Mind(self.head, self.facts | {"memory": memory})
        for name, old in self.state.items():
            other.state[name][tuple(map(slice, old.shape))] = old
        other.mend()
        other.words[:] = self.words
        return other

    def mend(self) -> None:
        """Bring in order what belongs to arrays that were written from outside."""
        self._side.state.mend(self._settled[self._plan[1] :], self.sizes)

    def kept(self) -> bytes:
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
