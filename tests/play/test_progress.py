from keyhole.play.progress import bar


def test_nothing_is_shown_unless_wanted(capsys):
    with bar(False) as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_plain_lines_go_to_standard_error(capsys):
    with bar(True) as report:
        report("LSA", 0, 10)
        report("LSA", 10, 10)
        report("LSA", 10, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("LSA: 100 %")
