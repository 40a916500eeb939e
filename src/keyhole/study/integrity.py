"""The check of a whole database of studies, and the rescue of a study's events before a damage."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from keyhole.contract.policy import Policy
from keyhole.study import events
from keyhole.study.definition import Definition, Policies
from keyhole.study.policy_state import LearningError
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.study.state import State
from keyhole.study.storage import Row, Store, StoreError, open_store
from keyhole.text_formatting import count_text
from keyhole.validate import Range, check_integer


@dataclass(frozen=True)
class StudyCheck:
    """The result of checking a study.

    Attributes
    ----------
    name : str
        The study.
    events : int
        The number of events it has had, missing and damaged ones included.
    whole : int
        The number of intact events, counted from the first.
    damage : str
        A line on the first damage; "" if there is none.
    """

    name: str
    events: int
    whole: int
    damage: str = ""

    def __str__(self) -> str:
        """Return the result in a line."""
        if not self.damage:
            return f"{self.name}: {count_text(self.events, 'event')}, all whole"
        verb = "is" if self.events == 1 else "are"
        proportion = f"{self.whole} of {count_text(self.events, 'event')} {verb} whole"
        return f"{self.name}: damaged: {self.damage}; {proportion}"


@dataclass(frozen=True)
class DatabaseCheck:
    """The result of checking a database.

    Attributes
    ----------
    damage : str
        A line on damaged pages and indexes; "" if there are none, or if a server checks its own.
    studies : list of StudyCheck
        The studies that were checked, oldest first.
    """

    damage: str
    studies: list[StudyCheck]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damage and all(not check.damage for check in self.studies)


def check_database(
    storage: str | os.PathLike[str],
    name: str | None = None,
    *,
    policies: Iterable[type[Policy]] = (),
) -> DatabaseCheck:
    """Check all that a database holds: pages, definitions, events and snapshots.

    Each event is compared with its digest and applied, as if the study were opened without a
    snapshot; a snapshot is compared with the state after its event.

    Parameters
    ----------
    storage : str or Path
        The database.
    name : str, optional
        The study to check; by default all.
    policies : iterable of Policy classes, optional
        Classes of your own among which to look for the policies.

    Returns
    -------
    DatabaseCheck
        The intact events, and the damage.

    Raises
    ------
    SettingCodeError
        If the code of a setting's vocabulary fails, so that its studies cannot be checked.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.study import Study, check_database
    >>> from keyhole.thresholding import LSA
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"{folder.name}/items.db"
    >>> with Study.create(storage, "labels", LSA(), ["cat", "dog"], threshold=0.5) as study:
    ...     study.tell(study.ask().id, True)
    >>> check = check_database(storage)
    >>> check.is_whole, str(check.studies[0])
    (True, 'labels: 2 events, all whole')
    >>> folder.cleanup()
    """
    with closing(open_store(storage, make=False)) as store:
        study_names = [study for study, _ in store.studies()]
        if name is not None:
            if name not in study_names:
                store.find(name)  # raises, and names the studies that there are
            study_names = [name]
        checks = [_check_study(store, study, tuple(policies)) for study in study_names]
        return DatabaseCheck(store.find_page_damage(), checks)


def _check_study(store: Store, name: str, policies: Policies) -> StudyCheck:
    whole_count = event_count = 0
    try:
        study_number, definition = store.find(name)
        event_count = store.last_seq(study_number)
        snapshot = store.snapshot(study_number)
        for state in rebuild_states(
            Definition.from_bytes(definition, policies), store.read(study_number), policies
        ):
            whole_count = state.seq
            if snapshot is not None and whole_count == snapshot[0]:
                _check_snapshot(snapshot, state, policies)
        return StudyCheck(name, event_count, whole_count)
    except events.SettingCodeError:  # it says nothing of the stored data
        raise
    except (StoreError, ValueError, TypeError, RuntimeError) as error:
        return StudyCheck(name, event_count, whole_count, str(error))


def _check_snapshot(snapshot: tuple[int, bytes], state: State, policies: Policies) -> None:
    """Refuse a usable snapshot that is not the state after its event."""
    assert state.last is not None
    snapshot_state = read_snapshot(snapshot, state.last, policies)
    if snapshot_state is not None and make_snapshot(snapshot_state) != make_snapshot(state):
        raise ValueError(f"the snapshot is not the state after event {state.seq}")


def rebuild_states(
    definition: Definition, rows: Iterable[Row], policies: Policies
) -> Iterator[State]:
    """Yield the state of a study after each of its events, all checked.

    More is checked than at opening: no id or key is used twice, and late feedback is of a decision
    as it was.

    Raises
    ------
    EventError
        At the first event that no study can have written.
    LearningError
        After all events, if the policy fails at one of them.
    """
    state = State(definition)
    applied_rows = []
    used_keys = set()
    asked_rows: dict[str | None, bytes] = {}
    learning_error: LearningError | None = None
    for row in rows:
        applied_rows.append(row)
        events.check_event(state, row)
        if row.key is not None and row.key in used_keys:
            raise events.EventError(row.seq, f"key must be new, got {row.key!r}")
        used_keys.add(row.key)
        if row.kind == events.ASKED:
            if row.decision in asked_rows:
                raise events.EventError(row.seq, f"decision must be a new id, got {row.decision!r}")
            asked_rows[row.decision] = state.row(row)
        elif row.kind in (events.TOLD_LATE, events.TOLD_TOO_LATE) and not row.body.startswith(
            asked_rows.get(row.decision, b"?")
        ):
            raise events.EventError(row.seq, f"its decision is not the one of {row.decision!r}")
        # A new policy learns the whole log, from its first event.
        new_rows = [row]
        if row.kind == events.POLICY_CHANGED:
            state = State(definition.read_change(row.body, policies, row.seq), row.seq)
            new_rows = applied_rows
        try:
            state.apply_all(new_rows)
        except LearningError as error:  # go on checking: the policy may change later
            learning_error = error
            state = State(state.definition, state.since, learns=False)
            state.apply_all(applied_rows)
        yield state
    if learning_error is not None and not state.learns:
        raise learning_error
    # The policy learns the last batch here, which may fail, too.
    state.arrays_to_save()


def copy_intact_events(
    storage: str | os.PathLike[str],
    name: str,
    event: int,
    out: str | os.PathLike[str],
    *,
    policies: Iterable[type[Policy]] = (),
) -> StudyCheck:
    """Copy the first events of a damaged study to another database, where it goes on.

    The damaged study is left as it is.

    Parameters
    ----------
    storage : str or Path
        The damaged database.
    name : str
        The study.
    event : int
        The last event to copy, at most the last intact one.
    out : str or Path
        The other database, created if need be; it must have no study of this name.
    policies : iterable of Policy classes, optional
        Classes of your own among which to look for the policy.

    Returns
    -------
    StudyCheck
        The result of checking the damaged study.
    """
    policies = tuple(policies)
    with closing(open_store(storage, make=False)) as store:
        check = _check_study(store, name, policies)
        check_integer("event", event, Range(ge=0, le=check.whole))
        study_number, definition = store.find(name)
        created_at = dict(store.studies())[name]
        rows = list(store.read(study_number, 0, event))
    with closing(open_store(out)) as rescue_store:
        rescue_store.create(name, definition, created_at, rows)
    return check
