"""The learner: a policy at work in memory, one decision at a time."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, Self
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from keyhole import validation
from keyhole.cached_property import cached_property
from keyhole.contract.arm_names import ArmNames
from keyhole.contract.kernel_compilation import CompiledClass, compiled_policy
from keyhole.contract.policy import Policy, check_saved_state, is_done, remaining_arms, settled_arms
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.state_arrays import IntArray, copy_arm_entries
from keyhole.drivers import learner_step
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.interpreted_mode import (
    find_interpretation_request,
    interpreted,
    is_interpreted,
)
from keyhole.kernels.interpreter.error_explanation import OutOfBoundsError
from keyhole.kernels.kernel_decorators import bounds_checked, is_bounds_checked
from keyhole.kernels.tiered_execution import TieredFunction, interpret_first
from keyhole.play import saved_learner
from keyhole.play.learner_summary import describe_facts, describe_learner
from keyhole.play.learning_from_log import int_column, learn_from_log
from keyhole.play.study_vocabulary import StudyVocabulary, check_exclusion, list_excluded_arms
from keyhole.text_formatting import count_text

_REPLICATIONS: Final = validation.Range(ge=0, lt=2**63)
_NUMBERED_ARM: Final = re.compile(r"\barm (\d{1,9})\b")


class Learner:
    """A policy at work, with its known quantities and its state.

    The same kernels run here as in `keyhole.simulate`: a learner with the seed and replication of a
    simulation, told the simulation's feedback, takes the simulation's decisions. Each setting has
    its own subclass with `ask`, `tell` and `recommend`.

    A learner is told the feedback of each decision before it takes the next one. A call that raises
    an error has changed nothing. A copy (`copy.copy`, `copy.deepcopy`, `pickle`) is independent,
    and takes the same decisions.

    A learner is not shared between threads: the thread that asks must tell. Until that thread has
    told or ended, other threads are refused `ask`, `tell` and `save`. Between two decisions, and to
    read (`recommend`, `repr`), any thread may use the learner.

    Parameters
    ----------
    policy : Policy
        The policy.
    facts : mapping of str to value
        The known quantities; the value None says that a quantity is not known.
    seed : int, default 0
        The seed of the policy's random numbers; from 0, below 2**63.
    replication : int, default 0
        The replication whose random numbers the policy uses; from 0, below 2**63.
    scale : (float, float), default (0, 1)
        The least and the largest reward. Facts and rewards are given in the same units.
    interpreted : bool, optional
        Whether Python runs the kernels: see `keyhole.interpreted`. By default, Keyhole's own
        kernels are interpreted until they are compiled (`keyhole.kernels.tiered_execution`).
    arm_names : sequence of hashable values, optional
        The names of the arms, which the methods then take and return in place of numbers. Equal
        names, such as 1, 1.0 and True, are one name.
    """

    names_arms: ClassVar[bool] = False
    """Whether the learner's methods take and return names of arms, if the arms have names."""
    scale: Scale = UNIT
    """The least and the largest reward, in the units in which rewards are told."""
    _names: ArmNames | None = None
    """The names of the arms; None if they have no names."""
    _from_file = False
    """Whether the learner comes from a file."""
    _interpreted: bool | None = None
    """Whether Python runs the kernels; None if the user has not said."""

    def __init__(
        self,
        policy: Policy,
        facts: Mapping[str, Any],
        *,
        seed: int = validation.DEFAULT_SEED,
        replication: int = 0,
        scale: tuple[float, float] = UNIT,
        interpreted: bool | None = None,
        arm_names: Sequence[Any] | None = None,
    ) -> None:
        # All arguments are checked before kernels are compiled, which takes seconds.
        seed = validation.check_seed(seed)
        replication = validation.check_integer("replication", replication, _REPLICATIONS)
        self._interpreted = find_interpretation_request(interpreted)
        self.scale = Scale.of(scale)
        known_quantities = policy.check_facts(policy.setting.to_unit(facts, self.scale))
        if text := policy.caution(known_quantities, None):
            warnings.warn(text, stacklevel=3)
        self._names = self._check_arm_names(arm_names, known_quantities)
        if self._names is not None:
            validation.check_names("arms", self._names)  # warns of names that are probably mistakes
        self._allocate(policy, known_quantities)
        # The first call of the compiled step turns seed and replication into a stream.
        self._rng[:] = seed, replication
        self._run_step(learner_step.INIT)

    def _allocate(self, policy: Policy, facts: dict[str, Any], step: Kernel | None = None) -> None:
        """Allocate the memory of the learner; set the inputs, and leave all other cells 0.

        `step` is the compiled step, if the caller has it.
        """
        self.policy = policy
        self.facts = facts
        self._has_scale = self.scale != UNIT
        compiled = compiled_policy(type(policy))
        input_values = policy.numbers() | facts
        with validation.explain_memory_errors(f"{policy} with {', '.join(self._format_facts())}"):
            self._memory, views = learner_step.make_memory(compiled, compiled.sizes(input_values))
        self._rng = self._memory[learner_step.STREAM : learner_step.STREAM + 2]
        # The cells of a memoryview (`data`) are read faster than those of an array.
        self._header = self._memory[: learner_step.PLAN].view(np.int64).data
        inputs, self.state, self._context, self._decision, self._feedback, self._report = views
        for name, view in inputs.items():
            view[...] = input_values[name]
        # The indices of a learner from a file are checked, since they may be numbers of the file.
        checks_indices = self._from_file or is_bounds_checked()
        self._step = step or _find_step_kernel(self, compiled, checks_indices)

    @property
    def rounds(self) -> int:
        """The number of rounds that have begun, each with a decision that `ask` returned."""
        return self._header[learner_step.ROUNDS]

    @property
    def _has_pending_decision(self) -> bool:
        return self._header[learner_step.PENDING] == 1

    @property
    def rounds_told(self) -> int:
        """The number of rounds whose feedback has been told."""
        return int(self.rounds - self._has_pending_decision)

    @property
    def is_done(self) -> bool:
        """Whether the policy has settled every arm. `ask` is then refused."""
        return is_done(self.policy, self.state)

    @property
    def settled(self) -> dict[Any, str]:
        """The final verdict on each settled arm, such as "above", by the arm's number or name."""
        verdicts = settled_arms(self.policy, self.state)
        return {self._arm_name(arm): verdict for arm, verdict in verdicts.items()}

    @property
    def remaining(self) -> list[Any]:
        """The arms that are not settled: all of them if the policy cannot stop."""
        numbers = remaining_arms(self.policy, self.state, self.facts["arms"])
        return [self._arm_name(arm) for arm in numbers]

    @property
    def arm_names(self) -> tuple[Any, ...] | None:
        """The names of the arms; None if they are numbers from 0."""
        return None if self._names is None else self._names.names

    @cached_property
    def vocabulary(self) -> Any:
        """The setting's vocabulary, in which arms are names, or numbers if they have no names."""
        vocabulary_class = self.policy.vocabulary_class or StudyVocabulary
        arms: Any = range(self.facts["arms"]) if self._names is None else self._names
        return vocabulary_class(self.policy.setting, self.facts, arms, self.scale)

    def _check_arm_names(self, names: Any, facts: Mapping[str, Any]) -> ArmNames | None:
        """Return the names of arms; refuse them if the learner takes none, or another number."""
        if names is None:
            return None
        arm_names = names if isinstance(names, ArmNames) else ArmNames("arm_names", names)
        if not self.names_arms:
            name = type(self).__name__
            raise TypeError(
                f"arms must be a number: a {name} has no names of arms; got {arm_names!r}"
            )
        if len(arm_names) != facts["arms"]:
            raise ValueError(f"arm_names must have {facts['arms']} entries, got {len(arm_names)}")
        return arm_names

    def _arm_name(self, number: int) -> Any:
        """Return the name of an arm; its number if arms have no names."""
        return number if self._names is None else self._names[number]

    def _parse_arm_column(self, field: str, arms: Any, like: Any = None) -> NDArray[np.int64]:
        """Return a log's column of arms as numbers; it must be as long as `like`, if given."""
        if self._names is not None:
            arms = self._names.find_numbers(field, arms)
        return int_column(field, arms, validation.Range(ge=0, lt=self.facts["arms"]), like)

    def _decision_text(self, decision: Mapping[str, Any]) -> str:
        """Return a decision, given by arrays, as text for messages."""
        return self._insert_arm_names(
            ", ".join(f"{name} {validation.short_repr(v.tolist())}" for name, v in decision.items())
        )

    def _insert_arm_names(self, text: str) -> str:
        """Return a text in which arm numbers, as in "arm 3", are replaced by names."""
        names = self._names
        if names is None:
            return text

        def name_arm(match: re.Match[str]) -> str:
            number = int(match[1])
            return f"arm {names.text(number)}" if number < len(names) else match[0]

        return _NUMBERED_ARM.sub(name_arm, text)

    def _learner_without_arm_names(self) -> Self:
        """Return a learner without names of arms that shares the memory of this learner."""
        if self._names is None:
            return self
        learner = type(self).__new__(type(self))
        vars(learner).update(vars(self), _names=None)
        vars(learner).pop("vocabulary", None)
        return learner

    def _recommend_in_words(self) -> Any:
        """Return the recommendation with names of arms, in the words of studies."""
        return self.vocabulary.format_report(self._recommend(), range(self.facts["arms"]))

    def _run_step(self, operation: int, number: float = 0.0) -> int:
        """Run the compiled step; return its result, or raise the error of a negative code."""
        try:
            code: int = self._step(self._memory, operation, number)
        except IndexError as error:
            self.raise_kernel_error(error)
        return code if code >= 0 else self._retry_or_raise(code, operation, number)

    def _retry_or_raise(self, code: int, operation: int, number: float) -> int:
        """Run the step again if the thread that owns the learner has ended; else raise an error."""
        # A thread that has ended can never tell, so its learner would be lost. `_current_frames`
        # has all running threads, also those that Python did not start.
        owner = self._header[learner_step.OWNER_THREAD]
        if code == learner_step.WRONG_THREAD and owner not in sys._current_frames():
            self._header[learner_step.OWNER_THREAD] = 0
            return self._run_step(operation, number)
        self._raise_error_of_code(code)

    def raise_kernel_error(self, error: IndexError) -> NoReturn:
        """Raise a kernel's error; for an index out of bounds, say which policy or file is wrong."""
        # An explained error names the kernel and the line.
        is_explained = isinstance(error, OutOfBoundsError)
        if "out of bounds" not in str(error) or (is_explained and not self._from_file):
            raise error
        text = f"a kernel of {self.policy} reads or writes beyond an array"
        if is_explained:
            text = str(error)
        if self._from_file:
            raise ValueError(f"{text}: the file of the learner is damaged") from error
        raise IndexError(text) from error

    def _raise_error_of_code(self, code: int) -> NoReturn:
        if code == learner_step.DONE:
            rounds = count_text(self.rounds_told, "round")
            raise RuntimeError(f"{self.policy} is done: every arm is settled (after {rounds})")
        if code == learner_step.NOT_ASKED:
            raise RuntimeError("tell must follow an ask: no decision is waiting for feedback")
        if code == learner_step.WRONG_THREAD:
            raise RuntimeError(
                "a learner is not shared between threads: the thread that asks must tell, before "
                "another may ask, tell or save (any thread may use a copy)"
            )
        # The only other code is `OWN_REFUSED`: the setting does not allow the decision.
        decision = self._decision_text(self._decision)
        raise ValueError(self.policy.refusal(f"round {self.rounds + 1}", decision))

    def _ask(self, context: float | None = None, exclude: Iterable[Any] | None = None) -> int:
        """Have the policy decide, unless a decision is waiting for its feedback.

        `context` is a context of one number. For any other context, the caller first runs the
        operation `SET_OWNER`, and then writes the context to `_context`. The policy leaves out the
        arms in `exclude`. The result is the decision if it is a single number from 0, and 0
        otherwise.
        """
        if names := list_excluded_arms(exclude):
            check_exclusion(self.policy, self.vocabulary)
            numbers = {self.vocabulary.arm_number("an arm of exclude", name) for name in names}
            return self._ask_excluding_arms(numbers, context)
        if context is None:
            return self._run_step(learner_step.ASK)
        return self._run_step(learner_step.ASK_WITH_NUMBER, context)

    def _ask_excluding_arms(self, excluded: set[int], context: float | None) -> int:
        """Have the policy decide as if it had no excluded arms; its state stays as it is.

        A decision that is waiting for its feedback is returned again, unless it is about an
        excluded arm: then an error is raised.
        """
        if not self._has_pending_decision:
            arms = [arm for arm in range(self.facts["arms"]) if arm not in excluded]
            if not arms:
                raise ValueError(f"exclude must leave an arm, and has all {len(excluded)}")
            if excluded.issuperset(remaining_arms(self.policy, self.state, self.facts["arms"])):
                raise RuntimeError("exclude must leave an arm that is not settled, and leaves none")
            with self._this_thread_as_owner():
                self._decide_among(np.array(arms), context)
        for name in self.vocabulary.find_arm_fields():
            if (arm := self._decision[name].item()) in excluded:
                raise RuntimeError(
                    f"tell must come first: the decision on arm {self._arm_name(arm)!r} is waiting "
                    "for its feedback"
                )
        return self._run_step(learner_step.ASK)  # repeats the decision

    def _decide_among(self, arms: IntArray, context: float | None) -> None:
        """Take over the decision of a copy of the learner that has only these arms."""
        # Kernels cannot be told to leave out an arm: see `keyhole.study.state.State`.
        copy = type(self).__new__(type(self))
        vars(copy).update(policy=self.policy, scale=self.scale)
        vars(copy).update(_from_file=self._from_file, _interpreted=self._interpreted)
        compiled = compiled_policy(type(self.policy))
        # Indices are checked for a user's policy, since its state may have the number of an arm
        # that is left out.
        step = self._step if compiled.is_shipped else _find_step_kernel(copy, compiled, True)
        copy._allocate(self.policy, self.facts | {"arms": len(arms)}, step)
        copy._run_step(learner_step.INIT)
        copy_arm_entries(compiled.state.fields, self.state, copy.state, arms, np.arange(len(arms)))
        sizes = compiled.sizes(self.policy.numbers() | copy.facts)
        compiled.state.rebuild_trees(learner_step.cells_from_state(copy._memory), sizes)
        copy._rng[:] = self._rng
        copy._header[learner_step.ROUNDS] = self.rounds
        for name, view in self._context.items():
            copy._context[name][...] = view
        copy._ask(context)
        for name, view in self._context.items():
            view[...] = copy._context[name]
        for name, view in self._decision.items():
            view[...] = copy._decision[name]
        for name in self.vocabulary.find_arm_fields():
            self._decision[name][...] = arms[self._decision[name]]
        self._rng[:] = copy._rng
        self._header[learner_step.ROUNDS] += 1
        self._header[learner_step.PENDING] = 1

    def _require_pending_decision(self) -> None:
        """Raise an error unless a decision of this thread is waiting for feedback."""
        if self._header[learner_step.PENDING] != 1:
            self._raise_error_of_code(learner_step.NOT_ASKED)
        self._run_step(learner_step.SET_OWNER)

    def _tell(self, feedback: float | None = None) -> None:
        """Have the policy learn feedback: one number, or the values in `_feedback`."""
        if feedback is None:
            self._run_step(learner_step.TELL)
        else:
            self._run_step(learner_step.TELL_WITH_NUMBER, feedback)

    def _replay(self, **columns: NDArray[Any]) -> int:
        """Replay a log, given columns of context, decision and feedback; see `ArmLearner.replay`.

        The values have been checked. The last columns of the feedback may be left out if kernels do
        not read them.
        """
        if self._has_pending_decision:
            raise RuntimeError("tell must come first: a decision is waiting for its feedback")
        with self._this_thread_as_owner():
            memory_before = self._memory.copy()
            try:
                return learn_from_log(self, columns)
            except BaseException:
                # `_memory` holds the whole state, with the position in the random stream. Restoring
                # it undoes the rows before the invalid row.
                self._memory[:] = memory_before
                raise

    def _recommend(self) -> dict[str, NDArray[Any]]:
        """Return the values that the kernel `recommend` wrote."""
        self._run_step(learner_step.RECOMMEND)
        return {name: view.copy() for name, view in self._report.items()}

    def _format_facts(self) -> list[str]:
        return describe_facts(self.policy, self.facts, self.scale)

    def __repr__(self) -> str:
        """Return the policy, its known quantities, and a summary of its state."""
        return describe_learner(self)

    def describe(self) -> str:
        """Return the text that printing the learner shows, with all lines and not only ten.

        Examples
        --------
        >>> from keyhole.stochastic import KLUCB
        >>> learner = KLUCB().learner(arms=30)
        >>> str(learner).splitlines()[-1], learner.describe().splitlines()[-1]
        ('  ... and 20 more', '  arm 29: 0 pulls')
        """
        return describe_learner(self, in_full=True)

    def save(self, path: str | Path) -> None:
        """Save the learner to a file.

        The file is replaced atomically: it holds either the new content, complete, or the former.

        Raises
        ------
        TypeError, ValueError
            If an arm has a name that JSON cannot hold exactly. JSON holds texts, whole numbers,
            finite numbers, booleans and None. Pickle keeps every name.
        """
        saved_learner.write_learner(Path(path), self._make_saved_learner())

    def _make_saved_learner(self) -> saved_learner.SavedLearner:
        with self._this_thread_as_owner():
            return saved_learner.SavedLearner(
                policy=type(self.policy).__name__,
                module=type(self.policy).__module__,
                parameters=self.policy.parameters(),
                facts=self.facts,
                rounds=self.rounds,
                pending=self._has_pending_decision,
                scale=self.scale,
                arm_names=self.arm_names,
                stream=self._rng.copy(),
                arrays={
                    group: {name: view.copy() for name, view in views.items()}
                    for group, views in self._views_to_save().items()
                },
            )

    @contextmanager
    def _this_thread_as_owner(self) -> Iterator[None]:
        """Make this thread the owner of the learner within a block."""
        owner_before = self._header[learner_step.OWNER_THREAD]
        self._run_step(learner_step.SET_OWNER)
        try:
            yield
        finally:
            self._header[learner_step.OWNER_THREAD] = owner_before

    def _views_to_save(self) -> dict[str, dict[str, NDArray[Any]]]:
        fields = compiled_policy(type(self.policy)).state.fields
        state = {name: view for name, view in self.state.items() if fields[name].kept}
        return {"state": state, "context": self._context, "decision": self._decision}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy or pickle a learner: its saved form, since its arrays are views."""
        return _restore_learner, (
            type(self), self.policy, self._make_saved_learner(), self._from_file, self._interpreted
        )  # fmt: skip

    def _restore(self, policy: Policy, saved: saved_learner.SavedLearner) -> Self:
        """Restore a saved learner; refuse a state that no learner can have."""
        self.scale = saved.scale
        facts = policy.check_facts(saved.facts)
        self._names = self._check_arm_names(saved.arm_names, facts)
        compiled = compiled_policy(type(policy))
        sizes = compiled.sizes(policy.numbers() | facts)
        # Shapes are checked before memory is allocated, since a file may name any number of arms.
        saved.check_arrays("state", compiled.state, sizes)
        self._allocate(policy, facts)
        saved.copy_arrays_into(self._views_to_save())
        compiled.state.rebuild_trees(learner_step.cells_from_state(self._memory), sizes)
        self._rng[:] = saved.stream
        self._header[learner_step.ROUNDS] = saved.rounds
        self._header[learner_step.PENDING] = saved.pending
        # A decision needs a round. The setting's guard checks the decision of the file, since an
        # arm out of range would become an index out of range when its feedback is told.
        if saved.pending and not (saved.rounds and self._run_step(learner_step.CHECK)):
            raise ValueError(f"the decision that waits for feedback is none that {policy} can take")
        check_saved_state(policy, self.state)
        self._check_restored()
        return self

    def _check_restored(self) -> None:
        """Refuse a restored round or context that is impossible in the setting."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        policies: Iterable[type[Policy]] = (),
        *,
        interpreted: bool | None = None,
    ) -> Any:
        """Restore a learner from a file that `save` wrote.

        The restored learner takes exactly the decisions of the saved one. Every index of its
        kernels is checked, since a file may have been altered so that compiled code would write
        outside of its arrays. A file is refused if it is no saved learner, is truncated or altered,
        has a later version of the format, or does not fit the policy as it is now.

        Parameters
        ----------
        path : str or Path
            The file.
        policies : iterable of Policy classes, optional
            Your own classes among which to look for the policy. Classes of Keyhole and of imported
            modules are found without this argument.
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
        saved = saved_learner.read_learner(Path(path))
        policy_class = saved_learner.find_policy(saved.policy, saved.module, policies)
        try:
            policy = policy_class.from_parameters(saved.parameters)
            learner_class = policy.learner_class or Learner
            if not issubclass(learner_class, cls):
                raise ValueError(f"it is of the setting {policy.setting.name!r}")
            is_requested = find_interpretation_request(interpreted)
            return _restore_learner(learner_class, policy, saved, True, is_requested)
        except saved_learner.DAMAGE_ERRORS as error:
            raise ValueError(f"{path} does not fit {saved.policy} as it is now: {error}") from error


def _restore_learner(
    learner_class: type[Learner],
    policy: Policy,
    saved: saved_learner.SavedLearner,
    from_file: bool,
    interpreted: bool | None = None,
) -> Learner:
    """Return a new learner of a class with the state of a saved one."""
    learner = learner_class.__new__(learner_class)
    learner._from_file = from_file
    learner._interpreted = interpreted
    return learner._restore(policy, saved)


def make_learner(
    policy: Policy,
    facts: Mapping[str, Any],
    *,
    seed: int = validation.DEFAULT_SEED,
    replication: int = 0,
) -> Any:
    """Return a learner of the policy's learner class, without tiered execution of its kernels."""
    return (policy.learner_class or Learner)(
        policy, facts, seed=seed, replication=replication, interpreted=is_interpreted()
    )


def _find_step_kernel(learner: Learner, compiled: CompiledClass, checks_indices: bool) -> Kernel:
    """Return the step of a learner's policy, which checks every index if `checks_indices`.

    If the step is interpreted at first, it is replaced in the learner once machine code exists.
    """
    setting = learner.policy.setting
    may_interpret = learner._interpreted is None and not checks_indices and compiled.is_shipped
    tiering = interpret_first(may_interpret)
    with bounds_checked(checks_indices), interpreted(bool(learner._interpreted)), tiering:
        step = learner_step.compiled_step(compiled, setting)
    # The reference is weak: the learner holds the step, and a cycle of the two would keep the
    # learner's memory until the garbage collector finds it.
    if isinstance(step, TieredFunction):
        step.when_compiled = partial(_replace_step_kernel, ref(learner))
    return step


def _replace_step_kernel(learner: ref[Learner], step: Kernel) -> None:
    if (learner_if_alive := learner()) is not None:
        learner_if_alive._step = step
