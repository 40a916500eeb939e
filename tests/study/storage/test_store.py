"""The store interface, on both databases."""

import pytest

from keyhole.study.storage import DamagedError, Row, StoreError, open_store
from tests.forks import in_child


def row(seq, **fields):
    """Return a row of which only the number matters."""
    given = {"kind": 1, "decision": None, "key": None, "at": 0.5, "body": b""}
    return Row(seq, **(given | fields))


def add(store, study, *rows):
    """Add rows by the book."""
    store.begin(study, 0)
    store.commit(study, rows)


@pytest.fixture
def study(store):
    return store.create("labels", b"head", 1.5)


def test_a_study_is_found_with_what_it_was_created_with(store):
    number = store.create("labels", b"head\0", 1.5)
    assert store.find("labels") == (number, b"head\0")


def test_studies_are_listed_in_the_order_of_their_creation(store):
    store.create("b", b"", 1.0)
    store.create("a", b"", 2.0)
    assert store.studies() == [("b", 1.0), ("a", 2.0)]


def test_a_name_is_given_once(store, study):
    with pytest.raises(ValueError, match="name must be new, got 'labels'"):
        store.create("labels", b"other", 2.0)
    assert store.find("labels") == (study, b"head")


def test_an_unknown_name_is_refused_with_the_nearest(store, study):
    with pytest.raises(ValueError, match="got 'lables' \\(did you mean 'labels'\\?\\)"):
        store.find("lables")


def test_an_empty_store_says_that_it_is_empty(store):
    with pytest.raises(ValueError, match="it has no studies yet"):
        store.find("labels")


def test_what_another_connection_commits_is_read_before_the_next_commit(store, study):
    other = store.connect_another()
    for number, writer in enumerate((store, store, other, other, store), 1):
        old = [row(i) for i in range(1, number)]
        # A store knows what it has read or written itself.
        after = {3: 0, 5: 2}.get(number, number - 1)
        assert writer.begin(study, after) == old[after:]
        writer.commit(study, [row(number)])
    other.close()


def test_damage_by_another_connection_is_refused_each_time(store, study, raw):
    add(store, study, row(1))
    other = store.connect_another()
    other.begin(study, 0)
    other.commit(study, [row(2)])
    other.close()
    schema = "" if raw.__class__.__module__ == "sqlite3" else "keyhole."
    raw.execute(f"UPDATE {schema}event SET at = 7.5 WHERE seq = 2")
    for _ in range(3):
        with pytest.raises(DamagedError, match="event 2 of study 'labels'"):
            store.begin(study, 1)


def test_a_study_may_begin_with_rows(store):
    rows = [row(1, key="k"), row(2)]
    number = store.create("labels", b"head", 1.5, rows)
    assert list(store.read(number)) == rows
    assert store.begin(number, 2) == []
    store.commit(number, [row(3)])


def test_a_study_whose_rows_cannot_be_added_is_not_there(store):
    with pytest.raises(StoreError):
        store.create("labels", b"head", 1.5, [row(1, key="k"), row(2, key="k")])
    with pytest.raises(ValueError, match="seq must be 2, got 3"):
        store.create("labels", b"head", 1.5, [row(1), row(3)])
    assert store.studies() == []
    store.create("labels", b"head", 1.5, [row(1)])


def test_a_study_is_not_there_if_who_made_it_is_cut_off_between(store, monkeypatch):
    def cut_off(*_):
        store._drop_connection()
        raise OSError("the power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_add_rows", cut_off)
        with pytest.raises(StoreError, match="the power is gone"):
            store.create("labels", b"head", 1.5, [row(1)])
    assert store.studies() == []


def test_a_store_is_of_the_process_that_opened_it(store, study):
    def ask():
        try:
            return store.studies()
        except StoreError as error:
            return error

    assert "was opened by another process: open it again in this one" in in_child(ask)
    assert store.studies() == [("labels", 1.5)]


def test_rows_of_a_name_that_is_taken_are_not_added(store, study):
    with pytest.raises(ValueError, match="name must be new, got 'labels'"):
        store.create("labels", b"other", 2.0, [row(1)])
    assert list(store.read(study)) == []
    add(store, study, row(1))  # and nobody holds the lock


def test_a_name_stands_on_one_line(store):
    with pytest.raises(ValueError, match="name must have no control characters"):
        store.create("a\nb", b"", 0.0)


def test_a_row_comes_back_as_it_went(store, study):
    rows = [
        Row(1, 0, None, None, 1.7e9, b""),
        Row(2, 300, "0" * 26, "é", -0.125, bytes(range(256))),
    ]
    add(store, study, *rows)
    assert list(store.read(study)) == rows
    assert all(isinstance(row, Row) for row in store.read(study))


def test_begin_returns_what_is_newer(store, study):
    rows = [row(seq) for seq in (1, 2, 3)]
    add(store, study, *rows)
    assert store.begin(study, 1) == rows[1:]
    store.rollback()
    assert store.begin(study, 3) == []
    store.commit(study, [row(4)])


def test_begin_returns_what_another_has_added(address, store, study):
    other = open_store(address)
    add(other, study, row(1))
    assert store.begin(study, 0) == [row(1)]
    store.rollback()
    other.close()


def test_studies_do_not_see_each_other(store, study):
    other = store.create("other", b"", 0.0)
    add(store, study, row(1, decision="d", key="k"))
    add(store, other, row(1, decision="d", key="k", body=b"other"))
    assert list(store.read(study)) == [row(1, decision="d", key="k")]
    assert store.events_of_decision(other, "d") == [row(1, decision="d", key="k", body=b"other")]


