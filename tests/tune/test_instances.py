import pytest

from keyhole.tune.instances import Instance, InstanceOrder, command_seed, parse_instances
from tests.tune.trial_records import record


def test_a_pattern_finds_files_by_their_names_from_the_folder(tmp_path):
    (tmp_path / "cnf" / "deep").mkdir(parents=True)
    for name in ("b.cnf", "a.cnf", "deep/c.cnf", "d.txt"):
        (tmp_path / "cnf" / name).write_text("")
    assert [one.name for one in parse_instances("cnf/*.cnf", tmp_path)] == [
        "cnf/a.cnf",
        "cnf/b.cnf",
    ]
    assert len(parse_instances("**/*.cnf", tmp_path)) == 3


def test_the_columns_of_a_table_are_fields(tmp_path):
    (tmp_path / "rows.csv").write_text("instance, size\na,3\n\nb,5\n")
    instances = parse_instances({"csv": "rows.csv"}, tmp_path)
    assert instances == (Instance("a", {"size": "3"}), Instance("b", {"size": "5"}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\na\n", "must have a column instance, got"),
        ("instance\n", "at least one row must follow the header, got none"),
        (
            "instance,seed\na,1\n",
            "the column 'seed' must be an identifier other than instance, seed, limit",
        ),
        ("instance;x\na;1\n", "columns must be separated by commas, not semicolons"),
        ("instance,x\na\n", "line 2: the row must have 2 fields, got 1"),
        ("instance,x\na,\0\n", "line 2: the row must have no NUL character"),
        (
            "instance\n" + "a" * 140_000,
            "line 2: the row must be valid CSV, got an error: field larger than field limit",
        ),
        ("instance\na\na\n", "instances must differ, got 'a' twice"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        parse_instances({"csv": "rows.csv"}, tmp_path)


INSTANCES = [Instance(name) for name in "abcdefgh"]


def take_names(order, arm, count):
    return "".join(order.take(arm).name for _ in range(count))


def test_every_arm_has_all_instances_once_before_any_is_repeated():
    order = InstanceOrder(INSTANCES, seed=3)
    for _ in range(3):
        for arm in ("one", "other"):
            assert sorted(take_names(order, arm, 8)) == list("abcdefgh")


def test_orders_differ_by_arm_by_time_and_by_seed_and_follow_from_them():
    order = InstanceOrder(INSTANCES, seed=3)
    passes = [take_names(order, arm, 8) for arm in ("one", "one", "other")]
    assert len({*passes, take_names(InstanceOrder(INSTANCES, seed=4), "one", 8)}) == 4
    assert take_names(InstanceOrder(INSTANCES, seed=3), "one", 16) == passes[0] + passes[1]


def test_a_resumed_order_continues_with_unused_instances():
    all_names = take_names(InstanceOrder(INSTANCES, seed=3), "one", 16)
    for done in (0, 5, 8, 11):
        runs = [record("ok", 0.1, 1.0, "one", instance=name) for name in all_names[:done]]
        assert take_names(InstanceOrder(INSTANCES, 3, runs), "one", 16 - done) == all_names[done:]


def test_an_instance_that_is_put_back_is_next_in_its_pass():
    order = InstanceOrder(INSTANCES, seed=3)
    instance = order.take("one")
    names = take_names(order, "one", 4)
    order.put_back("one", instance)
    assert sorted(names + take_names(order, "one", 4)) == list("abcdefgh")


def test_seeds_of_commands_differ_and_are_determined_by_the_round():
    seeds = [command_seed(3, number) for number in range(4000)]
    assert seeds == [command_seed(3, number) for number in range(4000)]
    assert len(set(seeds)) > 3990
    assert command_seed(4, 0) != seeds[0]


def test_a_file_lists_instances_relative_to_its_folder(tmp_path):
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "a b.cnf").write_text("")
    text = "\ufeff# training set\r\na b.cnf  # easy\r\n\r\n--size 3\r\nx#1\r\n/abs/b.cnf"
    (tmp_path / "sets" / "training.txt").write_bytes(text.encode())
    instances = parse_instances({"file": "sets/training.txt"}, tmp_path)
    assert [one.name for one in instances] == ["sets/a b.cnf", "--size 3", "x#1", "/abs/b.cnf"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# none\n\n", "instances must be at least one, got none in .*list.txt"),
        ("a\na\n", "instances must differ, got 'a' twice"),
        ("a\nb\tc\n", "list.txt, line 2: instance must have no control characters"),
    ],
)
def test_a_bad_list_is_refused(tmp_path, text, words):
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(ValueError, match=words):
        parse_instances({"file": "list.txt"}, tmp_path)


@pytest.mark.parametrize("table", [{}, {"file": 3}, {"file": "a", "csv": "b"}])
def test_a_table_names_one_file(tmp_path, table):
    with pytest.raises(TypeError, match="instances must have the name of one file"):
        parse_instances(table, tmp_path)


def test_a_list_taken_for_one_instance_is_said(tmp_path):
    (tmp_path / "training.txt").write_text("a\nb\n")
    message = r"^1 instance: training.txt; .* instances = \{ file = 'training.txt' \}, for this one"
    with pytest.warns(UserWarning, match=message):
        assert parse_instances("training.txt", tmp_path) == (Instance("training.txt"),)
    assert parse_instances(["training.txt"], tmp_path) == (Instance("training.txt"),)
    assert parse_instances("*.txt", tmp_path) == (Instance("training.txt"),)


def test_the_column_of_instances_may_have_a_capital_letter(tmp_path):
    (tmp_path / "rows.csv").write_text("Instance,Size\na,3\n")
    assert parse_instances({"csv": "rows.csv"}, tmp_path) == (Instance("a", {"Size": "3"}),)


def test_a_folder_instead_of_a_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"instances\.csv must be a file, got the folder"):
        parse_instances({"csv": "."}, tmp_path)
