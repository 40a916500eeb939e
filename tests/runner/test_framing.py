import pytest

from keyhole.runner.helper.framing import encode_frame, is_frame

MESSAGE = encode_frame({"outcome": "ok"}, b"rest")


@pytest.mark.parametrize(
    ("data", "one"),
    [
        (MESSAGE, True),
        (encode_frame({}), True),
        (b"", False),
        (MESSAGE[:5], False),
        (MESSAGE[:-1], False),
        (MESSAGE + b"x", False),
        (MESSAGE + MESSAGE, False),
    ],
)
def test_only_one_complete_message_is_a_frame(data, one):
    assert is_frame(data) is one
