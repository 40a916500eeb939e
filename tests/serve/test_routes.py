import json
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from keyhole.delayed import RegressionUCB
from keyhole.serve.bodies import EventBody
from keyhole.serve.routes import ROUTES
from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.thresholding import LSA, PerArmStopping
from tests.serve.conftest import Client

BUTTONS = "/v1/studies/buttons"
ITEMS = f"{BUTTONS}/decisions"
TABLE = {"setting": "stochastic", "name": "shop-2", "arms": ["a", "b"], "policy": "UCB1"}


def test_a_decision_is_asked_for_and_told(client, storage):
    decision = client.check(201, "POST", ITEMS)
    assert decision["arm"] == "red"
    assert datetime.fromisoformat(decision["at"]).tzinfo is UTC
    client.check(204, "POST", f"{ITEMS}/{decision['id']}/feedback", json={"reward": 1})
    client.check(204, "POST", f"{ITEMS}/{decision['id']}/feedback", json={"reward": 1})
    problem = client.check(409, "POST", f"{ITEMS}/{decision['id']}/feedback", json={"reward": 0})
    assert problem["type"] == "/problems/different-feedback"
    record = client.check(200, "GET", f"{ITEMS}/{decision['id']}")
    assert (record["status"], record["feedback"]) == ("told", {"reward": 1.0})
    with Study.open(storage, "buttons") as study:
        assert len(study.log()) == 2


def test_a_key_of_the_request_gets_the_same_decision(client):
    headers = {"Idempotency-Key": "visit 7"}
    first = client.check(201, "POST", ITEMS, headers=headers)
    assert client.check(201, "POST", ITEMS, headers=headers) == first
    many = client.check(200, "POST", f"{ITEMS}/many", json={"count": 3}, headers=headers)
    assert client.check(200, "POST", f"{ITEMS}/many", json={"count": 3}, headers=headers) == many
    assert client.check(200, "GET", ITEMS)["pending_count"] == 4


def test_a_key_is_the_same_in_utf_8_and_in_latin_1(client):
    decisions = [
        client.check(201, "POST", ITEMS, headers={b"Idempotency-Key": "zoë-7".encode(encoding)})
        for encoding in ("utf-8", "latin-1")
    ]
    assert decisions[0] == decisions[1]


def test_many_are_told_each_by_itself(client):
    decisions = client.check(200, "POST", f"{ITEMS}/many", json={"count": 3})["decisions"]
    ids = [decision["id"] for decision in decisions]
    tellings = [
        {"id": ids[0], "feedback": {"reward": 1}},
        {"id": "nobody's", "feedback": {"reward": 1}},
        {"id": ids[1], "feedback": {"reward": "much"}},
        {"id": ids[2], "feedback": {"reward": 0}},
    ]
    outcomes = client.check(200, "POST", f"{BUTTONS}/feedback", json={"tellings": tellings})
    first, unknown, wrong, last = outcomes["outcomes"]
    assert first is last is None
    assert (unknown["status"], wrong["status"]) == (404, 422)
    assert client.check(200, "GET", ITEMS)["pending_count"] == 1


def test_those_before_an_error_are_handed_out(client, storage):
    policy = PerArmStopping(LSA())
    Study.create(storage, "wait", policy, ["a"], threshold=0.5, pending="wait").close()
    path = "/v1/studies/wait/decisions"
    first, second = client.check(200, "POST", f"{path}/many", json={"count": 2})["decisions"]
    assert first["arm"] == "a"
    assert second["type"] == "/problems/pending-decision"


def test_arms_come_and_go(client):
    state = client.check(200, "POST", f"{BUTTONS}/arms", json={"arms": ["green", "x/y"]})
    assert state["arms"] == ["red", "blue", "green", "x/y"]
    state = client.check(200, "POST", f"{BUTTONS}/arms/retire", json={"arm": "x/y"})
    assert state["arms"] == ["red", "blue", "green"]
    problem = client.check(422, "POST", f"{BUTTONS}/arms/retire", json={"arm": "gren"})
    assert problem["type"] == "/problems/unknown-arm"
    assert client.check(200, "GET", f"{BUTTONS}/arms")["remaining"] == state["arms"]


