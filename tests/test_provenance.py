import re
import subprocess

import pytest

from keyhole import provenance


@pytest.fixture(autouse=True)
def _computed_anew():
    provenance._find_commit.cache_clear()
    provenance._compute_sources_digest.cache_clear()
    yield
    provenance._find_commit.cache_clear()
    provenance._compute_sources_digest.cache_clear()


def _git(folder, *words):
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def test_a_commit_is_named_only_where_git_tracks_the_sources(tmp_path, monkeypatch):
    source = tmp_path / "provenance.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    monkeypatch.setattr(provenance, "__file__", str(source))
    _git(tmp_path, "init")
    _git(tmp_path, "commit", "--allow-empty", "-m", "somebody's")
    first = provenance.describe_software()
    assert first["commit"] is None
    assert "commit" not in provenance.software_text(first)
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "ours")
    provenance._find_commit.cache_clear()
    assert re.fullmatch("[0-9a-f]{40}", provenance.describe_software()["commit"])
    source.write_text("x = 2\n")
    provenance._find_commit.cache_clear()
    provenance._compute_sources_digest.cache_clear()
    second = provenance.describe_software()
    assert second["commit"].endswith("-dirty")
    assert second["sources"] != first["sources"]


def test_without_git_the_digest_stands_alone(monkeypatch):
    monkeypatch.setenv("PATH", "")
    software = provenance.describe_software()
    assert software["commit"] is None
    assert re.fullmatch("[0-9a-f]{16}", software["sources"])
