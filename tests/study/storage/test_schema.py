"""Migrations of older databases, on both back ends."""

from contextlib import closing

import pytest

from keyhole.study.storage import Row, StoreError, open_store, schema

ROWS = [
    Row(1, 0, None, None, 1.5, b"created"),
    Row(2, 1, "0" * 26, "key", 2.5, bytes(range(256))),
    Row(3, 2, "0" * 26, None, 3.5, b""),
]
# What the next version may do: add a column, and fill it from what is there.
NEXT = (
    "ALTER TABLE {schema}event ADD COLUMN size {integer}",
    "UPDATE {schema}event SET size = length(body)",
)


@pytest.fixture
def old(address):
    """Fill a store of today's version; return its address."""
    with closing(open_store(address)) as store:
        study = store.create("labels", b"head", 0.5)
        store.begin(study, 0)
        store.commit(study, ROWS)
        store.save_snapshot(study, 2, b"snapshot")
    return address


def upgrade(monkeypatch, *steps):
    """Let the package know of further versions."""
    monkeypatch.setattr("keyhole.study.storage.schema.MIGRATIONS", [*schema.MIGRATIONS, *steps])


def check(store):
    """Check that all is there that was written to the old store."""
    study, definition = store.find("labels")
    assert definition == b"head"
    assert list(store.read(study)) == ROWS
    assert store.events_of_decision(study, "0" * 26) == ROWS[1:]
    assert store.find_by_key(study, "key") == ROWS[1]
    assert store.snapshot(study) == (2, b"snapshot")


def sizes(store):
    """Return what the next version has added."""
    sql = "SELECT size FROM {schema}event ORDER BY seq".format_map(store.dialect)
    return [size for (size,) in store._query(sql, ())]


def test_a_store_is_walked_up_with_all_that_is_in_it(old, monkeypatch):
    upgrade(monkeypatch, NEXT)
    with closing(open_store(old)) as store:
        check(store)
        assert sizes(store) == [7, 256, 0]


def test_a_store_is_walked_up_once(old, monkeypatch):
    upgrade(monkeypatch, NEXT)
    open_store(old).close()
    with closing(open_store(old)) as store:
        check(store)


def test_a_store_is_walked_over_several_versions(old, monkeypatch):
    upgrade(monkeypatch, NEXT, ("UPDATE {schema}event SET size = 2 * size",))
    with closing(open_store(old)) as store:
        assert sizes(store) == [14, 512, 0]


def test_a_walk_that_fails_leaves_the_store_as_it_was(old, monkeypatch):
    with monkeypatch.context() as patch:
        upgrade(patch, NEXT, ("UPDATE {schema}nothing SET size = 1",))
        with pytest.raises(RuntimeError, match="nothing"):
            open_store(old)
    with closing(open_store(old)) as store:
        check(store)
    upgrade(monkeypatch, NEXT)
    with closing(open_store(old)) as store:
        assert sizes(store) == [7, 256, 0]


def test_a_store_of_version_3_takes_metadata_from_then_on(address, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("keyhole.study.storage.schema.MIGRATIONS", schema.MIGRATIONS[:3])
        with closing(open_store(address)) as store:
            study = store.create("labels", b"head", 0.5, ROWS)
    with closing(open_store(address)) as store:
        assert list(store.read(study)) == ROWS
        store.begin(study, 0)
        store.commit(study, [ROWS[1]._replace(seq=4, key="k")], {4: "{}"})
        assert store.metadata(study) == {4: "{}"}


def test_a_new_store_takes_the_same_walk(address, monkeypatch):
    upgrade(monkeypatch, NEXT)
    with closing(open_store(address)) as store:
        store.create("labels", b"", 0.0)
        assert sizes(store) == []


def test_whoever_knows_the_older_version_alone_is_refused(old, monkeypatch):
    with monkeypatch.context() as patch:
        upgrade(patch, NEXT)
        open_store(old).close()
    with pytest.raises(ValueError, match=r"a schema of version at most \d, got \d"):
        open_store(old)


@pytest.mark.parametrize("call", ["begin", "since", "keep", "create"])
def test_who_has_a_store_open_while_a_newer_version_comes_does_not_go_on(store, raw, call):
    study = store.create("labels", b"head", 0.5, ROWS)
    calls = {
        "begin": lambda: store.begin(study, 3),
        "since": lambda: store.events_after(study, 3),
        "keep": lambda: store.save_snapshot(study, 3, b"snapshot"),
        "create": lambda: store.create("other", b"head", 0.5),
    }
    newer = "PRAGMA user_version = 9"
    if store.dialect["schema"]:
        newer = "UPDATE keyhole.version SET version = 9"
    raw.execute(newer)
    with pytest.raises(StoreError, match=r"brought to version 9 .* use the newer one"):
        calls[call]()
    store.close()  # so that it connects anew
    with pytest.raises(StoreError, match=r"version.* 9\b.* newer"):
        calls[call]()
    older = f"PRAGMA user_version = {len(schema.MIGRATIONS)}"
    if store.dialect["schema"]:
        older = f"UPDATE keyhole.version SET version = {len(schema.MIGRATIONS)}"
    raw.execute(older)
    assert store.snapshot(study) is None
    assert len(store.studies()) == 1
