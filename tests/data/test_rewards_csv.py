import pytest

from keyhole.data import read_rewards_csv


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rewards.csv"


def test_arms_keep_the_order_of_their_first_appearance(file):
    file.write_text("\ufeffReward, Arm ,day\n1,b,mon\n\n0.25,a,tue\n 0,b,wed\n", encoding="utf-8")
    assert list(read_rewards_csv(file).items()) == [("b", [1.0, 0.0]), ("a", [0.25])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "csv: the file must start with a header, got an empty file"),
        ("arm,value\na,1\n", r"line 1: the header must have one column reward, got \['arm', 'val"),
        ("arm,arm,reward\n", "line 1: the header must have one column arm"),
        ("arm,reward\n", "rewards.csv: at least one row must follow the header, got none"),
        ("arm,reward\na,1\nb\n", "line 3: the row must have 2 fields, got 1"),
        ("arm,reward\n,1\n", "line 2: arm must not be empty, got ''"),
        ("arm,reward\na,one\n", "line 2: reward must be a number, got 'one'"),
        ("arm,reward\na,1_0\n", "line 2: reward must be a number, got '1_0'"),  # 10 in Python
        ("arm,reward\na,nan\n", "line 2: reward must be a number, got 'nan'"),
        ('arm,reward\n"a"b,1\n', "line 2: "),
    ],
)
def test_a_file_of_another_form_is_refused_by_line_and_field(file, text, message):
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rewards_csv(file)


def test_a_file_that_is_no_text_is_refused(file):
    with pytest.raises(
        FileNotFoundError, match=r"rewards.csv must be a text file; there is no such file"
    ):
        read_rewards_csv(file)
    file.write_bytes(b"arm,reward\n\xff,1\n")
    with pytest.raises(
        ValueError, match=r"rewards.csv, line 2: the text must be UTF-8, got byte 0xff"
    ):
        read_rewards_csv(file)


def test_a_reward_out_of_range_is_named_with_its_file_and_line(file):
    from keyhole.experiment import Spec

    file.write_text("arm,reward\na,1\nb,17.5\n")
    text = """
name = "mine"
replications = 1
horizon = 9
[problem]
setting = "stochastic"
samples = "rewards.csv"
[[policy]]
name = "UCB1"
"""
    words = r"rewards.csv, line 3: reward must lie in \[0, 1\], got 17.5$"
    with pytest.raises(ValueError, match=words):
        Spec.from_text(text, folder=file.parent)


def test_columns_that_commas_do_not_separate_are_refused_with_the_reason(file):
    file.write_text("arm;reward\na;1\n")
    words = r"got \['arm;reward'\]: columns are separated by semicolons: give delimiter=';' "
    with pytest.raises(ValueError, match=words):
        read_rewards_csv(file)
    assert read_rewards_csv(file, delimiter=";") == {"a": [1.0]}
    with pytest.raises(ValueError, match="delimiter must be one character, such as ';', got ';;'"):
        read_rewards_csv(file, delimiter=";;")


def test_decimal_commas_are_read_if_one_says_so(file):
    file.write_text("arm\treward\na\t0,25\n")
    assert read_rewards_csv(file, delimiter=r"\t", decimal=",") == {"a": [0.25]}
    with pytest.raises(
        ValueError, match="got '0,25'; if this is a decimal comma, give decimal=','"
    ):
        read_rewards_csv(file, delimiter="\t")
    file.write_text("arm;reward\na;1.000\n")
    with pytest.raises(ValueError, match=r"reward must be a number, got '1.000'"):
        read_rewards_csv(file, delimiter=";", decimal=",")
    with pytest.raises(ValueError, match="decimal must be one of"):
        read_rewards_csv(file, delimiter=";", decimal=";")
