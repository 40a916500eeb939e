"""The arrays of a study's policy, and the kernels that decide and learn with them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import CompiledClass, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import FloatArray, IntArray, allocate, copy_arms
from keyhole.drivers import pending_step
from keyhole.kernels.kernel_declaration import bounds_checked
from keyhole.play.study_vocabulary import RoundFeedback, Values
from keyhole.study.definition import Definition
from keyhole.validate import explain_memory_errors

_NO_ROWS: Final = np.zeros(1)


class RebuildError(Exception):
    """At a change of policy, or a correction of feedback, the whole log must be learnt anew."""


class LearningError(RuntimeError):
    """The policy fails at an event of the log, and can neither decide nor recommend.

    The log is intact and can be read and exported; `Study.change_policy` lets another policy learn
    it.

    Parameters
    ----------
    policy : Policy
        The policy.
    seq : int
        The number of the event.
    error : Exception
        The error that it raised.
    """

    def __init__(self, policy: Policy, seq: int, error: Exception) -> None:
        why = str(error) if isinstance(error, RuntimeError) else repr(error)
        super().__init__(
            f"{policy} fails at event {seq}: {why}; the log is whole, and `change_policy` lets "
            "another policy learn it"
        )
        self.policy = policy
        self.seq = seq
        self.error = error

    def __reduce__(self) -> tuple[type["LearningError"], tuple[Policy, int, Exception]]:
        """Return the arguments to unpickle it with."""
        return type(self), (self.policy, self.seq, self.error)


class PolicyState:
    """The arrays of a policy and the kernels that read and write them.

    While decisions are pending, their feedback is imputed in a copy, from which the next decision
    is taken. A `sibling` is a state of the same policy, of which its code is taken.
    """

    def __init__(
        self,
        definition: Definition,
        facts: Mapping[str, object],
        sibling: "PolicyState | None" = None,
    ) -> None:
        policy = definition.policy
        self.definition = definition
        self.facts = dict(facts)
        compiled = compiled_policy(type(policy)) if sibling is None else sibling._compiled
        self._compiled: CompiledClass = compiled
        known_quantities = policy.numbers() | self.facts
        self.sizes = compiled.sizes(known_quantities)
        layouts = (compiled.inputs, compiled.state, *compiled.records.layouts)
        with explain_memory_errors(f"{policy} with {self.facts['arms']} arms"):
            self._learnt, self._plan, views = allocate(layouts, compiled.dims, self.sizes)
        inputs, self.state, self._context, self._decision, self._feedback, self._report = views
        for name, input_view in inputs.items():
            input_view[...] = known_quantities[name]
        # One flat array holds inputs, state, context, decision, feedback and recommendation, at the
        # offsets in `_plan` (see `allocate`). Imputed feedback goes into a copy: what was learnt
        # from real feedback must not depend on when somebody asked.
        self._imputes = definition.pending == "impute"
        self._copy = self._learnt.copy() if self._imputes else self._learnt
        begin, middle, end = (8 * int(offset) for offset in self._plan[2:5])
        memory = self._copy.data.cast("B")
        self._context_bytes, self._decision_bytes = memory[begin:middle], memory[middle:end]
        self.stream = np.array([definition.seed, 0, 0, 0], np.uint64)
        if sibling is None:
            # Array indexes come from the log, which anybody with access to the database can write:
            # unchecked, an altered row would let compiled code write anywhere in memory.
            with bounds_checked():
                self._step = pending_step.compiled_pending_step(compiled, policy.setting)
        else:
            self._step = sibling._step
        self._run(pending_step.INIT, 0)

    def _run(self, action: int, t: int, rows: FloatArray = _NO_ROWS, count: int = 0) -> int:
        arrays = self._learnt, self._copy, self._plan, rows, self.stream
        try:
            return int(self._step(*arrays, t, count, action))
        except IndexError as error:
            if "out of bounds" not in str(error):  # raised by the policy's own code
                raise
            raise RuntimeError(
                f"a kernel of {self.definition.policy} reads or writes beyond an array: the kernel "
                "has an error, or the log was not written by a study"
            ) from error

    def decide(self, t: int, context: bytes, rows: FloatArray, *, imputes_all: bool) -> bytes:
        """Return the policy's decision, after imputing feedback for the decisions in `rows`.

        With `imputes_all` the copy is made again and `rows` are all pending decisions; else they
        are those since the last call. A policy that does not impute gets none.
        """
        self._context_bytes[:] = context
        cells = rows.reshape(-1) if len(rows) else _NO_ROWS
        action = pending_step.DECIDE_ON_COPY
        if imputes_all and self._imputes:
            action = pending_step.DECIDE
        if not self._run(action, t, cells, len(rows)):
            raise ValueError(self.definition.policy.refusal(f"round {t}"))
        return bytes(self._decision_bytes)

    def is_allowed(self, context: bytes, decision: bytes) -> bool:
        """Return whether the setting allows a decision."""
        begin, middle, end = (8 * int(offset) for offset in self._plan[2:5])
        memory = self._learnt.data.cast("B")
        memory[begin:middle], memory[middle:end] = context, decision
        return bool(self._run(pending_step.CHECK, 0))

    def learn(self, batch: Sequence[tuple[bytes, int]]) -> None:
        """Learn decisions in order: rows with their feedback, and the numbers of their events.

        Raises
        ------
        LearningError
            If a kernel fails. The policy may then have learnt any part.
        """
        # A batch is one call of compiled code, which does not say how far it came. To name the
        # event that fails, the batch is repeated row by row from a copy of the arrays.
        arrays_before = self.arrays_to_save() if len(batch) > 1 else b""
        try:
            self._learn([row for row, _ in batch])
        except Exception as error:
            event = batch[0][1]
            if arrays_before:
                event = self._find_first_failing(batch, arrays_before)
            raise LearningError(self.definition.policy, event, error) from error

    def _learn(self, rows: list[bytes]) -> None:
        self._run(pending_step.TELL, 0, np.frombuffer(bytearray(b"".join(rows))), len(rows))

    def _find_first_failing(self, batch: Sequence[tuple[bytes, int]], arrays_before: bytes) -> int:
        """Return the event at which the policy fails, starting from its saved arrays `before`."""
        self.restore(arrays_before)
        for row, event in batch:
            try:
                self._learn([row])
            except Exception:
                return event
        return batch[-1][1]

    def recommend(self) -> dict[str, NDArray[Any]]:
        """Return the policy's recommendation, as arrays."""
        self._run(pending_step.RECOMMEND, 0)
        return {name: view.copy() for name, view in self._report.items()}

    def with_arms(self, arms: int, sources: IntArray, targets: IntArray) -> "PolicyState":
        """Return the state with other arms: ``targets[i]`` gets the values of ``sources[i]``.

        All other arms are as at the beginning.
        """
        new_state = PolicyState(self.definition, self.facts | {"arms": arms}, self)
        fields = self._compiled.state.fields
        copy_arms(fields, self.state, new_state.state, sources, targets)
        return self._hand_over_to(new_state)

    def with_facts(self, facts: Values) -> "PolicyState":
        """Return the state with other array lengths, each array keeping its first values.

        Returns itself if no fact differs.
        """
        if all(self.facts[name] == value for name, value in facts.items()):
            return self
        new_state = PolicyState(self.definition, self.facts | facts, self)
        for name, old_array in self.state.items():
            new_state.state[name][tuple(map(slice, old_array.shape))] = old_array
        return self._hand_over_to(new_state)

    def _hand_over_to(self, new_state: "PolicyState") -> "PolicyState":
        """Rebuild a state whose arrays are filled, and give it the random stream of this one."""
        # Search trees do not follow arrays that are written from outside.
        memory = new_state._learnt[new_state._plan[1] :]
        new_state._compiled.state.rebuild_trees(memory, new_state.sizes)
        new_state.stream[:] = self.stream
        return new_state

    def learn_round(self, t: int, feedback: RoundFeedback) -> None:
        """Learn the feedback of a round; sequences may be shorter than their arrays."""
        ends = self._plan[2:6] - self._plan[2] + pending_step.ROW_HEADER
        row = np.zeros(ends[-1])
        row[0] = t
        channels = self._compiled.records
        groups = (
            (channels.context, feedback.context),
            (channels.decision, feedback.decision),
            (channels.feedback, feedback.feedback),
        )
        for (channel, values), begin, end in zip(groups, ends[:-1], ends[1:], strict=True):
            for name, view in channel.layout.views(row[begin:end], self.sizes).items():
                view[tuple(map(slice, np.shape(values[name])))] = values[name]
        self._run(pending_step.TELL, 0, row, 1)

    def arrays_to_save(self) -> bytes:
        """Return random stream and arrays as bytes, for a snapshot."""
        return self.stream[:2].tobytes() + self._learnt[self._plan[1] : self._plan[2]].tobytes()

    def restore(self, data: bytes) -> None:
        """Restore what `arrays_to_save` returned."""
        self.stream[:2] = np.frombuffer(data[:16], np.uint64)
        self._learnt[self._plan[1] : self._plan[2]] = np.frombuffer(data[16:])

    @property
    def digest(self) -> str:
        """A digest of everything that the policy's kernels depend on."""
        return self._compiled.digest
