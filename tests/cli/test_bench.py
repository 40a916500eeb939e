import re

import pytest

from tests.cli.test_bad_input import refused

MINE = "from keyhole.thresholding import LSA\nclass Mine(LSA): pass\n"

ONE = ("bench", "thresholding", "--problems", "tao-1", "--policies", "LSA", "--threads", 1)


def test_bench_prints_a_table_and_writes_file_and_page(keyhole, tmp_path):
    code, out, _ = keyhole(*ONE, "--policies", "UCBE", "--out", tmp_path, "--verbose")
    assert code == 0
    head, columns, first, second, _, results, report = out.splitlines()
    assert head == "thresholding: Arms differ: 1 problem for tuning"
    assert columns.split()[:2] == ["policy", "ratio"]
    assert first.split()[:2] == ["LSA", "1.00"]
    assert second.startswith("UCBE (yardstick)")
    assert results == f"results: {tmp_path / 'benchmark.json'}"
    assert report == f"report: {tmp_path / 'report.html'}"
    assert (tmp_path / "report.html").is_file()


def test_bench_says_first_who_is_best(keyhole, tmp_path):
    code, out, _ = keyhole(*ONE, "--policies", "OptKG", "--out", tmp_path)
    assert code == 0
    columns, best, hint, *_ = out.splitlines()
    assert columns.split() == ["setting", "situation", "(part)", "best,", "by", "regret", "next"]
    row = r"thresholding +arms differ \(tuning\) +LSA +OptKG, no difference shown"
    assert re.fullmatch(row, best)
    assert "--verbose" in hint


def test_bad_input_is_one_line(keyhole, tmp_path):
    for words, message in [
        (("bench",), "--out must be given: a folder for the results"),
        (("bench", "delay", "--out", tmp_path), "setting must be one of"),
        (("bench", "--scale", "all", "--out", tmp_path), "scale must be one of quick, paper"),
        (("bench", "--seed", -1, "--out", tmp_path), "--seed must be at least 0, got -1"),
    ]:
        code, out, err = keyhole(*words)
        assert (code, out) == (2, "")
        assert message in err
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("class Mine(:\n", "mine.py:Mine", ["'mine.py' cannot be imported", "Error:", "(line 1)"]),
        ("x = 1\nopen('no.csv')\n", "mine.py:Mine", ["imported: FileNotF", "'no.csv' (line 2)"]),
        (MINE, "mine.py", ["must be followed by a class, mine.py:CLASS; it defines Mine"]),
        (MINE, "mine.py:Main", ["has no policy 'Main'; it defines Mine (did you mean 'Mine'?)"]),
        ("x = 1\n", "mine.py", ["it defines no policy"]),
        (MINE, "none.py:Mine", ["there is no file 'none.py'"]),
    ],
)
def test_a_users_file_that_is_refused_is_named_with_its_option(
    keyhole, tmp_path, monkeypatch, text, name, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(text)
    found = keyhole("bench", "thresholding", "--policies", name, "--out", "out")
    refused(*found, "keyhole: --policies: ", *words)