def test_rows_of_a_decision_are_found(store, study):
    add(store, study, row(1, decision="a"), row(2, decision="b"), row(3, decision="a", kind=2))
    assert [found.seq for found in store.events_of_decision(study, "a")] == [1, 3]
    assert store.events_of_decision(study, "c") == []


def test_the_row_of_a_key_is_found(store, study):
    add(store, study, row(1), row(2, key="k"))
    assert store.find_by_key(study, "k") == row(2, key="k")
    assert store.find_by_key(study, "l") is None


def test_what_is_open_can_be_looked_up_under_the_lock(store, study):
    add(store, study, row(1, key="k"))
    store.begin(study, 1)
    assert store.find_by_key(study, "k") == row(1, key="k")
    store.commit(study, [row(2)])
    assert len(list(store.read(study))) == 2


def test_a_long_log_is_read_in_pieces(store, study):
    add(store, study, *(row(seq) for seq in range(1, 10_001)))
    for after, limit, found in ((0, None, 10_000), (9_990, None, 10), (3, 5_000, 5_000), (0, 0, 0)):
        numbers = [row.seq for row in store.read(study, after, limit)]
        assert numbers == list(range(after + 1, after + found + 1))


def test_reading_goes_on_beside_writing(store, study):
    add(store, study, row(1), row(2))
    reader = store.read(study, 0)
    assert next(reader) == row(1)
    store.begin(study, 2)
    store.commit(study, [row(3)])
    assert [row.seq for row in reader] == [2, 3]


def test_what_is_rolled_back_is_not_there(store, study):
    store.begin(study, 0)
    store.rollback()
    assert list(store.read(study)) == []
    add(store, study, row(1))


def test_rolling_back_nothing_is_nothing(store):
    store.rollback()
    store.rollback()


@pytest.mark.parametrize("numbers", [(2,), (0,), (1, 3), (1, 1)])
def test_numbers_have_no_gaps(store, study, numbers):
    store.begin(study, 0)
    with pytest.raises(ValueError, match=r"seq must be \d, got \d"):
        store.commit(study, [row(seq) for seq in numbers])
    assert list(store.read(study)) == []
    add(store, study, row(1))


def test_a_commit_needs_the_lock(store, study):
    with pytest.raises(RuntimeError, match="commit needs the lock"):
        store.commit(study, [row(1)])
    add(store, study, row(1))
    with pytest.raises(RuntimeError, match="commit needs the lock"):
        store.commit(study, [row(2)])


def test_a_key_is_used_once_and_nothing_is_half_written(store, study):
    add(store, study, row(1, key="k"))
    store.begin(study, 1)
    with pytest.raises(StoreError, match="another process has used this number or key"):
        store.commit(study, [row(2), row(3, key="k")])
    assert list(store.read(study)) == [row(1, key="k")]
    store.begin(study, 1)
    store.commit(study, [row(2, key="l")])


def test_a_number_is_used_once(store, study):
    # Whoever ignores the lock fails by the table's own key.
    store.begin(study, 0)
    store._next_seq = 0
    store.rollback()
    add(store, study, row(1))
    store.begin(study, 1)
    store._next_seq = 1
    with pytest.raises(StoreError, match="another process has used this number or key"):
        store.commit(study, [row(1, body=b"second")])
    assert list(store.read(study)) == [row(1)]


def test_a_log_that_has_become_shorter_is_not_used_any_more(address, store, study):
    add(store, study, row(1))
    with pytest.raises(StoreError, match="event 5 of study 1 had been read and is missing"):
        store.begin(study, 5)
    for call in (lambda: store.begin(study, 1), lambda: store.events_after(study, 0)):
        with pytest.raises(StoreError, match="open the study again"):
            call()
    other = open_store(address)
    assert other.begin(study, 1) == []
    other.close()


def test_a_snapshot_takes_the_place_of_an_older_one(store, study):
    add(store, study, *map(row, range(1, 8)))
    assert store.snapshot(study) is None
    store.save_snapshot(study, 5, b"five")
    store.save_snapshot(study, 7, b"seven")
    assert store.snapshot(study) == (7, b"seven")


def test_a_snapshot_does_not_take_the_place_of_a_newer_one(store, study):
    add(store, study, *map(row, range(1, 8)))
    store.save_snapshot(study, 7, b"seven")
    store.save_snapshot(study, 5, b"five")
    assert store.snapshot(study) == (7, b"seven")


def test_a_store_is_there_when_it_is_opened_again(address, store, study):
    add(store, study, row(1))
    store.close()
    again = open_store(address)
    assert again.find("labels") == (study, b"head")
    assert list(again.read(study)) == [row(1)]
    again.close()


def test_closing_undoes_what_was_begun(address, store, study):
    store.begin(study, 0)
    store.close()
    other = open_store(address)
    add(other, study, row(1))
    other.close()


@pytest.mark.parametrize("address", ["mysql://localhost/a", "sqlite:///a.db"], indirect=False)
def test_another_kind_of_address_is_refused(address):
    with pytest.raises(ValueError, match=r"storage must be a path or begin with postgresql://"):
        open_store(address)


def test_an_address_is_a_text_or_a_path():
    with pytest.raises(TypeError, match="storage must be a path or an address, got 3"):
        open_store(3)


def test_what_a_commit_outlives_is_one_of_two(tmp_path):
    with pytest.raises(ValueError, match="durability must be one of power_loss, process_crash"):
        open_store(tmp_path / "a.db", durability="fire")
