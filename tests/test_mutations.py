import io
import runpy
import tarfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "mutations.py"))
MUTATIONS = TOOL["read_table"]()
PACKAGES = {
    "contract", "drivers", "draws", "kernels", "play", "runner", "experiment", "study", "tune",
    "clusters", "papers", "results", "data", "cli", "stochastic", "thresholding", "threshold",
    "delayed", "resource", "semibandit",
}  # fmt: skip


def test_every_mutation_applies_to_one_place():
    for mutation in MUTATIONS:
        file = TOOL["find_file"](mutation, ROOT)
        assert file, f"{mutation.name}: {mutation.file} has changed; adapt tools/mutations.toml"
        text = (ROOT / file).read_text()
        assert TOOL["apply"](mutation, text) != text, mutation.name


def test_every_mutation_has_tests():
    for mutation in MUTATIONS:
        for test in (*mutation.selection("narrow"), *mutation.selection("wide")):
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), f"{mutation.name}: there is no {test}"
            if name:
                text = (ROOT / path).read_text()
                assert f"def {name}(" in text, f"{mutation.name}: there is no {test}"


def test_mutations_that_may_break_a_setting_run_the_contract_test_of_its_policies():
    contract = "tests/test_policy_contract.py"
    assert contract in made(file="src/keyhole/delayed/learner.py").selection("wide")
    assert contract in made(wide=("tests/play", "tests/stochastic")).selection("wide")
    assert contract not in made(wide=("tests/play",)).selection("wide")


def test_mutations_are_spread_over_the_packages():
    assert max(Counter(mutation.name for mutation in MUTATIONS).values()) == 1
    counts = Counter(mutation.package for mutation in MUTATIONS)
    assert counts.total() >= 110
    assert counts.keys() >= PACKAGES


def made(**entries):
    given = {"name": "one", "file": "src/toy/code.py", "old": "+ 1", "new": "+ 2"} | entries
    return TOOL["Mutation"](**given)


def test_a_text_that_has_moved_is_found(tmp_path):
    folder = tmp_path / "src" / "toy"
    folder.mkdir(parents=True)
    find = TOOL["find_file"]
    (folder / "moved.py").write_text("x = 1 + 1\n")
    assert find(made(), tmp_path) == "src/toy/moved.py"
    (folder / "code.py").write_text("x = 2 + 1\n")
    assert find(made(), tmp_path) == "src/toy/code.py"
    (folder / "code.py").write_text("x = 0\n")
    (folder / "other.py").write_text("x = 1 + 1\n")
    assert find(made(), tmp_path) == ""


def test_a_break_is_python(tmp_path):
    with pytest.raises(SyntaxError):
        TOOL["apply"](made(new="+"), "x = 1 + 1\n")


SOURCE = "def after(x):\n    return x + 1\n\n\ndef before(x):\n    return x - 1\n"
TESTS = """
from toy.code import after, before


def test_after():
    assert after(1) == 2


def test_wrong():
    assert before(1) == 1
"""


@pytest.mark.slow
def test_a_campaign_says_what_comes_of_each_break(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    campaign_of = runpy.run_path(str(ROOT / "tools" / "mutate.py"))["Campaign"]
    packed = io.BytesIO()
    files = {"src/toy/code.py": SOURCE, "tests/test_good.py": TESTS.partition("def test_wrong")[0]}
    files |= {"tests/test_all.py": TESTS, "tests/test_none.py": "def test_nothing():\n    pass\n"}
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    none, good = ("tests/test_none.py",), ("tests/test_good.py",)
    mutations = [
        made(name="caught", tests=none, wide=good),
        made(name="survived", old="- 1", new="- 2", tests=none, wide=good),
        made(name="gone", old="* 1", tests=good),
        made(name="nowhere", tests=("tests/test_nowhere.py",)),
        made(name="failed before", old="- 1", new="- 3", tests=("tests/test_all.py",)),
    ]
    (tmp_path / "work").mkdir()
    campaign = campaign_of(tmp_path / "work", tmp_path / "out", "abc", packed.getvalue())
    campaign.play(mutations, ("narrow", "wide"), 1)
    found = dict(line.split(" | ")[::2] for line in campaign.report(mutations).splitlines()[-5:])
    assert found == {
        "| caught": "caught wide",
        "| survived": "survived wide",
        "| gone": "not applied narrow",
        "| nowhere": "not run narrow",
        "| failed before": "not run narrow",
    }
    before = (tmp_path / "out" / "results-abc.jsonl").read_text()
    again = campaign_of(tmp_path / "again", tmp_path / "out", "abc", packed.getvalue())
    again.play(mutations, ("narrow", "wide"), 1)  # all is known
    assert (tmp_path / "out" / "results-abc.jsonl").read_text() == before
