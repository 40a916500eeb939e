"""The learner: a policy that decides for real, one round at a time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import policy_component
from keyhole.contract.descriptions import count_text
from keyhole.contract.policy import Policy
from keyhole.contract.scale import UNIT, Scale
from keyhole.drivers.policy_step import (
    ASK,
    ASK_WITH_NUMBER,
    CHECK,
    CLAIM,
    INIT,
    NOT_ASKED,
    OWNER_THREAD,
    PENDING,
    PLAN,
    RECOMMEND,
    ROUNDS,
    STREAM,
    TELL,
    TELL_WITH_NUMBER,
    WRONG_THREAD,
    memory_layout,
    state_view,
)
from keyhole.kernels.execution import is_interpreted, wanted_execution
from keyhole.kernels.interpreter.faults import OutOfBoundsError
from keyhole.kernels.jit import is_bounds_checked
from keyhole.play.first_use import find_step
from keyhole.play.known_facts import describe_facts
from keyhole.play.log_columns import float_column
from keyhole.play.log_replay import replay_rows
from keyhole.play.saved_learner import DAMAGE, SavedLearner, find_policy, read_state, write_state
from keyhole.validate import Range, check_integer, check_memory, check_seed, short_repr

_SHOWN_LINES: Final = 10
_ADDRESS: Final = Range(ge=0, lt=2**63)
_UNIT: Final = Range(ge=0, le=1)


class Learner:
    """A policy, what it knows, and what it has learnt so far.

    The same kernels run here as in `keyhole.simulate`: a learner with seed s that is told the
    rewards of replication r = 0 takes the decisions of that replication. Each setting has its own
    subclass with `ask`, `tell` and `recommend` in its own words.

    What is guaranteed: every `ask` is followed by one `tell`; a call that refuses what it is given
    has changed nothing; `save` either leaves a complete file or the one that was there before. A
    copy (`copy.copy`, `copy.deepcopy`, `pickle`) is a learner of its own that goes on as this one
    would.

    A learner is not shared between threads: it takes one decision at a time, and whoever asks for
    it tells. Until then, while that thread lives, `ask`, `tell` and `save` are refused to all
    others. In between, and for what only reads (`recommend`, printing), any thread will do.

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
    scale : (float, float), default (0, 1)
        The least and the largest reward, in the units in which facts and rewards are told.
    interpreted : bool, optional
        Whether Python runs the kernels: see `keyhole.interpreted`. Where nobody says so, and
        Keyhole's own policy is not compiled yet, Python begins: see `keyhole.kernels.first_use`.
    """

    scale: Scale = UNIT
    """The least and the largest reward there can be, in the units in which they are told."""
    _loaded = False
    """Whether it comes from a file."""
    _interpreted: bool | None = None
    """Whether Python runs its kernels; None if nobody has said."""

    def __init__(
        self,
        policy: Policy,
        facts: Mapping[str, Any],
        *,
        seed: int = 0,
        replication: int = 0,
        scale: tuple[float, float] = UNIT,
        interpreted: bool | None = None,
    ) -> None:
        self._interpreted = wanted_execution() if interpreted is None else interpreted
        self.scale = Scale.of(scale)
        told = policy.check_facts(policy.setting.to_unit(facts, self.scale))
        address = [check_seed(seed), check_integer("replication", replication, _ADDRESS)]
        if text := policy.caution(told, None):
            warnings.warn(text, stacklevel=3)
        self._prepare(policy, told)
        # The first call of the compiled step turns this address into the stream it stands for.
        self._rng[:] = address
        self._do(INIT)

    def _prepare(self, policy: Policy, told: dict[str, Any]) -> None:
        """Make room for what the policy is told, remembers and says; all but the first is zero."""
        self.policy, self.facts = policy, told
        self._scaled = self.scale != UNIT
        side = policy_component(type(policy))
        known = policy.numbers() | told
        with check_memory(f"{policy} with {', '.join(self._known())}"):
            self._words, parts = memory_layout(side, side.sizes(known))
        self._rng = self._words[STREAM : STREAM + 2]
        self._head = self._words[:PLAN].view(np.int64).data  # read sooner than an array
        inputs, self.state, self._context, self._decision, self._feedback, self._report = parts
        for name, view in inputs.items():
            view[...] = known[name]
        # Nothing that a file says can be believed, and some of it is where kernels write.
        checked = self._loaded or is_bounds_checked()
        self._step = find_step(self, side, checked)

    @property
    def rounds(self) -> int:
        """How many rounds have begun: in each it has been asked for a decision."""
        return self._head[ROUNDS]

    @property
    def _pending(self) -> bool:
        """Whether a decision is waiting for its feedback."""
        return self._head[PENDING] == 1

    def _do(self, what: int, number: float = 0.0) -> int:
        """Run the compiled step, and return what it returns: a number from 0."""
        try:
            code: int = self._step(self._words, what, number)
        except IndexError as error:
            self.raise_kernel_error(error)
        return code if code >= 0 else self._handle_code(code, what, number)

    def _handle_code(self, code: int, what: int, number: float) -> int:
        """Go on where the thread that keeps others out has ended; else say why not."""
        if code == WRONG_THREAD and self._head[OWNER_THREAD] not in sys._current_frames():
            self._head[OWNER_THREAD] = 0
            return self._do(what, number)
        self._refuse(code)

    def raise_kernel_error(self, error: IndexError) -> NoReturn:
        """Say of an index out of bounds whose it is."""
        if isinstance(error, OutOfBoundsError) and not self._loaded:
            raise error  # in words of its own
        if "out of bounds" not in str(error):  # a kernel's own
            raise error
        text = f"a kernel of {self.policy} reads or writes beyond an array"
        if isinstance(error, OutOfBoundsError):
            text = str(error)
        if self._loaded:
            text = f"{text}: the file that it was loaded from is damaged"
            raise ValueError(text) from error
        raise IndexError(text) from error

    def _refuse(self, code: int) -> NoReturn:
        """Say why the compiled step has refused to do something."""
        if code == NOT_ASKED:
            raise RuntimeError("tell must follow an ask: no decision is waiting for feedback")
        if code == WRONG_THREAD:
            raise RuntimeError(
                "a learner is not shared between threads: the thread that asks must tell, before "
                "another may ask, tell or save (a copy is for any thread)"
            )
        taken = ", ".join(f"{n} {short_repr(v.tolist())}" for n, v in self._decision.items())
        raise ValueError(self.policy.refusal(f"round {self.rounds + 1}", taken))

    def _ask(self, context: float | None = None) -> int:
        """Have the policy decide, unless a decision is waiting for its feedback.

        A context that is one number is given here; another is written by whoever has called
        `_claim`. What is returned is the decision if it is one number from 0, and else 0.
        """
        return self._do(ASK) if context is None else self._do(ASK_WITH_NUMBER, context)

    def _claim(self) -> None:
        """Keep other threads out until the next decision has been told, or is refused."""
        self._do(CLAIM)

    def _expect_feedback(self) -> None:
        """Refuse feedback that no decision of this thread is waiting for."""
        if not self._pending:
            self._refuse(NOT_ASKED)
        self._claim()

    def _expect_no_decision(self) -> None:
        """Refuse to go through a log while a decision waits."""
        if self._pending:
            raise RuntimeError("tell must come first: a decision is waiting for its feedback")

    def _tell(self, feedback: float | None = None) -> None:
        """Have the policy learn from feedback: one number, or what has been written."""
        self._do(TELL) if feedback is None else self._do(TELL_WITH_NUMBER, feedback)

    def _replay(self, **columns: NDArray[Any]) -> int:
        """Go through a log, in columns of its context, decision and feedback; see `ArmLearner`.

        Their values have been checked. Of the feedback, what kernels do not look at may be left out
        at the end.
        """
        self._expect_no_decision()
        with self._alone():
            before = self._words.copy()
            try:
                return replay_rows(self, columns)
            except BaseException:
                self._words[:] = before
                raise

    def _recommend(self) -> dict[str, NDArray[Any]]:
        self._do(RECOMMEND)
        return {name: view.copy() for name, view in self._report.items()}

    def _known(self) -> list[str]:
        """Return the facts, each in a word or two."""
        return describe_facts(self.policy, self.facts, self.scale)

    def _check_reward(self, name: str, reward: Any) -> float:
        """Return a reward as the policy has it, in [0, 1]; refuse what is none."""
        return self.scale.check_reward(name, reward)

    def _check_rewards(self, name: str, rewards: Any, like: Any) -> NDArray[np.float64]:
        """Return a column of rewards as the policy has them; refuse what is none."""
        found = float_column(name, rewards, self.scale.range(_UNIT), like)
        return self.scale.to_unit(found) if self._scaled else found

    @property
    def rounds_told(self) -> int:
        """How many rounds it has been told the feedback of."""
        return self.rounds - self._pending

    def __repr__(self) -> str:
        """Return the policy, what it knows, and what it has learnt."""
        known = ", ".join(self._known())
        waiting = ", waiting for feedback" if self._pending else ""
        lines = self.policy.describe(self)
        if len(lines) > _SHOWN_LINES:
            lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
        head = f"{self.policy} after {count_text(self.rounds_told, 'round')}, {known}{waiting}"
        return "\n  ".join([head, *lines])

    def save(self, path: str | Path) -> None:
        """Write everything the learner knows and has learnt to a file.

        An existing file is replaced, in one step, once the new one is complete.
        """
        write_state(Path(path), self._saved())

    def _saved(self) -> SavedLearner:
        with self._alone():
            return SavedLearner(
                policy=type(self.policy).__name__,
                module=type(self.policy).__module__,
                parameters=self.policy.parameters(),
                facts=self.facts,
                rounds=self.rounds,
                pending=self._pending,
                scale=self.scale,
                stream=self._rng.copy(),
                arrays={
                    group: {name: view.copy() for name, view in views.items()}
                    for group, views in self._kept().items()
                },
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads out for a while."""
        before = self._head[OWNER_THREAD]
        self._claim()
        try:
            yield
        finally:
            self._head[OWNER_THREAD] = before

    def _kept(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return all that a saved learner holds of the memory."""
        fields = policy_component(type(self.policy)).state.fields
        state = {name: view for name, view in self.state.items() if fields[name].kept}
        return {"state": state, "context": self._context, "decision": self._decision}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: the memory is one buffer, of which all arrays are views."""
        return _revived, (
            type(self), self.policy, self._saved(), self._loaded, self._interpreted
        )  # fmt: skip

    def _restore(self, policy: Policy, saved: SavedLearner, *, loaded: bool) -> Self:
        """Become a learner that was saved; refuse what no learner can have been."""
        self.scale = saved.scale
        told = policy.check_facts(saved.facts)
        side = policy_component(type(policy))
        sizes = side.sizes(policy.numbers() | told)
        saved = saved.keys_alone(side.state, sizes)
        # Before there is memory for it: a file may speak of any number of arms.
        saved.check_form("state", side.state, sizes)
        self._loaded = loaded
        self._prepare(policy, told)
        saved.fill(self._kept())
        side.state.rebuild_trees(state_view(self._words), sizes)
        self._rng[:] = saved.stream
        self._head[ROUNDS], self._head[PENDING] = saved.rounds, saved.pending
        if saved.pending and not (saved.rounds and self._do(CHECK)):
            raise ValueError(f"the decision that waits for feedback is none that {policy} can take")
        self._check_restored()
        return self

    def _check_restored(self) -> None:
        """Refuse a restored round or context that the room does not have."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        policies: Iterable[type[Policy]] = (),
        *,
        interpreted: bool | None = None,
    ) -> Any:
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
        interpreted : bool, optional
            Whether Python runs the kernels: by default as `keyhole.interpreted` says.

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
            wanted = wanted_execution() if interpreted is None else interpreted
            return _revived(home, policy, saved, True, wanted)
        except DAMAGE as error:
            raise ValueError(f"{path} does not fit {saved.policy} as it is now: {error}") from error


def _revived(
    kind: type[Learner],
    policy: Policy,
    saved: SavedLearner,
    loaded: bool,
    interpreted: bool | None = None,
) -> Learner:
    """Return a learner of some kind that goes on where one was saved."""
    learner = kind.__new__(kind)
    learner._interpreted = interpreted
    return learner._restore(policy, saved, loaded=loaded)


def learner_for(
    policy: Policy, facts: Mapping[str, Any], *, seed: int = 0, replication: int = 0
) -> Any:
    """Return a policy's learner, of the kind that its room asks for; Python begins none."""
    kind, way = policy.learner_class or Learner, is_interpreted()
    return kind(policy, facts, seed=seed, replication=replication, interpreted=way)
