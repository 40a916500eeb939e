import asyncio
import os
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest
from prometheus_client import generate_latest

from keyhole.serve.app import Metrics
from keyhole.stochastic import UCB1
from keyhole.study import StoreError, Study
from keyhole.study.storage import open_store
from tests.serve.conftest import Client

ITEMS = "/v1/studies/{}/decisions"


def count_descriptors():
    return len(os.listdir("/proc/self/fd"))


def copy_study(storage, count):
    """Write many studies into a database: copies of its only one, under other names."""
    with closing(open_store(storage)) as store:
        definition = store.find("buttons")[1]
        for number in range(count):
            store.create(f"s{number}", definition, 0.0)


@pytest.mark.slow
def test_of_many_studies_a_hundred_are_open(tmp_path):
    path = tmp_path / "s.db"
    options = {"durability": "process_crash"}
    Study.create(path, "buttons", UCB1(), ["red", "blue"], **options).close()
    copy_study(path, 150)
    before = count_descriptors()
    with Client(path) as client:
        assert count_descriptors() < before + 20  # none is opened at the start
        for number in range(150):
            id = client.check(201, "POST", ITEMS.format(f"s{number}"))["id"]
            client.check(200, "GET", f"/v1/studies/s{number}/recommendation")
            assert id
        assert count_descriptors() - before <= 600
        assert "keyhole_open_studies 100.0" in client.get("/metrics").text
    assert count_descriptors() <= before + 20


def test_a_study_in_use_is_not_closed(storage):
    copy_study(storage, 6)
    with Client(storage, max_open=2) as client:

        async def ask_all():
            paths = [ITEMS.format(f"s{number % 6}") for number in range(60)]
            return await asyncio.gather(*(client.http.post(path) for path in paths))

        assert {answer.status_code for answer in client.run(ask_all())} == {201}
        for number in range(6):
            path = ITEMS.format(f"s{number}")
            assert client.check(200, "GET", path)["pending_count"] == 10


def test_metrics_leave_out_a_study_that_is_closed_meanwhile(storage):
    with Study.open(storage, "buttons") as study:
        closed = Study.open(storage, "buttons")
        study.ask()
        closed.close()
        metrics = Metrics(SimpleNamespace(in_memory=[closed, study]))
        lines = generate_latest(metrics).decode().splitlines()
    assert {"keyhole_pending_decisions 1.0", "keyhole_expired_decisions 0.0"} <= set(lines)


def test_metrics_leave_out_a_study_that_another_program_deletes(client, storage):
    client.check(201, "POST", ITEMS.format("buttons"))
    Study.delete(storage, "buttons")
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert "keyhole_pending_decisions 0.0" in answer.text


def test_metrics_are_not_counted_from_a_database_that_does_not_answer():
    class Away:
        @property
        def pending_count(self):
            raise StoreError("the server does not answer")

    with pytest.raises(StoreError, match="does not answer"):
        generate_latest(Metrics(SimpleNamespace(in_memory=[Away()])))


def test_a_study_that_another_program_deletes_and_creates_is_opened_anew(client, storage):
    client.check(201, "POST", ITEMS.format("buttons"))
    Study.delete(storage, "buttons")
    client.check(503, "POST", ITEMS.format("buttons"))
    client.check(404, "POST", ITEMS.format("buttons"))
    Study.create(storage, "buttons", UCB1(), ["green"]).close()
    assert client.check(201, "POST", ITEMS.format("buttons"))["arm"] == "green"


def test_a_study_that_failed_to_open_is_opened_anew(client, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(Study, "open", fail)
        client.check(409, "POST", ITEMS.format("buttons"))
    client.check(201, "POST", ITEMS.format("buttons"))


def test_while_the_database_is_away_requests_are_to_be_sent_again(client, storage):
    path = ITEMS.format("buttons")
    client.check(201, "POST", path)
    with closing(sqlite3.connect(storage)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    away = storage.with_suffix(".away")
    storage.rename(away)
    for _ in range(2):
        answer = client.post(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert str(storage) not in answer.text
        client.check(503, "GET", "/v1/studies")
    client.check(404, "GET", "/nowhere")
    away.rename(storage)
    client.check(201, "POST", path)
    assert client.check(200, "GET", path)["pending_count"] == 2