def test_a_study_is_looked_at(client):
    ids = [client.check(201, "POST", ITEMS)["id"] for _ in range(3)]
    client.check(204, "POST", f"{ITEMS}/{ids[0]}/feedback", json={"reward": 1})
    client.check(204, "POST", f"{ITEMS}/{ids[1]}/expire")
    assert client.check(200, "GET", f"{BUTTONS}/recommendation") == {"recommendation": "red"}
    means = client.check(200, "GET", f"{BUTTONS}/means")["means"]
    assert means["red"]["reward"]["mean"] == 1
    pending = client.check(200, "GET", f"{ITEMS}?limit=1")
    assert [decision["id"] for decision in pending["pending"]] == [ids[2]]
    assert client.check(200, "GET", BUTTONS)["policy"] == "UCB1()"
    assert client.check(200, "GET", "/v1/studies") == {"studies": ["buttons"]}


def read_history(client, query):
    answer = client.get(f"{BUTTONS}/history{query}")
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.text.splitlines()]


def test_history_begins_after_an_event_wherever_one_has_read_before(client):
    client.check(200, "POST", f"{ITEMS}/many", json={"count": 20})
    events = read_history(client, "")
    assert [event["seq"] for event in events] == list(range(1, 21))
    for after, limit in ((5, 3), (8, 1), (2, 4), (19, 5), (20, 5), (99, 5), (0, 20)):
        answer = read_history(client, f"?after={after}&limit={limit}")
        assert answer == events[after : after + limit]


def test_history_shows_metadata_until_it_is_erased(client, storage):
    client.check(201, "POST", ITEMS, json={"metadata": {"who": "ann"}})
    client.check(201, "POST", ITEMS)
    assert [event.get("metadata") for event in read_history(client, "")] == [{"who": "ann"}, None]
    assert "metadata" not in read_history(client, "?after=1")[0]
    with Study.open(storage, "buttons") as study:
        study.erase_metadata()
    assert "metadata" not in read_history(client, "")[0]


def test_sums_are_told_where_feedback_is_anonymous(client, storage):
    problem = client.check(422, "POST", f"{BUTTONS}/sums", json={"reward": 3})
    assert problem["type"] == "/problems/invalid-value"
    policy = RegressionUCB(expected_delay=50)
    Study.create(storage, "shop", policy, ["red", "blue"], feedback="anonymous").close()
    for _ in range(2):
        client.check(201, "POST", "/v1/studies/shop/decisions")
    client.check(204, "POST", "/v1/studies/shop/sums", json={"total": 1.5, "rounds": 2})
    with Study.open(storage, "shop") as study:
        assert study.history()["event"].to_pylist()[-1] == "sum told"


def test_a_study_is_created_and_deleted(client):
    study = client.check(201, "POST", "/v1/studies", json=TABLE)
    assert study["arms"] == ["a", "b"]
    assert client.check(409, "POST", "/v1/studies", json=TABLE)["type"] == "/problems/study-exists"
    assert client.check(201, "POST", "/v1/studies/shop-2/decisions")["arm"] == "a"
    client.check(204, "DELETE", "/v1/studies/shop-2")
    client.check(404, "GET", "/v1/studies/shop-2")
    client.check(404, "DELETE", "/v1/studies/shop-2")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"policy": "/etc/mine.py:P"}, "policy"),
        ({"policy": {"name": "mine.py:P"}}, "policy"),
        ({"name": 3}, "name must be"),
        ({"name": ".."}, "name must not be '.', '..' or blank, got '..'"),
        ({"name": " "}, "name must not be '.', '..' or blank, got ' '"),
        ({"arms": "ab"}, "arms"),
        ({"sedd": 1}, "sedd"),
    ],
)
def test_what_no_study_can_be_made_of_is_refused(client, tmp_path, entries, message):
    problem = client.check(422, "POST", "/v1/studies", json=TABLE | entries)
    assert message in problem["detail"]
    assert str(tmp_path) not in problem["detail"]


@pytest.mark.parametrize("word", ["key", "exclude", "metadata", "n"])
def test_a_context_has_words_of_the_setting_alone(client, word):
    client.check(422, "POST", ITEMS, json={"context": {word: 1}})
    client.check(422, "POST", f"{ITEMS}/many", json={"count": 1, "context": {word: 1}})


def test_a_name_with_a_slash_is_encoded_in_paths(client):
    client.check(201, "POST", "/v1/studies", json=TABLE | {"name": "shop/new arms"})
    path = "/v1/studies/shop%2Fnew%20arms"
    assert client.check(200, "GET", path)["name"] == "shop/new arms"
    assert client.check(201, "POST", f"{path}/decisions")["arm"] == "a"
    assert client.get("/studies/shop%2Fnew%20arms").status_code == 200
    client.check(404, "GET", "/v1/studies/shop/new%20arms")
    client.check(204, "DELETE", path)


