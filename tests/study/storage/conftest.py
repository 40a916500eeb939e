import pytest

from keyhole.study.storage import open_store


@pytest.fixture
def address(tmp_path):
    return str(tmp_path / "studies.db")


@pytest.fixture
def store(address):
    store = open_store(address)
    yield store
    store.close()
