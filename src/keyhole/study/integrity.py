"""The check of a database of studies, and the rescue of the events before a damage."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from keyhole.contract.policy import Policy
from keyhole.study import events
from keyhole.study.definition import Definition, Policies
from keyhole.study.log_state import find_corrections
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.study.state import LearningError, State
from keyhole.study.storage import Row, Store, StoreError, open_store
from keyhole.text_formatting import count_text
from keyhole.validation import Range, check_integer

_KINDS_WITH_ROW: Final = (events.TOLD_LATE, events.TOLD_TOO_LATE, events.CORRECTED)
"""The kinds of events whose body begins with the row of their decision."""


@dataclass(frozen=True)
class StudyCheck:
    """The result of checking a study.

    Attributes
    ----------
    name : str
        The name of the study.
    events : int
        The number of events that were ever written, even if they are now missing or damaged.
    whole : int
        The number of events before the first damage.
    damage : str
        A line that describes the first damage; "" if there is none.
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
        A line that describes damaged pages and indexes; "" if there are none. It is always "" for
        PostgreSQL, whose server checks its pages itself.
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

    Each event is compared with its digest and applied, as when a study is opened without a
    snapshot. A snapshot is compared with the state after its last event.

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
        The damage, and the number of intact events of each study.

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
                store.find(name)  # raises an error that names the existing studies
            study_names = [name]
        checks = [_check_study(store, study, tuple(policies)) for study in study_names]
        return DatabaseCheck(store.find_page_damage(), checks)


def _check_study(store: Store, name: str, policies: Policies) -> StudyCheck:
    whole_count = event_count = 0
    try:
        study_number, definition_bytes = store.find(name)
        event_count = store.highest_seq(study_number)
        snapshot_seq, snapshot = store.snapshot(study_number) or (0, b"")
        rows, read_error = _read_intact_rows(store, study_number)
        definition = Definition.from_bytes(definition_bytes, policies)
        correction_seqs = [row.seq for row in rows if row.kind == events.CORRECTED]
        for state in rebuild_states(definition, rows, policies):
            whole_count = state.seq
            # A snapshot from before a correction is not used any more.
            if whole_count == snapshot_seq and snapshot_seq >= max(correction_seqs, default=0):
                _check_snapshot(snapshot, state, policies)
        if read_error is not None:
            raise read_error
        return StudyCheck(name, event_count, whole_count)
    except events.SettingCodeError:  # the code is wrong, not the stored data
        raise
    except (StoreError, ValueError, TypeError, RuntimeError) as error:
        return StudyCheck(name, event_count, whole_count, str(error))


def _read_intact_rows(store: Store, study: int) -> tuple[list[Row], StoreError | None]:
    """Return a study's rows before the first damage, and the error that names it, if any."""
    rows: list[Row] = []
    try:
        for row in store.read(study):
            rows.append(row)
    except StoreError as error:
        return rows, error
    return rows, None


def _check_snapshot(snapshot: bytes, state: State, policies: Policies) -> None:
    """Refuse a usable snapshot that differs from the state after its last event."""
    assert state.last_event is not None
    snapshot_state = read_snapshot(snapshot, state.last_event, policies)
    if snapshot_state is not None and make_snapshot(snapshot_state) != make_snapshot(state):
        raise ValueError(f"the snapshot is not the state after event {state.seq}")


class _LogCheck:
    """The check of each event against all events before it."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._rows_by_id: dict[str | None, bytes] = {}
        self._told_ids: set[str | None] = set()

    def check_event(self, state: State, event: Row) -> None:
        """Refuse an event that contradicts an earlier event.

        Keys and ids must be new. Late feedback and corrections must begin with the row of their
        decision as it was asked. A correction must be of a decision that was told.

        Raises
        ------
        EventError
            With the reason.
        """
        row, _ = state.split_late_body(event.body)  # used only for `_KINDS_WITH_ROW`
        why = ""
        if event.key is not None and event.key in self._keys:
            why = f"key must be new, got {event.key!r}"
        elif event.kind == events.ASKED and event.decision in self._rows_by_id:
            why = f"decision must be a new id, got {event.decision!r}"
        elif event.kind in _KINDS_WITH_ROW and row != self._rows_by_id.get(event.decision):
            why = f"its decision differs from what was asked as {event.decision!r}"
        elif event.kind == events.CORRECTED and event.decision not in self._told_ids:
            why = f"it corrects {event.decision!r}, of which nothing was told"
        if why:
            raise events.EventError(event.seq, why)
        if event.key is not None:
            self._keys.add(event.key)
        if event.kind == events.ASKED:
            self._rows_by_id[event.decision] = state.decision_row(event)
        elif event.kind in (events.TOLD, *_KINDS_WITH_ROW):
            self._told_ids.add(event.decision)


def rebuild_states(
    definition: Definition, rows: Sequence[Row], policies: Policies
) -> Iterator[State]:
    """Yield the state of a study after each of its events, and check each event.

    All corrections apply from the first state on. Opening a study without a snapshot makes the same
    checks, except those of `_LogCheck`.

    Raises
    ------
    EventError
        At the first event that no study can have written.
    LearningError
        After all events, if the policy fails at an event and no later event changes the policy.
    """
    corrections = find_corrections(rows)
    state = State(definition, 0, corrections)
    applied_rows = []
    log_check = _LogCheck()
    learning_error: LearningError | None = None
    for row in rows:
        applied_rows.append(row)
        events.check_event(state, row)
        log_check.check_event(state, row)
        # A new policy learns the whole log, from its first event.
        new_rows = [row]
        if row.kind == events.POLICY_CHANGED:
            changed_definition = definition.read_change(row.body, policies, row.seq)
            state = State(changed_definition, row.seq, corrections)
            new_rows = applied_rows
        try:
            state.apply_all(new_rows)
        except LearningError as error:  # go on, since a later event may change the policy
            learning_error = error
            state = State(state.definition, state.definition_seq, corrections, learns=False)
            state.apply_all(applied_rows)
        yield state
    if learning_error is not None and not state.learns:
        raise learning_error
    state.arrays_to_save()  # the policy learns the last batch, at which it may fail, too


def copy_intact_events(
    storage: str | os.PathLike[str],
    name: str,
    event: int,
    out: str | os.PathLike[str],
    *,
    policies: Iterable[type[Policy]] = (),
) -> StudyCheck:
    """Copy the first events of a damaged study to another database, where the study goes on.

    The damaged study does not change.

    Parameters
    ----------
    storage : str or Path
        The damaged database.
    name : str
        The name of the study.
    event : int
        The number of the last event to copy; no event up to it may be damaged.
    out : str or Path
        The other database. It is created if need be, and must have no study of this name.
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
        metadata = store.metadata(study_number)
    with closing(open_store(out)) as rescue_store:
        rescue_store.create(name, definition, created_at, rows, metadata)
    return check
