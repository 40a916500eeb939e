"""Pages for a browser: what they show, who may see them, and forms."""

import base64
import hashlib
import re

import pytest

from keyhole.serve.api_keys import add_key
from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.thresholding import LSA
from tests.serve.conftest import Client

HERE = {"Origin": "http://localhost"}
HOSTILE = '<script>alert("x")</script>'
MADE = {"name": "made", "setting": "thresholding", "policy": "LSA", "arms": "cat\r\n\r\ndog"}


def send(client, path, **fields):
    return client.post(path, data=fields, headers=HERE)


def test_the_list_leads_to_each_study_by_its_name(client, storage):
    Study.create(storage, HOSTILE.replace("/", ""), UCB1(), ["a"]).close()
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert '<a href="/studies/buttons">buttons</a>' in page.text
    assert "alert(" in page.text
    assert "<script>alert" not in page.text
    other = re.findall(r'href="(/studies/[^"]+)"', page.text)[1]
    assert client.get(other).status_code == 200


def test_a_page_may_run_its_own_scripts_alone(client):
    policies = set()
    for path in ("/", "/studies/buttons", "/studies/none"):
        page = client.get(path)
        policies.add(page.headers["content-security-policy"])
        for script in re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
    (policy,) = policies  # whatever a page shows
    assert "default-src 'none'" in policy
    assert re.search(r"script-src ('sha256-[\w+/=]+' ?)+;", policy)


def test_a_study_is_shown_and_only_sent_again_when_it_has_news(client):
    page = client.get("/studies/buttons").text
    assert "0 decisions so far" in page
    (seq,) = re.findall(r'data-seq="(\d+)"', page)
    assert client.get(f"/studies/buttons?seq={seq}").status_code == 204
    id = client.check(201, "POST", "/v1/studies/buttons/decisions")["id"]
    client.check(204, "POST", f"/v1/studies/buttons/decisions/{id}/feedback", json={"reward": 1})
    page = client.get(f"/studies/buttons?seq={seq}").text
    assert "Recommended: red" in page
    assert "<td>1.00 [" in page.replace("\N{NO-BREAK SPACE}", " ")


def test_a_page_names_the_arms_that_are_above_the_threshold(client, storage):
    arms = ["ann", "bob"]
    with Study.create(storage, "labels", LSA(), arms, threshold=0.5) as study:
        for _ in arms:
            decision = study.ask()
            study.tell(decision, decision.arm == "bob")
    assert "Recommended: above: bob" in client.get("/studies/labels").text


def test_forms_create_a_study_and_change_its_arms(client, storage):
    answer = send(client, "/studies", **MADE, facts="threshold = 0.5", timeout="2h")
    assert (answer.status_code, answer.headers["location"]) == (303, "/studies/made")
    send(client, "/studies/made/arms", arms="owl\nfox")
    send(client, "/studies/made/retire", arm="dog")
    with Study.open(storage, "made") as study:
        assert study.arms == ("cat", "owl", "fox")
        assert study.definition.rule.timeout == 7200
    again = send(client, "/studies", **MADE, facts="threshold = 0.5")
    assert again.status_code == 409
    assert "has a study of this name" in again.text
    for name in ("", " ", "."):
        assert send(client, "/studies", **{**MADE, "name": name}).status_code == 422
    wrong = send(client, "/studies", **{**MADE, "name": "x", "policy": "LSB"})
    assert wrong.status_code == 422
    assert "LSA" in wrong.text
    mine = send(client, "/studies", **{**MADE, "name": "x", "policy": "/tmp/mine.py:Policy"})
    assert mine.status_code == 422
    deep = send(client, "/studies", **{**MADE, "name": "x"}, facts="threshold=" + "[" * 20_000)
    assert deep.status_code == 422


@pytest.mark.parametrize("origin", [None, "https://else.where", "null"])
def test_a_form_of_another_site_is_refused(client, storage, origin):
    headers = {} if origin is None else {"Origin": origin}
    answer = client.post("/studies", data={**MADE, "facts": "threshold=.5"}, headers=headers)
    assert answer.status_code in (401, 403)
    with pytest.raises(ValueError, match="made"):
        Study.open(storage, "made")


def test_a_browser_gives_its_key_once(storage):
    key, _ = add_key(str(storage), "ann", "read", "but*")
    Study.create(storage, "other", UCB1(), ["a"]).close()
    with Client(storage) as client:
        page = client.get("/")
        assert page.status_code == 401
        assert "A key is needed." in page.text
        page = client.get("/", headers={"cookie": "other=1"})  # of another program
        assert "A key is needed." in page.text
        assert 'action="/login"' in client.get("/studies/buttons").text
        answer = send(client, "/login", key="kh_wrong")
        assert answer.status_code == 401
        assert "The key is not valid: it is wrong, has ended, or was revoked." in answer.text
        answer = send(client, "/login", key=key)
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "secure" not in cookie.lower()
        page = client.get("/")
        assert "buttons" in page.text
        assert "/studies/other" not in page.text
        assert page.text.count("<form") == 1  # that to log out: nothing that the key may not do
        assert client.get("/studies/other").status_code == 404
        assert send(client, "/studies/buttons/retire", arm="red").status_code == 403
        # A cookie is no key of the API, which other sites could then use.
        assert client.get("/v1/studies").status_code == 401
        assert send(client, "/logout").status_code == 303
        assert client.get("/").status_code == 401


def test_a_key_given_by_https_stays_there(storage):
    key, _ = add_key(str(storage), "ann", "read", "*")
    headers = {"Host": "studies.example", "Origin": "https://studies.example"}
    with Client(storage) as client:
        answer = client.post("/login", data={"key": key}, headers=headers)
    assert "; secure" in answer.headers["set-cookie"].lower()