def test_a_labeller_gets_no_picture_twice(client, storage):
    Study.create(storage, "labels", LSA(), ["cat", "dog", "owl"], threshold=0.5).close()
    pictures = []
    for _ in range(3):
        body = {"exclude": pictures, "metadata": {"who": "ann"}}
        decision = client.check(201, "POST", "/v1/studies/labels/decisions", json=body)
        pictures.append(decision["arm"])
    assert sorted(pictures) == ["cat", "dog", "owl"]
    body = {"exclude": pictures}
    client.check(409, "POST", "/v1/studies/labels/decisions", json=body)


def test_a_mistake_is_set_right(client):
    id = client.check(201, "POST", ITEMS)["id"]
    client.check(204, "POST", f"{ITEMS}/{id}/feedback", json={"reward": 1})
    client.check(204, "POST", f"{ITEMS}/{id}/correction", json={"reward": 0})
    assert client.check(200, "GET", f"{ITEMS}/{id}")["feedback"] == {"reward": 0.0}


def test_answers_are_as_the_document_says(client):
    document = client.check(200, "GET", "/v1/openapi.json")
    id = client.check(201, "POST", ITEMS)["id"]
    for route in ROUTES:
        if (
            route.method == "GET"
            and route.path.startswith("/v1")
            and route.response_type is not EventBody
        ):
            answer = client.check(200, "GET", route.path.format(study="buttons", id=id))
            responses = document["paths"][route.path]["get"]["responses"]
            schema = responses["200"]["content"]["application/json"]["schema"]
            Draft202012Validator(schema | {"components": document["components"]}).validate(answer)


def test_a_request_has_an_id(client):
    answer = client.get(BUTTONS, headers={"X-Request-Id": "page-7"})
    assert answer.headers["x-request-id"] == "page-7"
    problem = client.get("/v1/studies/x", headers={"X-Request-Id": 'a" forged'})
    assert problem.json()["instance"] == problem.headers["x-request-id"] != 'a" forged'


def test_every_answer_has_headers_that_keep_browsers_from_guessing(client):
    for path in (BUTTONS, "/nowhere", "/v1/studies/x", "/healthz", "/metrics"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_what_is_not_there_is_a_problem_document(client):
    assert client.check(404, "GET", "/nowhere")["type"] == "/problems/unknown-route"
    assert client.check(405, "PUT", BUTTONS)["type"] == "/problems/wrong-method"
    assert client.request("PUT", BUTTONS).headers["allow"] == "GET, DELETE"
    answer = client.get("/v1/studies/x")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_head_request_is_answered_as_a_get_request(client):
    assert client.request("HEAD", BUTTONS).status_code == 200
    assert client.request("HEAD", "/").status_code == 200
    answer = client.request("HEAD", f"{BUTTONS}/sums")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_metrics_count_asks_tells_and_answers(client):
    ids = [client.check(201, "POST", ITEMS)["id"] for _ in range(3)]
    client.check(204, "POST", f"{ITEMS}/{ids[0]}/feedback", json={"reward": 1})
    client.check(204, "POST", f"{ITEMS}/{ids[1]}/expire")
    client.check(404, "GET", "/v1/studies/x")
    lines = client.get("/metrics").text.splitlines()
    assert {
        "keyhole_asks_total 3.0",
        "keyhole_tells_total 1.0",
        "keyhole_pending_decisions 1.0",
        "keyhole_expired_decisions 1.0",
        "keyhole_open_studies 1.0",
        'keyhole_requests_total{route="ask",status="201"} 3.0',
        'keyhole_request_seconds_bucket{le="+Inf",route="ask"} 3.0',
        'keyhole_request_seconds_count{route="ask"} 3.0',
    } <= set(lines)
    assert not any("buttons" in line for line in lines)


def test_it_serves_a_file_and_a_server(address):
    Study.create(address, "buttons", UCB1(), ["red", "blue"]).close()
    with Client(address) as client:
        id = client.check(201, "POST", ITEMS)["id"]
        client.check(204, "POST", f"{ITEMS}/{id}/feedback", json={"reward": 1})
        assert len(read_history(client, "")) == 2
