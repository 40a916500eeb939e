"""Ctrl-C waits for the end of a block, or is told from an error that code raises itself."""

import signal
import threading

import pytest

from keyhole.interrupts import delay_interrupts, replace_user_errors


@pytest.fixture(autouse=True)
def the_usual_handler():
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def test_an_interrupt_takes_effect_at_the_end_of_the_block():
    reached = []
    with pytest.raises(KeyboardInterrupt), delay_interrupts():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        reached.append("the end")
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_is_raised():
    with delay_interrupts(), delay_interrupts():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_stays_the_context_of_the_interrupt():
    with pytest.raises(KeyboardInterrupt) as caught, delay_interrupts():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        raise ValueError("it failed")
    assert isinstance(caught.value.__context__, ValueError)


def test_a_handler_of_the_user_is_called():
    called = []
    signal.signal(signal.SIGINT, lambda *_: called.append("user"))
    with delay_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert called == []
    assert called == ["user"]


def test_elsewhere_than_in_the_main_thread_nothing_changes():
    found = []

    def look():
        with delay_interrupts(), replace_user_errors(replace):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def replace(error):
    return ValueError(type(error).__name__)


class Stop(BaseException):
    """An error that is no Exception."""


@pytest.mark.parametrize("error", [KeyError(), Stop(), SystemExit(1), KeyboardInterrupt()])
def test_whatever_code_raises_is_replaced(error):
    with (
        pytest.raises(ValueError, match=type(error).__name__) as caught,
        replace_user_errors(replace),
    ):
        raise error
    assert caught.value.__cause__ is error
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_kept_if_it_is_returned():
    with pytest.raises(Stop) as caught, replace_user_errors(lambda error: error):
        raise Stop
    assert caught.value.__cause__ is None


def test_an_interrupt_is_not_replaced():
    with pytest.raises(KeyboardInterrupt), replace_user_errors(replace):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_code_sets_stays():
    def handler(*_):
        pass

    with replace_user_errors(replace):
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is handler
