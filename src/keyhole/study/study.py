"""The public interface of studies."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from keyhole import validation
from keyhole.contract.pending_mode_inference import Pending
from keyhole.contract.policy import Policy
from keyhole.durations import to_seconds
from keyhole.extras import require_extra
from keyhole.play.study_vocabulary import list_excluded_arms
from keyhole.study import arm_means, operations
from keyhole.study.definition import Definition, Policies, TimeoutRule
from keyhole.study.errors import StudyExistsError
from keyhole.study.events import ASKED, POLICY_CHANGED, format_metadata
from keyhole.study.group_commit import Clock, GroupCommit, check_clock_is_callable, check_now
from keyhole.study.operations import Decision, DecisionRecord
from keyhole.study.read_only_replica import ReadOnlyReplica
from keyhole.study.state import State
from keyhole.study.storage import Row, normalize_address, open_store
from keyhole.study.storage.fork_lock import FORK_LOCK

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from keyhole.pages.page import Page
    from keyhole.study.log_export import Replay
    from keyhole.study.study_summary import Shown

OnTimeout = Literal["forget", "ask_again", "no_reward"]
Durability = Literal["power_loss", "process_crash"]


class Study:
    """A policy at work on a log of events in a database, with any number of pending decisions.

    `ask` hands out decisions, and `tell` takes their feedback in any order, from any thread or
    process. Both return once their event is durable. Everything else follows from the log.

    Make a study with `create`, or open an existing study with `open`. Threads may share a study;
    each process opens the study for itself. Calls that only read (`recommend`, `history`, ...) take
    no lock, and see all durable events.

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
        policies: Policies,
        durability: Durability,
        clock: Clock,
    ) -> None:
        self.name = validation.check_line("name", name)
        self._durability = durability
        check_clock_is_callable(clock)
        policies = tuple(policies)
        store = open_store(storage, durability=durability, make=False)
        self._storage = storage = normalize_address(storage)
        try:
            number, definition_bytes = store.find(name)
            with FORK_LOCK.shared():
                Definition.from_bytes(definition_bytes, policies)  # refuses an unknown policy
        except BaseException:
            store.close()
            raise
        self._writer = GroupCommit(store, number, definition_bytes, clock, policies)
        # If the file has been replaced meanwhile, the replica's connection refuses it.
        self._replica = ReadOnlyReplica(store.connect_another, number, definition_bytes, policies)

    @classmethod
    def create(
        cls,
        storage: str | Path,
        name: str,
        policy: Policy,
        arms: Iterable[str],
        *,
        pending: Pending | None = None,
        timeout: float | str | timedelta | None = None,
        timeout_decisions: int | None = None,
        on_timeout: OnTimeout = "forget",
        seed: int = Definition.seed,
        time_unit: float = 0.0,
        durability: Durability = "power_loss",
        clock: Clock = time.time,
        exist_ok: bool = False,
        **facts: object,
    ) -> Self:
        """Create a study.

        Parameters
        ----------
        storage : str or Path
            The path of an SQLite file, which is created if need be, or the address of a PostgreSQL
            database, ``postgresql://...``.
        name : str
            The name of the study within the database, at most 500 characters.
        policy : Policy
            The policy.
        arms : iterable of str
            The names of the arms, in order. A column of a data frame will do; a set, a mapping or a
            whole data frame is refused.
        pending : {"impute", "ignore", "wait"}, optional
            What the policy does while decisions are pending: see `keyhole.policy.Policy`. By
            default the mode that costs the policy least.
        timeout : float, str or timedelta, optional
            The seconds after which a decision without feedback expires, or a text such as "90s",
            "2h" or "1d12h". By default there is no such timeout. The client that asks or tells next
            compares the time with its own clock, so the clocks of clients must differ by far less
            than the timeout.
        timeout_decisions : int, optional
            The number of later decisions after which a decision without feedback expires.
        on_timeout : {"forget", "ask_again", "no_reward"}, default "forget"
            What happens to a decision that expires. "forget": the policy learns nothing from it,
            though its round stays counted, as in the logarithm of `UCB1`; it still learns late
            feedback. This is wrong if silence is an answer, as with a visitor who does not buy: the
            policy then learns only from successes. "ask_again": the decision is handed out once
            more. "no_reward": the policy learns a reward of 0; late feedback is recorded and not
            learnt.
        seed : int, default 0
            The seed of the policy's random numbers.
        time_unit : float, default 0
            The length of a second in the unit of the limits, if runs consume time. A run that has
            been pending for longer than a limit is then known to exceed this limit. With 0, the
            policy knows only the arm and the limit of a pending run.
        durability : {"power_loss", "process_crash"}, default "power_loss"
            Whether the effect of a call survives a power loss once the call has returned, or only a
            crash of the process. With "process_crash" each call needs far less time, but a power
            loss may take the last events of a study in an SQLite file. A server allows only
            "power_loss".
        clock : callable, optional
            A function that returns the seconds since 1970, UTC.
        exist_ok : bool, default False
            Whether a study of this name may exist already. It is then opened if it was created with
            the same arguments. Otherwise a `StudyExistsError` is raised.
        **facts
            The arguments of `policy.learner`, without the number of arms.

        Returns
        -------
        Study
            The study, open.
        """
        validation.check_line("name", name)
        check_clock_is_callable(clock)
        rule = TimeoutRule(to_seconds("timeout", timeout), timeout_decisions, on_timeout)
        with FORK_LOCK.shared():
            definition = Definition.create(
                policy, arms, facts, pending=pending, rule=rule, seed=seed, time_unit=time_unit
            )
        # A study that is opened is not checked: in an older study names may look alike.
        validation.check_names("arms", definition.arms)
        with closing(open_store(storage, durability=durability)) as store:
            validation.check_names("name", [name], [study for study, _ in store.studies()])
            try:
                store.create(name, definition.to_bytes(), check_now(clock()))
            except StudyExistsError:
                if not exist_ok:
                    raise
                definition.refuse_different_study("name", name, store.find(name)[1])
        return cls(storage, name, [type(policy)], durability, clock)

    @classmethod
    def create_from(
        cls,
        storage: str | Path,
        table: Mapping[str, object],
        *,
        folder: str | Path = ".",
        own_policies: bool = False,
        exist_ok: bool = False,
        clock: Clock = time.time,
    ) -> Self:
        """Create a study that a table describes, such as the table in a TOML file.

        Parameters
        ----------
        storage, exist_ok, clock
            As in `create`.
        table : mapping
            A table with the entries ``setting``, ``name``, ``arms`` and ``policy``. The policy is a
            name, or a table of the name and the parameters. The table may also have ``facts``,
            which is a table, and any of ``pending``, ``timeout``, ``timeout_decisions``,
            ``on_timeout``, ``seed``, ``time_unit``, ``scale`` and ``durability``.
        folder : str or Path, default "."
            The folder to which paths of files in the table are relative.
        own_policies : bool, default False
            Whether the policy may be a class in a file, ``"file.py:Class"``. The file is run: allow
            it only for tables that you trust.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.study import Study
        >>> table = {"setting": "stochastic", "name": "buttons", "arms": ["red", "blue"]}
        >>> table["policy"] = {"name": "OptimisticThompson", "a": 2}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create_from(f"{folder}/s.db", table) as study:
        ...         print(study.policy)
        OptimisticThompson(a=2, b=1)
        """
        with FORK_LOCK.shared():
            from keyhole.study.study_spec import parse_study_table

            arguments = parse_study_table(table, Path(folder), own_policies)
        return cls.create(storage, **arguments, exist_ok=exist_ok, clock=clock)

    @staticmethod
    def delete(storage: str | Path, name: str) -> None:
        """Delete a study with all its decisions, for good.

        Programs that have the study open get a `StoreError` from now on; if a new study gets its
        name, they must open the new study. A file does not become smaller: later events use the
        free pages.

        Parameters
        ----------
        storage, name
            As in `open`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study, list_studies
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Study.create(f"{folder}/s.db", "buttons", UCB1(), ["red", "blue"]).close()
        ...     Study.delete(f"{folder}/s.db", "buttons")
        ...     list_studies(f"{folder}/s.db")
        []
        """
        with closing(open_store(storage, make=False)) as store:
            store.delete(store.find(validation.check_line("name", name))[0])

    @classmethod
    def open(
        cls,
        storage: str | Path,
        name: str,
        *,
        policies: Policies = (),
        durability: Durability = "power_loss",
        clock: Clock = time.time,
    ) -> Self:
        """Open an existing study.

        Parameters
        ----------
        storage, name, durability, clock
            As in `create`.
        policies : iterable of Policy classes, optional
            Classes of your own among which to look for the policy.
        """
        return cls(storage, name, policies, durability, clock)

    def close(self) -> None:
        """Close the study: it cannot be used any more."""
        with closing(self._replica):
            self._writer.close()

    def __enter__(self) -> Self:
        """Return the study."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the study."""
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        """Return the class and the arguments with which another process opens the study."""
        options = self._writer.policies, self._durability, self._writer.clock
        return type(self), (self._storage, self.name, *options)

    # Deciding.

    def ask(
        self,
        /,
        *,
        key: str | None = None,
        exclude: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **context: object,
    ) -> Decision:
        """Return a decision, once it is durable.

        If the policy is done (see `is_done`), this raises a `StudyDoneError`; a key that was used
        before still gets its decision.

        Parameters
        ----------
        key : str, optional
            An idempotency key of at most 500 characters. Every call with this key gets the same
            decision, so a client that has lost an answer can ask again.
        exclude : iterable of str, optional
            The arms that the decision must not be about, such as the pictures that this labeller
            has had. The policy decides as if these arms had just been retired, and keeps its state.
            It must be able to learn from decisions of others (`keyhole.policy.Policy.off_policy`),
            and its decisions must not be about all arms at once. If all other arms are settled,
            this raises a `StudyDoneError`, even if the excluded arms are not settled.
        metadata : mapping, optional
            A JSON object of at most 1,000 bytes, such as ``{"who": "ann"}``. It is kept beside the
            log, and the policy never sees it. `history` shows it, and `erase_metadata` erases it.
        **context
            The context of the decision, if the setting has one, such as ``threshold``.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.study import Study
        >>> from keyhole.thresholding import LSA
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = f"{folder}/s.db"
        ...     with Study.create(storage, "s", LSA(), ["cat", "dog"], threshold=0.5) as study:
        ...         print(study.ask(exclude=["cat"], metadata={"who": "ann"}).arm)
        dog
        """
        options = _parse_ask_options(exclude, metadata)
        return self._writer.submit(operations.ask, key, context, *options)

    def ask_many(
        self,
        /,
        n: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **context: object,
    ) -> list[Decision | Exception]:
        """Return many decisions, all in one transaction, once they are durable.

        This takes far less time than as many calls of `ask`. Decisions before an error stand: if
        the policy becomes done, or waits for feedback, the list ends with errors.

        Parameters
        ----------
        n : int
            The number of decisions, from 1 to 10,000.
        key : str, optional
            The idempotency key of the call. Decision i, counted from 0, gets the key ``key/i``.
        exclude, metadata, **context
            As in `ask`; they apply to all decisions.

        Returns
        -------
        list of Decision or Exception
            Each decision, or the error that `ask` would raise in its place.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         decisions = study.ask_many(2)
        ...         study.tell_many([(decision.id, 1) for decision in decisions])
        [None, None]
        """
        options = _parse_ask_options(exclude, metadata)
        return self._writer.submit(operations.ask_many, n, key, context, *options)

    def find_decision(self, key: str) -> Decision:
        """Return the decision of an idempotency key; never take a new decision.

        The key was given to `ask`, or stood in a file that `import_csv` read. An unknown key raises
        an `UnknownDecisionError`.
        """
        return self._writer.submit(operations.find_decision, key)

    def tell(self, /, id: str | Decision, *unnamed: object, **feedback: object) -> None:
        """Record the feedback of a decision; return once it is durable.

        The same feedback may be told twice. Different feedback raises a `DifferentFeedbackError`
        (see `correct`), and an unknown id an `UnknownDecisionError`.

        Parameters
        ----------
        id : str or Decision
            The decision or its id.
        *unnamed, **feedback
            The feedback, by the names that the setting gives it, such as ``reward``, or without
            names in the setting's order: see the page of the setting.
        """
        return self._writer.submit(operations.tell, id, unnamed, feedback)

    def tell_many(self, tellings: Iterable[tuple[str | Decision, Any]]) -> list[Exception | None]:
        """Record the feedback of many decisions, all in one transaction; return once it is durable.

        This takes far less time than as many calls of `tell`. Valid feedback is recorded even if
        other feedback of the same call is refused.

        Parameters
        ----------
        tellings : sequence of pairs
            Up to 10,000 pairs of a decision (or its id) and its feedback. The feedback is a dict
            with the setting's names, such as ``{"reward": 1}``, or one value, if `tell` takes it
            without a name.

        Returns
        -------
        list of Exception or None
            For each pair the error that `tell` would raise, or None.
        """
        return self._writer.submit(operations.tell_many, tellings)

    def correct(self, /, id: str | Decision, *unnamed: object, **feedback: object) -> None:
        """Correct feedback that was told by mistake; return once the correction is durable.

        The old feedback stays in the log. But the policy's state, the means and the recommendation
        become what they would be if the new feedback had been told in its place. Verdicts of a
        policy that can stop may change or vanish. In each process, the next call that needs the
        state learns the whole log anew. If the feedback is the same as before, nothing changes.

        The policy must be able to learn from decisions of others
        (`keyhole.policy.Policy.off_policy`), since with other feedback it might have taken other
        decisions. A decision that is pending, has expired without feedback or is unknown raises a
        `ValueError`.

        Parameters
        ----------
        id : str or Decision
            The decision or its id.
        *unnamed, **feedback
            As in `tell`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.study import Study
        >>> from keyhole.thresholding import LSA
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = f"{folder}/s.db"
        ...     with Study.create(storage, "s", LSA(), ["cat", "dog"], threshold=0.5) as study:
        ...         decision = study.ask()
        ...         study.tell(decision, False)
        ...         study.correct(decision, True)
        ...         print(study.recommend()["cat"])
        True
        """
        self._writer.submit_change(operations.correct, id, unnamed, feedback)

    def erase_metadata(self, decisions: Iterable[str | Decision] | None = None) -> int:
        """Erase the metadata of decisions; return how many events had any.

        The log stays as it is. Exports and copies of the database keep their metadata.

        Parameters
        ----------
        decisions : iterable of str or Decision, optional
            The decisions or their ids; by default all.
        """
        if decisions is None:
            return self._writer.erase_metadata(None)
        return self._writer.erase_metadata([operations.check_id(item) for item in decisions])

    def tell_sum(self, /, *unnamed: object, **feedback: object) -> None:
        """Record anonymous feedback: the sum of the rewards since the last call.

        Parameters
        ----------
        *unnamed, **feedback
            The sum, as the setting's vocabulary takes it: see the page of the setting.
        """
        return self._writer.submit(operations.tell_sum, unnamed, feedback)

    def expire(self, id: str | Decision) -> None:
        """Expire a pending decision now, with the consequence that `on_timeout` says."""
        return self._writer.submit(operations.expire, id)

    def recommend(self) -> Any:
        """Return the policy's recommendation so far, by the names of arms.

        What it is depends on the setting: labels by arm, the best arm, the best arm at each
        threshold, allocations, or an arm and a limit.
        """
        return self._replica.query_state(State.recommend)

    def import_csv(
        self,
        path: str | PathLike[str],
        *,
        arm: str = "arm",
        reward: str = "reward",
        converted_at: str | None = None,
        shown_at: str | None = None,
        within: float | str | timedelta | None = None,
        key: str | None = None,
        delimiter: str = ",",
        date_format: str | None = None,
        decimal: str = ".",
    ) -> int:
        r"""Begin the study from a CSV file of past decisions; return how many were imported.

        The first row names the columns; columns that no argument names are ignored. Each other row
        is a decision with its reward, in the order of time. All rows become decisions that were
        told, in one transaction. If rows are invalid, nothing is imported, and the error names up
        to five of them. To import the same file again, while its arms are in use, does nothing and
        returns 0.

        Some decisions may still convert: their reward of 1 may be yet to come. Without times, the
        file must not have such decisions, since they would count as 0. With `shown_at` and
        `converted_at` Keyhole finds them, and rows may have any order. If the window of a decision
        (`within`) was over at the last time in the file, its reward is 1 if it converted within the
        window, otherwise 0. If the window was not over, the decision is left out without `key`, and
        a warning says how many are. With `key` it is imported, too: as told if it has converted,
        otherwise as pending since it was shown. A pending decision expires like any other. Until
        then it can be told: `Study.find_decision` returns it by its key.

        The study must have no other decisions. Its policy must be able to learn from decisions of
        others (`keyhole.policy.Policy.off_policy`). In its setting a decision must be one arm, and
        its feedback one reward. Rows must not have been selected by their rewards. Arms must not
        have been chosen by what was known of a visitor, since the probabilities of such choices are
        not read. If the policy can stop and the rows of each arm are sorted by reward, a warning
        says so.

        Parameters
        ----------
        path : str or path
            The file, in UTF-8.
        arm, reward : str
            The names of the columns of arms and rewards. Arms have the names, with capitals, that
            they have in the study; rewards are in the units of the study.
        converted_at : str, optional
            The column that is filled if a decision converted, and otherwise empty. With this column
            the reward is 1 or 0, and `reward` is not read.
        shown_at : str, optional
            The column of the times of the decisions. It needs `converted_at`, which must then be a
            column of times too.
        within : float, str or timedelta, optional
            The window within which a conversion counts, in seconds or as a text such as "7d". By
            default it is the study's timeout, from which it must not differ.
        key : str, optional
            The column of idempotency keys, such as numbers of visits. A key that stands in two rows
            is refused. Without keys, a warning counts the rows that repeat an earlier row, if the
            times of `shown_at` are exact to the second. If the policy waits for each feedback
            (``pending="wait"``), decisions whose window was not over are left out in spite of their
            keys.
        delimiter : str, default ","
            The character between columns.
        date_format : str, optional
            The format of times, in the codes of `datetime.strptime`, such as "%d.%m.%Y %H:%M"; by
            default ISO 8601. Times without a time zone are in UTC. "unix", "unix_ms" and "unix_us"
            stand for numbers of seconds, milliseconds and microseconds since 1970.
        decimal : {".", ","}, default "."
            The decimal separator.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "past.csv")
        ...     _ = path.write_text("button,clicked\nred,0\nblue,1\nred,0\n")
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         print(study.import_csv(path, arm="button", reward="clicked"))
        ...         print(study.import_csv(path, arm="button", reward="clicked"))
        ...         print(study.recommend())
        3
        0
        blue
        """
        from keyhole.study.past_results import import_file

        columns = {"arm": arm, "reward": reward if converted_at is None else None}
        columns |= {"converted_at": converted_at, "shown_at": shown_at, "key": key}
        csv_format = {"delimiter": delimiter, "date_format": date_format, "decimal": decimal}
        imported_count, texts = self._writer.submit(import_file, path, columns, within, csv_format)
        for text in texts:
            warnings.warn(text, stacklevel=2)
        return imported_count

    # What may change.

    def add_arm(self, name: str) -> None:
        """Add a new arm."""
        self.add_arms([name])

    def add_arms(self, names: Iterable[str]) -> None:
        """Add new arms, all or none."""
        names = validation.check_sequence("names", names)
        lines = [validation.check_line("name", name) for name in names]
        old_names = self._replica.query_state(lambda state: [*state.arms.names])
        self._writer.submit(operations.add_arms, validation.check_names("names", lines, old_names))

    def retire(self, name: str) -> None:
        """Retire an arm for good. Its pending decisions can still be told."""
        return self._writer.submit(operations.retire_arm, name)

    def change_policy(self, /, policy: Policy, **facts: object) -> None:
        """Replace the policy by another of the same setting, which learns the whole log.

        This is possible also if the present policy fails at the log (`LearningError`).

        Parameters
        ----------
        policy : Policy
            The new policy. If there are decisions already, it must be able to learn from decisions
            of others (`keyhole.policy.Policy.off_policy`).
        **facts
            Facts that the new policy needs and the study does not have, in the study's units.
        """
        if isinstance(policy, Policy):
            for cached_state in (self._writer, self._replica):
                cached_state.policies = (type(policy), *cached_state.policies)
        self._writer.submit_change(operations.change_policy, policy, facts)

    # Looking.

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._replica.query_state(lambda state: state.definition.policy)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in use."""
        return self._replica.query_state(lambda state: state.arms.names_in_use)

    @property
    def pending(self) -> list[Decision]:
        """The decisions without feedback, oldest first."""
        return self._replica.query_state(operations.pending_decisions)

    @property
    def pending_count(self) -> int:
        """The length of `pending`, which takes less time than `pending` itself."""
        return self._replica.query_state(lambda state: len(state.pending))

    def oldest_pending(self, limit: int) -> list[Decision]:
        """Return the first decisions of `pending`, at most `limit` of them."""
        validation.check_integer("limit", limit, validation.Range(ge=0))
        return self._replica.query_state(partial(operations.pending_decisions, limit=limit))

    def decision(self, id: str | Decision) -> DecisionRecord:
        """Return a decision with its status, its feedback and the time of the feedback.

        An unknown id raises an `UnknownDecisionError`. A decision whose timeout is over stays
        pending until somebody asks, calls `expire` or, with ``on_timeout="no_reward"``, tells.

        Parameters
        ----------
        id : str or Decision
            The decision or its id.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(key="visit 7"), 1)
        ...         record = study.decision(study.find_decision("visit 7"))
        >>> record.decision.arm, record.status, record.feedback
        ('red', 'told', {'reward': 1.0})
        """
        return self._writer.submit(operations.find_record, id)

    @property
    def event_count(self) -> int:
        """The number of events in the log."""
        return self._replica.highest_seq()

    @property
    def expired_count(self) -> int:
        """The number of decisions that expired for good and of which no feedback was learnt."""
        return self._replica.query_state(lambda state: state.unlearnt_count)

    @property
    def to_ask_again(self) -> list[str]:
        """The ids of the pending decisions that expired and wait to be handed out once more.

        There are such decisions only with ``on_timeout="ask_again"``. They are handed out in this
        order, before new decisions are taken.
        """
        return self._replica.query_state(operations.ids_to_ask_again)

    @property
    def is_done(self) -> bool:
        """Whether the policy is done: every arm is settled. `ask` is then refused.

        It is never true of a policy that cannot stop: see `keyhole.policy.Policy.verdicts`. A
        policy that can stop is, for example, `keyhole.thresholding.PerArmStopping`.
        """
        return self._replica.query_state(State.are_all_arms_settled)

    @property
    def settled(self) -> dict[str, str]:
        """The final verdict on each settled arm in use, such as "above", by the arm's name."""
        return self._replica.query_state(State.settled_names)

    @property
    def remaining(self) -> list[str]:
        """The arms in use that are not settled: all of them if the policy cannot stop."""
        return self._replica.query_state(State.unsettled_names)

    def means(
        self, *, most_events: int | None = None
    ) -> dict[str, dict[str, arm_means.ArmMean]] | None:
        """Return the means of the feedback told so far, with intervals that hold at all times.

        With 95 % confidence for each arm, the intervals contain the arm's mean at all times at
        once. So whoever looks every day, and then stops or changes something, is not misled. There
        are two conditions: all rewards of an arm have the same mean, and neither whether nor when a
        reward is told depends on the reward. Rewards strictly between 0 and 1 make the interval
        wider than needed.

        With ``on_timeout="no_reward"`` the assumed rewards of 0 count, and the mean is the mean
        reward within the timeout. A success is told earlier than a failure is assumed, so an
        interval from all feedback told by now would not hold. Means and intervals therefore leave
        out all decisions after the oldest pending decision. All earlier decisions have their
        feedback, and in the order of the decisions an interval holds at all times.

        Parameters
        ----------
        most_events : int, optional
            The most events to read. If more are yet to be read, the result is None. By default all
            are read.

        Returns
        -------
        dict of str to dict of str to ArmMean
            For each arm the mean of each number in its feedback, by the arm's name and then by the
            number's name, such as "reward".

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         for reward in (1, 0, 1):
        ...             study.tell(study.ask(), reward)
        ...         print(study.means()["blue"]["reward"])
        0.00 [0.00, 0.98]
        """
        return self._replica.query_counts(arm_means.arm_means, most_events)

    def explain_intervals(self, *, most_events: int | None = None) -> str | None:
        """Return a text that says what the intervals of `means` are, or why there are none.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.
        """
        return self._replica.query_counts(arm_means.explain_intervals, most_events)

    def arms_without_feedback(self, *, most_events: int | None = None) -> list[str] | None:
        """Return the arms in use for which the policy has no feedback yet, in order.

        A recommendation may name such an arm, about which the policy has nothing but assumptions.
        With ``on_timeout="no_reward"``, a decision that expired counts as feedback.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(), 1)
        ...         print(study.arms_without_feedback())
        ['blue']
        """
        return self._replica.query_counts(arm_means.arms_without_feedback, most_events)

    def best_chances(self, *, most_events: int | None = None) -> dict[str, float] | None:
        """Return the chance of each arm in use to have the highest mean, by the policy's posterior.

        A chance is a probability given the prior of the policy (`a` and `b` of
        `OptimisticThompson`) and the rewards that `means` counts. It guarantees no error rate; only
        a policy that can stop does. Pending decisions do not count. A reward x strictly between 0
        and 1 counts as x of a success. The result is empty if the policy has no such posterior, as
        `UCB1` has none, or if means have no intervals.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import OptimisticThompson
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = f"{folder}/s.db"
        ...     with Study.create(storage, "s", OptimisticThompson(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(), 1)
        ...         chances = study.best_chances()
        >>> {arm: round(chance, 3) for arm, chance in chances.items()}
        {'red': 0.667, 'blue': 0.333}
        """
        return self._replica.query_counts(arm_means.best_chances, most_events)

    def history(self) -> "pa.Table":
        """Return all events as a table: number, time, kind, decision, and the values by name.

        The column ``excluded`` has the arms that a decision excluded; ``metadata`` has JSON.

        Returns
        -------
        pyarrow.Table
            The table. Its method ``to_pandas`` returns a data frame (needs keyhole[pandas]). Type
            checkers know the table if `pyarrow-stubs` is installed.
        """
        rows = self.log()  # before FORK_LOCK is taken, since reading may wait for other threads
        metadata = self.metadata()
        with FORK_LOCK.shared(), self._replica.convert_event_errors():
            require_extra("files", "Study.history()")
            from keyhole.study.log_export import format_table

            return format_table(self.definition, rows, metadata)

    def export(self, path: str | Path) -> None:
        """Write the whole study to a file, with a line of JSON for each event."""
        rows = self.log()
        metadata = self.metadata()
        with FORK_LOCK.shared(), self._replica.convert_event_errors():
            from keyhole.study.log_export import write_export

            write_export(Path(path), self.name, self.definition, rows, metadata)

    @classmethod
    def restore(
        cls,
        storage: str | Path,
        path: str | Path,
        *,
        name: str | None = None,
        policies: Policies = (),
    ) -> Self:
        """Create a study from an export, with the same decisions and the same state.

        Parameters
        ----------
        storage, policies
            As in `create` and `open`.
        path : str or Path
            The file that `export` wrote.
        name : str, optional
            The name of the new study; by default the old one.
        """
        with FORK_LOCK.shared():
            from keyhole.study.log_export import read_export

            old_name, definition, rows, metadata = read_export(Path(path), policies)
        with closing(open_store(storage)) as store:
            name = validation.check_line("name", name or old_name)
            validation.check_names("name", [name], [study for study, _ in store.studies()])
            store.create(name, definition.to_bytes(), time.time(), rows, metadata)
        return cls.open(storage, name, policies=policies)

    def replay(self, /, policy: Policy, **facts: object) -> "Replay":
        """Return the decisions that another policy would have taken, given the same feedback.

        Parameters
        ----------
        policy : Policy
            The other policy, of the same setting.
        **facts
            Facts that the other policy needs and the study does not have, in the study's units.

        Raises
        ------
        ValueError
            If the policy is of another setting, or if it has not taken all decisions of the study
            and cannot learn from decisions of others (`keyhole.policy.Policy.off_policy`).
        """
        rows = self.log()
        with FORK_LOCK.shared(), self._replica.convert_event_errors():
            require_extra("files", "Study.replay()")
            from keyhole.study.log_export import replay_policy

            definition = self.definition
            replay_definition = definition.with_policy(policy, facts)
            if policy != definition.policy or any(row.kind == POLICY_CHANGED for row in rows):
                operations.check_off_policy(policy, sum(row.kind == ASKED for row in rows))
            return replay_policy(replay_definition, rows)

    def log(self, *, after: int = 0, limit: int | None = None) -> list[Row]:
        """Return events as they are stored.

        Parameters
        ----------
        after : int, default 0
            The number of the event after which to begin.
        limit : int, optional
            The most events to return; by default all.
        """
        return self._replica.rows(after, limit)

    def metadata(self, *events: int) -> dict[int, str]:
        """Return the metadata of decisions as JSON, by the numbers of the decisions' events.

        Parameters
        ----------
        *events : int
            The number of the event after which to begin, and the number of the last event. By
            default, all events are read.
        """
        return self._replica.metadata(*events)

    @property
    def definition(self) -> Definition:
        """The definition with which the study was created; `Study.policy` is the present policy."""
        with FORK_LOCK.shared():
            return Definition.from_bytes(self._writer.definition_bytes, self._writer.policies)

    def __repr__(self) -> str:
        """Return address and name."""
        return f"Study({self._writer.store.where!r}, {self.name!r})"

    def __str__(self) -> str:
        """Return a summary in lines of text: policy, counts of decisions, recommendation, each arm.

        The summary is read from the log, without a lock. If this process has not learnt the log
        yet, the policy's recommendation and verdicts are not computed. A study that cannot be read
        is shown by address and name, with the reason.
        """
        try:
            from keyhole.study import study_summary

            # If nothing has been learnt yet, learning the whole log would take too long.
            policy_texts = None
            if self._replica.has_state or self._writer.has_state:
                policy_texts = self._replica.query_state(study_summary.describe_policy)
            summarize = partial(study_summary.summary_text, repr(self), policy_texts)
            text = self._replica.query_counts(summarize, study_summary.MOST_EVENTS)
            title = f"{self!r}: too many events to count here; means() counts them"
            return text or study_summary.format_texts(title, policy_texts or {})
        except Exception as error:  # else a notebook would show a traceback, not the study
            return f"{self!r}: {' '.join(str(error).split())}"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the text of `__str__`."""
        return f"<pre>{validation.escape_html(str(self))}</pre>"

    def make_page(self) -> "Page":
        """Return the page of the study: the recommendation, means, delays and the last events."""
        from keyhole.study import study_summary

        policy_texts = self._replica.query_state(study_summary.describe_policy)
        page = self._replica.query_counts(partial(study_summary.make_page, self.name, policy_texts))
        assert page is not None
        return page

    def write_report(self, path: str | Path) -> Path:
        """Write the page of the study to a file, to be shown to others; return the file.

        The page is one file of HTML, and needs no network. With 100,000 events this takes some
        seconds.

        Parameters
        ----------
        path : str or Path
            The file. An existing file is replaced.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(), 1)
        ...         study.write_report(f"{folder}/page.html").name
        'page.html'
        """
        from keyhole.pages.page import write_page

        return write_page(Path(path), self.make_page())

    def plot(self, shows: "Shown" = "decisions", *, axes: "Axes | None" = None) -> "Axes":
        """Draw a curve for each arm: its decisions so far, or the mean of its feedback so far.

        Parameters
        ----------
        shows : {"decisions", "mean"}, default "decisions"
            "decisions": how many decisions each arm has had so far; the plot shows when the policy
            began to prefer an arm. "mean": the mean of the feedback told so far, in the units of
            the study, with the intervals of `means`. The axis fits the last means, so early means
            and wide intervals may lie outside. Both draw the eight arms with the most decisions.
        axes : matplotlib Axes, optional
            The axes to draw on; by default the axes of a new figure.

        Returns
        -------
        matplotlib Axes
            The axes; the x axis counts decisions.

        Raises
        ------
        TypeError
            If the decisions of the setting are not about one arm each.
        """
        with FORK_LOCK.shared():
            require_extra("plots", "Study.plot()")
            from keyhole.study.study_summary import draw_plot
        drawn_axes = self._replica.query_counts(partial(draw_plot, shows=shows, axes=axes))
        assert drawn_axes is not None
        return drawn_axes


def _parse_ask_options(
    exclude: Iterable[str] | None, metadata: Mapping[str, Any] | None
) -> tuple[Sequence[str], str]:
    """Return the names of the arms to exclude, and the metadata as JSON ("" for none)."""
    return list_excluded_arms(exclude), "" if metadata is None else format_metadata(metadata)


def list_studies(storage: str | Path) -> list[str]:
    """Return the names of all studies in a database, oldest first.

    Parameters
    ----------
    storage : str or Path
        The path of a file, or the address of a PostgreSQL database.

    Raises
    ------
    ValueError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.study import Study
    >>> from keyhole.stochastic import UCB1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("buttons", "prices"):
    ...         Study.create(f"{folder}/all.db", name, UCB1(), ["a", "b"]).close()
    ...     list_studies(f"{folder}/all.db")
    ['buttons', 'prices']
    """
    with closing(open_store(storage, make=False)) as store:
        return [name for name, _ in store.studies()]
