"""Lines about progress go to standard error, and their failure ends nothing."""

import io
import sys

from keyhole.status_output import print_status, redirect_prints


class FullDisk(io.StringIO):
    """A stream that can take nothing."""

    def write(self, text):
        raise OSError(28, "No space left on device")


def test_a_line_goes_to_standard_error(capsys):
    print_status("half done")
    assert capsys.readouterr() == ("", "half done\n")


def test_a_stream_that_fails_or_is_closed_ends_nothing(monkeypatch, capsys):
    for stream in (FullDisk(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        print_status("half done")
    assert capsys.readouterr().out == ""


def test_prints_of_others_go_to_standard_error(capsys):
    with redirect_prints():
        sys.stdout.write("loading\n")
        sys.stdout.flush()
        assert sys.stdout.encoding == sys.stderr.encoding
    sys.stdout.write("result\n")
    assert capsys.readouterr() == ("result\n", "loading\n")


def test_prints_of_others_may_fail(monkeypatch, capsys):
    for stream in (FullDisk(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with redirect_prints():
            sys.stdout.write("loading\n")
            sys.stdout.flush()
    assert capsys.readouterr().out == ""
