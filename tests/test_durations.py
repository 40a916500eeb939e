"""Durations, as they are typed."""

import pytest

from keyhole.durations import parse_seconds


def test_days_hours_minutes_and_seconds_are_parsed():
    found = [parse_seconds("--budget", text) for text in ("90", "90s", "1h30m", "0.5d")]
    assert found == [90, 90, 5400, 43200]


@pytest.mark.parametrize("text", ["", "soon", "1h 30m", "-3", "3x"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="--limit must be like 90s, 30m, 2h or 1d12h, got"):
        parse_seconds("--limit", text)
