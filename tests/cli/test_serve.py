import json
import os

import pytest
import uvicorn

from keyhole.serve.app import SETTINGS_VARIABLE
from keyhole.study import list_studies


@pytest.fixture
def started(monkeypatch):
    """Return the options with which servers were started, instead of starting them."""
    options = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: options.append(given))
    monkeypatch.setenv(SETTINGS_VARIABLE, "")
    return options


def test_a_service_on_this_machine_needs_no_key_and_makes_the_file(keyhole, tmp_path, started):
    assert keyhole("serve", "--storage", tmp_path / "s.db", "--port", 8123)[0] == 0
    assert (started[0]["host"], started[0]["port"]) == ("127.0.0.1", 8123)
    settings = json.loads(os.environ[SETTINGS_VARIABLE])
    assert settings["storage"] == str(tmp_path / "s.db")
    assert not settings["needs_key"]
    assert list_studies(tmp_path / "s.db") == []


def test_elsewhere_it_starts_with_a_key_alone(keyhole, tmp_path, started):
    command = ("serve", "--storage", tmp_path / "s.db", "--host", "0.0.0.0")
    code, _, err = keyhole(*command)
    assert (code, started) == (2, [])
    assert err.startswith("keyhole: --host must be 127.0.0.1 without keys, got 0.0.0.0")
    keyhole("serve", "key", "add", "ann", "--storage", tmp_path / "s.db")
    assert keyhole(*command)[0] == 0
    assert json.loads(os.environ[SETTINGS_VARIABLE])["needs_key"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--storage must be given"),
        (("--storage", "s.db", "--port", 0), "--port must lie in"),
        (("--storage", "s.db", "--workers", 0), "--workers must lie in"),
        (("--storage", "s.db", "--max-open", 0), "--max-open must lie in"),
        (("--storage", "s.db", "--log-level", "loud"), "--log-level must be one of info"),
        (("--storage", "s.db", "--policy", "mine.py:Mine"), "mine.py"),
        (("--storage", "mysql://localhost/s"), "storage must be a path"),
    ],
)
def test_bad_options_are_refused_in_a_line(keyhole, tmp_path, monkeypatch, started, words, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = keyhole("serve", *words)
    assert (code, started, err.count("\n")) == (2, [], 1)
    assert message in err


def test_a_key_is_added_listed_and_revoked(keyhole, tmp_path):
    storage = ("--storage", tmp_path / "s.db")
    _, out, err = keyhole("serve", "key", "add", "ann", *storage, "--json")
    added = json.loads(out)
    assert err == f"its id is {added['id']}\n"
    assert added["key"].startswith("kh_")
    assert (added["who"], added["right"], added["studies"]) == ("ann", "decide", "*")
    (line,) = keyhole("serve", "key", "list", *storage)[1].splitlines()
    assert line == f"{added['id']} ann decide * {added['until']}"
    assert keyhole("serve", "key", "revoke", added["id"], *storage)[0] == 0
    (entry,) = json.loads(keyhole("serve", "key", "list", *storage, "--json")[1])
    assert entry["revoked"] < added["until"]
    assert "key" not in entry
    (line,) = keyhole("serve", "key", "list", *storage)[1].splitlines()
    assert line == f"{added['id']} ann decide * {entry['revoked']} revoked"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "ann", "--right", "all"), "right must be one of read, decide, admin"),
        (("add", "a\nb"), "who must have no control"),
        (("add", "ann", "--lifetime", "long"), "lifetime must be"),
        (("add", "ann", "--lifetime", "0s"), "lifetime must"),
        (("add", "ann", "--lifetime", "99999999d"), "lifetime must"),
        (("revoke", "0123"), "id must be that of a key"),
    ],
)
def test_bad_keys_are_refused_in_a_line(keyhole, tmp_path, words, message):
    keyhole("serve", "key", "add", "ann", "--storage", tmp_path / "s.db")
    code, _, err = keyhole("serve", "key", *words, "--storage", tmp_path / "s.db")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
