from collections import Counter

import pytest

from keyhole.tune.instances import Instance, drawn, instances_of


def test_a_pattern_finds_files_by_their_names_from_the_folder(tmp_path):
    (tmp_path / "cnf" / "deep").mkdir(parents=True)
    for name in ("b.cnf", "a.cnf", "deep/c.cnf", "d.txt"):
        (tmp_path / "cnf" / name).write_text("")
    assert [one.name for one in instances_of("cnf/*.cnf", tmp_path)] == ["cnf/a.cnf", "cnf/b.cnf"]
    assert len(instances_of("**/*.cnf", tmp_path)) == 3


def test_the_columns_of_a_table_are_fields(tmp_path):
    (tmp_path / "rows.csv").write_text("instance, size\na,3\n\nb,5\n")
    found = instances_of({"csv": "rows.csv"}, tmp_path)
    assert found == (Instance("a", {"size": "3"}), Instance("b", {"size": "5"}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\na\n", "must have a column instance, got"),
        ("instance\n", "instances must be at least one, got none in"),
        ("instance,seed\na,1\n", "the column 'seed' must have a name of letters of its own"),
        ("instance,x\na\n", "line 2: the row must have 2 fields, got 1"),
        ("instance,x\na,\0\n", "line 2: the row must have no character 0"),
        ("instance\n" + "a" * 140_000, "line 2: field larger than field limit"),
        ("instance\na\na\n", "instances must differ, got 'a' twice"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        instances_of({"csv": "rows.csv"}, tmp_path)


def test_instances_follow_from_seed_and_number_and_are_all_drawn_alike():
    some = [Instance(name) for name in "abcd"]
    draws = [drawn(some, 3, number) for number in range(4000)]
    assert draws == [drawn(some, 3, number) for number in range(4000)]
    assert draws != [drawn(some, 4, number) for number in range(4000)]
    counts = Counter(one.name for one, _ in draws)
    # Five standard deviations of a binomial count of 4,000 and 1/4.
    assert all(abs(count - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for count in counts.values())
    assert len({seed for _, seed in draws}) > 3990


def test_a_folder_instead_of_a_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"instances\.csv must be a file, got the folder"):
        instances_of({"csv": "."}, tmp_path)
