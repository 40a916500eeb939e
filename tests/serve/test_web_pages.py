"""Pages for a browser: what they show, and who may see them."""

import base64
import hashlib
import re

from keyhole.serve.api_keys import add_key
from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.thresholding import LSA
from tests.serve.conftest import Client

HOSTILE = '<script>alert("x")</script>'


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


def basic(password):
    credentials = base64.b64encode(f"me:{password}".encode()).decode()
    return {"Authorization": f"Basic {credentials}"}


def test_a_browser_asks_for_the_key_as_a_password(storage):
    key, _ = add_key(str(storage), "ann", "read", "but*")
    Study.create(storage, "other", UCB1(), ["a"]).close()
    with Client(storage) as client:
        page = client.get("/")
        assert page.status_code == 401
        assert page.headers["www-authenticate"].startswith("Basic ")
        assert "A key is needed." in page.text
        page = client.get("/studies/buttons", headers=basic("kh_wrong"))
        assert page.status_code == 401
        assert "The key is not valid: it is wrong, has ended, or was revoked." in page.text
        assert (
            client.get("/", headers={"Authorization": "Basic \u00e4".encode("latin-1")}).status_code
            == 401
        )
        page = client.get("/", headers=basic(key))
        assert "buttons" in page.text
        assert "/studies/other" not in page.text
        assert client.get("/studies/other", headers=basic(key)).status_code == 404
        # Browsers also send a password that they know with requests of other sites.
        assert client.get("/v1/studies", headers=basic(key)).status_code == 401
