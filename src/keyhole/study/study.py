"""Studies: many decisions in flight, told in any order, kept in a database."""

import time
from collections.abc import Iterable
from contextlib import closing
from datetime import timedelta
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from keyhole.contract.pending import Pending
from keyhole.contract.policy import Policy
from keyhole.study import operations
from keyhole.study.cached_state import ReadOnlyReplica
from keyhole.study.decision import Decision, decision_id
from keyhole.study.definition import Definition
from keyhole.study.events import ASKED, CHANGED
from keyhole.study.listing import summary_rows
from keyhole.study.storage import Row, StoreError, normalize_address, open_store
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.study.storage.rows import LONGEST
from keyhole.study.timeout_rule import TimeoutRule
from keyhole.study.writer import Clock, GroupCommit, check_clock, check_time
from keyhole.validate import check_distinct, check_entries, check_line, check_short_line

if TYPE_CHECKING:
    import pyarrow as pa

    from keyhole.study.log_export import Replay

After = Literal["forget", "ask_again", "no_reward"]
Survives = Literal["power_loss", "process_crash"]


class Study:
    """A policy at work, with any number of decisions in flight, in a database.

    `ask` hands out decisions, `tell` takes what came of each, in any order, from any thread or
    process. Both return when what they say is durable. Arms have names. What happens is a log of
    events; everything else follows from it.

    Make one with `create`, or `open` one that there is. Threads may share a study; a process opens
    its own. Who only looks takes no lock, and sees what is durable.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.thresholding import LSA
    >>> folder = tempfile.TemporaryDirectory()
    >>> study = Study.create(
    ...     f"{folder.name}/items.db", "labels", LSA(), ["cat", "dog", "owl"], threshold=0.5
    ... )
    >>> first, second = study.ask(), study.ask()
    >>> first.arm, second.arm  # two labellers, two items
    ('cat', 'dog')
    >>> study.tell(second.id, True)
    >>> study.tell(first.id, False)
    >>> study.recommend()
    {'cat': False, 'dog': True, 'owl': True}
    >>> study.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        storage: str | Path,
        name: str,
        *,
        policies: Iterable[type[Policy]] = (),
        durability: Survives = "power_loss",
        clock: Clock = time.time,
    ) -> None:
        self.name, self._survives = check_line("name", name), durability
        check_clock(clock)
        policies = tuple(policies)
        store = open_store(storage, durability=durability, make=False)
        self._storage = storage = normalize_address(storage)
        try:
            number_of, head = store.find(name)
            with FORK_LOCK.shared():
                Definition.from_bytes(head, policies)  # refuses a policy that is not known here
        except BaseException:
            store.close()
            raise
        self._turns = GroupCommit(store, number_of, head, clock, policies)
        # It must not take another study for this one.
        self._view = ReadOnlyReplica(store.another, number_of, head, policies)

    @classmethod
    def create(
        cls,
        storage: str | Path,
        name: str,
        policy: Policy,
        arms: Iterable[str],
        *,
        pending: Pending | None = None,
        timeout: float | timedelta | None = None,
        timeout_decisions: int | None = None,
        on_timeout: After = "forget",
        seed: int = 0,
        time_unit: float = 0.0,
        durability: Survives = "power_loss",
        clock: Clock = time.time,
        **facts: Any,
    ) -> Self:
        """Begin a study.

        Parameters
        ----------
        storage : str or Path
            The file of a database, made where there is none; or the address of one in PostgreSQL,
            ``postgresql://...``.
        name : str
            What the study is called, in at most 500 characters; there may be many in a database.
        policy : Policy
            Who decides.
        arms : iterable of str
            The names of the arms, in an order: no set, mapping or data frame, but a column of one.
        pending : {"impute", "ignore", "wait"}, optional
            What the policy does while decisions are open: see `keyhole.policy.Policy`. By
            default what costs it least.
        timeout : float or timedelta, optional
            How long to wait for feedback, in seconds. By default for ever.
        timeout_decisions : int, optional
            For how many later decisions to wait.
        on_timeout : {"forget", "ask_again", "no_reward"}, default "forget"
            What becomes of a decision then. "forget": the policy learns nothing of it, though its
            round stays counted, as in the logarithm of `UCB1`; feedback that comes later counts.
            It is wrong where silence is an answer, such as a visitor who does not buy: the policy
            then hears of successes alone. "ask_again": it is handed out once more. "no_reward": the
            policy is told so, as a reward of 0; feedback that comes later is kept but not counted.
        seed : int, default 0
            Of the policy's own randomness.
        time_unit : float, default 0
            Where runs consume time: how much of it a second is, in the unit of the limits. A run
            that has been open for longer than a limit is then known to exceed it. With 0 nothing
            is known of an open run but its arm and its limit.
        durability : {"power_loss", "process_crash"}, default "power_loss"
            What all that was answered outlives. A crash is one of the process, or of all of them;
            a power cut may then lose the last decisions of a study in a file, which needs far less
            time for each.
        clock : callable, optional
            Returns the time, in seconds since 1970, UTC.
        **facts
            What `policy.learner` takes, but the number of arms.

        Returns
        -------
        Study
            The study, open.
        """
        check_clock(clock)
        if isinstance(timeout, timedelta):
            timeout = timeout.total_seconds()
        rule = TimeoutRule(timeout, timeout_decisions, on_timeout)
        with FORK_LOCK.shared():
            head = Definition.create(
                policy, arms, facts, pending=pending, rule=rule, seed=seed, time_unit=time_unit
            )
        store = open_store(storage, durability=durability)
        try:
            store.create(check_line("name", name), head.to_bytes(), check_time(clock()))
        finally:
            store.close()
        return cls(storage, name, policies=[type(policy)], durability=durability, clock=clock)

    @classmethod
    def open(
        cls,
        storage: str | Path,
        name: str,
        *,
        policies: Iterable[type[Policy]] = (),
        durability: Survives = "power_loss",
        clock: Clock = time.time,
    ) -> Self:
        """Open a study that there is.

        Parameters
        ----------
        storage, name, durability, clock
            As in `create`.
        policies : iterable of Policy classes, optional
            Classes of your own among which to look for the policy.
        """
        return cls(storage, name, policies=policies, durability=durability, clock=clock)

    def close(self) -> None:
        """Let go of the database. A closed study cannot be used any more."""
        with closing(self._view):
            self._turns.close()

    def __enter__(self) -> Self:
        """Return the study."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process opens it."""
        turns = self._turns
        given: dict[str, Any] = {"policies": turns.policies, "clock": turns.clock}
        made = partial(type(self), durability=self._survives, **given)
        return made, (self._storage, self.name)

    # Deciding.

    def ask(self, *, key: str | None = None, **context: Any) -> Decision:
        """Return a decision, once it is durable.

        Parameters
        ----------
        key : str, optional
            A name for this question: asked again with the same key, the same decision is returned.
            For clients whose answer may get lost on the way. At most 500 characters.
        **context
            What the room shows a policy before it decides: ``threshold`` where arms are asked for
            at a threshold.
        """
        if key is not None:
            check_short_line("key", key, LONGEST)
        decision: Decision = self._turns.submit(lambda turn: operations.ask(turn, key, context))
        return decision

    def tell(self, id: str | Decision, *unnamed: Any, **feedback: Any) -> None:
        """Tell what came of a decision; return once it is durable.

        The same may be told twice. What differs from what was told before is a `ConflictError`, an
        id that was never handed out a `ValueError`.

        Parameters
        ----------
        id : str or Decision
            The decision's; or the decision itself.
        *unnamed, **feedback
            What the room calls it: a ``reward``, say; see the room's page.
        """
        name = decision_id(id)
        self._turns.submit(lambda turn: operations.tell(turn, name, unnamed, feedback))

    def tell_sum(self, *unnamed: Any, **words: Any) -> None:
        """Tell what has arrived since the last time, where nobody can say of which decision.

        Parameters
        ----------
        *unnamed, **words
            What the setting's vocabulary takes where feedback is anonymous: see its page.
        """
        self._turns.submit(lambda turn: operations.tell_sum(turn, unnamed, words))

    def expire(self, id: str | Decision) -> None:
        """Give a decision up, as if its feedback had been waited for long enough.

        It is dealt with as the study's rule says.
        """
        self._turns.submit(
            lambda turn: operations.expire(turn, operations.require_pending(turn, decision_id(id)))
        )

    def recommend(self) -> Any:
        """Return what the policy takes to be true so far, by name.

        Labels by arm, the best arm, the best at each threshold, allocations, or arm and limit.
        """
        return self._view.read(lambda fold: fold.report())

    # What may change.

    def add_arm(self, name: str) -> None:
        """Add an arm that was never pulled."""
        self.add_arms([name])

    def add_arms(self, names: Iterable[str]) -> None:
        """Add arms that were never pulled, all at once: if one is refused, none is added."""
        new = check_distinct(
            "names", [check_line("name", name) for name in check_entries("names", names)]
        )
        self._turns.submit(lambda turn: operations.add_arms(turn, new))

    def retire(self, name: str) -> None:
        """Never choose an arm again, for good; its open decisions may still be told."""
        self._turns.submit(lambda turn: operations.retire_arm(turn, name))

    def change_policy(self, policy: Policy, **facts: Any) -> None:
        """Have another policy of the same setting decide from now on; it learns the whole log.

        That can be done also where the policy so far fails at the log (`LearningError`).

        Parameters
        ----------
        policy : Policy
            The new one. Once there are decisions, one that can learn from those of others
            (`keyhole.policy.Policy.off_policy`).
        **facts
            What it needs to know beyond what the study's own was told.
        """
        if isinstance(policy, Policy):
            for known in (self._turns, self._view):
                known.policies = (type(policy), *known.policies)
        self._turns.change(lambda turn: operations.change_policy(turn, policy, facts))

    # Looking.

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return self._view.read(lambda fold: fold.head.policy)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in use."""
        return self._view.read(lambda fold: fold.arms.names_in_use)

    @property
    def pending(self) -> list[Decision]:
        """The decisions whose feedback is waited for, the oldest first."""
        return self._view.read(
            lambda fold: [operations.make_decision(fold, id, row) for id, row in fold.open.items()]
        )

    def history(self) -> "pa.Table":
        """Return all events, a row each: when, what, of which decision, and in the room's words.

        Returns
        -------
        pyarrow.Table
            ``.to_pandas()`` makes a data frame of it (needs keyhole[pandas]). Type checkers know
            it where `pyarrow-stubs` is installed.
        """
        rows = self.log()  # which may wait for other threads: forks do not wait for that
        with FORK_LOCK.shared(), self._view.naming_damage():
            from keyhole.study.log_export import format_table

            return format_table(self.head, rows)

    def export(self, path: str | Path) -> None:
        """Write the log to a file, a line of JSON an event: all there is to the study."""
        rows = self.log()
        with FORK_LOCK.shared(), self._view.naming_damage():
            from keyhole.study.log_export import write_export

            write_export(Path(path), self.name, self.head, rows)

    @classmethod
    def restore(
        cls,
        storage: str | Path,
        path: str | Path,
        *,
        name: str | None = None,
        policies: Iterable[type[Policy]] = (),
    ) -> Self:
        """Make a study of an exported one: every decision, every state as it was.

        Parameters
        ----------
        storage, policies
            As in `create` and `open`.
        path : str or Path
            What `export` wrote.
        name : str, optional
            What it is called; by default as it was.
        """
        with FORK_LOCK.shared():
            from keyhole.study.log_export import read_export

            old, head, rows = read_export(Path(path), policies)
        store = open_store(storage)
        try:
            store.create(check_line("name", name or old), head.to_bytes(), time.time(), rows)
        finally:
            store.close()
        return cls(storage, name or old, policies=policies)

    def replay(self, policy: Policy, **facts: Any) -> "Replay":
        """Return what another policy would have asked, told what had been told by then.

        Parameters
        ----------
        policy : Policy
            The other one, of the same setting.
        **facts
            What it needs to know beyond what the study's own was told.

        Raises
        ------
        ValueError
            If it is another than that of the study, and cannot learn from decisions of others
            (`keyhole.policy.Policy.off_policy`), or is of another setting.
        """
        rows = self.log()
        with FORK_LOCK.shared(), self._view.naming_damage():
            from keyhole.study.log_export import replay_policy

            head = self.head
            changed = head.with_policy(policy, facts)
            if policy != head.policy or any(row.kind == CHANGED for row in rows):
                operations.check_off_policy(policy, sum(row.kind == ASKED for row in rows))
            return replay_policy(changed, rows)

    def log(self) -> list[Row]:
        """Return all events as they are stored."""
        return self._view.rows()

    @property
    def head(self) -> Definition:
        """What the study was at the beginning; `policy` is who decides since it was changed."""
        with FORK_LOCK.shared():
            return Definition.from_bytes(self._turns.head, self._turns.policies)

    def __repr__(self) -> str:
        """Return what it is and how far it has come."""
        return f"Study({self._storage!r}, {self.name!r})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: who decides, what is recommended, and what is open."""
        try:
            rows = summary_rows(self.policy, self.arms, len(self.pending), self.recommend)
        except (StoreError, RuntimeError):  # it is closed, or its database does not answer
            return escape(repr(self))
        with FORK_LOCK.shared():
            from keyhole.results.html import Table

            return Table(repr(self), ["", ""], rows).html()
