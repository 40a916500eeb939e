import json
import os
import random
import re
import shutil
import signal
import time

import pytest

import keyhole.clusters.cluster
import keyhole.experiment.runner
import keyhole.files
import keyhole.play.simulation_job
from keyhole import simulate
from keyhole.clusters.cluster import ClusterLostError
from keyhole.experiment import Spec, load_run, run
from keyhole.experiment.run_folder import write_provenance
from keyhole.experiment.runner import run_digest
from keyhole.files import folder_lock
from keyhole.thresholding import LSA, Problem
from tests.processes import Forked, python

ENVIRONMENT = Problem(means=[0.2, 0.45, 0.7], threshold=0.5).environment
PARQUET = ("values.parquet", "curves.parquet")


def content(folder):
    return [(folder / name).read_bytes() for name in PARQUET]


def test_a_run_is_what_simulate_gives(finished, text):
    plan = Spec.from_text(text).plan
    expected = simulate(
        plan.problem, plan.policies, horizon=60, replications=40, seed=4, checkpoints=[20, 60]
    )
    found = load_run(finished)
    assert found.labels == expected.labels
    for label in found.labels:
        for metric in found.metrics:
            assert (found.values(label, metric) == expected.values(label, metric)).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_blocks_leave_the_same_bytes(finished, text, tmp_path, small_blocks, threads):
    run(Spec.from_text(text), tmp_path / "run", threads=threads)
    assert content(tmp_path / "run") == content(finished)


def test_a_finished_run_is_not_played_again(finished, text, monkeypatch):
    before = content(finished)
    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", None)
    run(Spec.from_text(text), finished)
    assert content(finished) == before


def test_finished_blocks_are_kept_and_damaged_ones_played_again(
    finished, text, tmp_path, small_blocks, monkeypatch
):
    played = []
    real = keyhole.play.simulation_job.simulate_replications

    def failing(self, label, part, **kwargs):
        played.append((label, part.start))
        if len(played) == 4:
            raise KeyboardInterrupt
        return real(self, label, part, **kwargs)

    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", failing)
    with pytest.raises(KeyboardInterrupt):
        run(Spec.from_text(text), tmp_path / "run")
    blocks = sorted((tmp_path / "run" / "blocks").iterdir())
    assert len(blocks) == 3
    blocks[1].write_bytes(blocks[1].read_bytes()[:100])
    run(Spec.from_text(text), tmp_path / "run")
    assert [start for _, start in played[4:6]] == [8, 24]
    assert content(tmp_path / "run") == content(finished)


def gone(*_, **__):
    raise ClusterLostError("there is no answer")


def test_a_run_that_never_reached_its_cluster_leaves_the_folder_free(text, tmp_path, monkeypatch):
    monkeypatch.setattr(keyhole.clusters.cluster, "connect", gone)
    with pytest.raises(ClusterLostError):
        run(Spec.from_text(text), tmp_path, on="dask=tcp://10.0.0.1:8786")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ClusterLostError):
        run(Spec.from_text(text), tmp_path / "new" / "run", on="dask=tcp://10.0.0.1:8786")
    assert list(tmp_path.iterdir()) == []  # what it made it removes


def test_a_finished_run_needs_no_cluster(finished, text, monkeypatch):
    monkeypatch.setattr(keyhole.clusters.cluster, "connect", gone)
    assert run(Spec.from_text(text), finished, on="dask").curves.labels


@pytest.mark.parametrize("change", ["seed = 4", "0.45", "horizon = 60", 'name = "LSA"'])
def test_a_folder_of_another_spec_is_left_alone(finished, text, change):
    new = {
        "seed = 4": "seed = 5",
        "0.45": "0.46",
        "horizon = 60": "horizon = 61",
        'name = "LSA"': 'name = "LSA"\nalpha = 2',
    }
    before = content(finished)
    with pytest.raises(ValueError, match="holds a run of another spec"):
        run(Spec.from_text(text.replace(change, new[change], 1)), finished)
    assert content(finished) == before


def test_what_only_the_report_shows_may_change(finished, text):
    before = content(finished)
    spec = Spec.from_text('title = "New"\nnotes = "Read me."\nfigure = {x = "log"}\n' + text)
    assert run_digest(spec) == run_digest(Spec.from_text(text))
    found = run(spec, finished)
    assert found.spec["title"] == "New"
    assert Spec.from_file(finished / "spec.toml").notes == "Read me."
    run(Spec.from_text(text), finished)
    assert "title" not in json.loads((finished / "spec.json").read_text())
    assert content(finished) == before


MINE = """
from keyhole import parameter
from keyhole.thresholding import IndexPolicy
class Mine(IndexPolicy):
    weight: float = parameter(default={default})
    def index(p, pulls, total):
        return -pulls * p.weight
"""


def test_the_digest_covers_parameters_that_a_spec_leaves_to_their_default(text, tmp_path):
    text = text.replace('name = "LSA"', 'name = "mine.py:Mine"')
    digests = set()
    for default in (1.0, 2.0, 1.0):
        (tmp_path / "mine.py").write_text(MINE.format(default=default))
        digests.add(run_digest(Spec.from_text(text, folder=tmp_path)))
    assert len(digests) == 2


def test_the_digest_covers_what_a_file_says_that_a_spec_names(text, tmp_path):
    text = text.replace("means = [0.2, 0.45, 0.7]", 'labels = "labels.csv"')
    digests = set()
    for last in (0, 1, 0):
        (tmp_path / "labels.csv").write_text(f"item,label\na,1\na,0\nb,1\nc,{last}\n")
        digests.add(run_digest(Spec.from_text(text, folder=tmp_path)))
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        (Problem, "fact", lambda self, name: {"arms": 3, "threshold": 0.4}[name]),
        (LSA, "numbers", lambda self: {"alpha": 4.0}),
        (
            keyhole.play.simulation_plan,
            "spaced_checkpoints",
            lambda table, first, horizon: (25, 60),
        ),
        (keyhole.play.simulation_job, "compiler_versions", lambda: ["0"]),
        (keyhole.play.simulation_job, "compiled_packages_digest", lambda: "0"),
        (ENVIRONMENT, "metrics", ENVIRONMENT.metrics[::-1]),
    ],
    ids=[
        "what policies are told",
        "what kernels read",
        "checkpoints",
        "compiler",
        "core",
        "metrics",
    ],
)
def test_the_digest_covers_what_code_makes_of_a_spec(text, monkeypatch, owner, name, other):
    text = text.replace("[20, 60]", "{count = 2}")
    before = run_digest(Spec.from_text(text))
    monkeypatch.setattr(owner, name, other)
    assert run_digest(Spec.from_text(text)) != before


def test_what_differs_is_said(finished, text):
    for change, names in (("seed = 5", "seed"), ("horizon = 70", "horizon")):
        entry = change.partition(" = ")[0]
        spec = Spec.from_text(text.replace(f"{entry} = ", f"{change}\n#", 1))
        with pytest.raises(ValueError, match=rf"of another spec \(not the same {names}\)"):
            run(spec, finished)


@pytest.mark.parametrize(
    ("name", "other", "words"),
    [
        ("version", lambda package: "0", "of other versions of keyhole, numba"),
        ("math_library_digest", lambda: "0", "of a machine that computes logarithms differently"),
    ],
)
def test_other_versions_and_machines_are_said_to_be_other(
    finished, text, monkeypatch, name, other, words
):
    monkeypatch.setattr(keyhole.experiment.runner, name, other)
    monkeypatch.setattr(keyhole.play.simulation_job, "compiler_versions", lambda: ["0"])
    with pytest.raises(ValueError, match=f"holds a run {words}"):
        run(Spec.from_text(text), finished)


def test_other_code_is_said_to_be_other_code(finished, text, monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "compiled_packages_digest", lambda: "0")
    with pytest.raises(ValueError, match="holds a run of other data, or of another version of the"):
        run(Spec.from_text(text), finished)


def test_a_folder_in_the_place_of_a_block_is_named(text, tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(keyhole.experiment.runner, "_write_tables", None)
    with pytest.raises(TypeError):
        run(Spec.from_text(text), tmp_path / "run")
    path = min((tmp_path / "run" / "blocks").iterdir())
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match=r"\.block must be a file, got a folder; remove it"):
        run(Spec.from_text(text), tmp_path / "run")


def test_blocks_of_another_policy_are_played_again(
    finished, text, tmp_path, small_blocks, monkeypatch
):
    """Exchanged blocks have the right form, and valid checksums; they were taken once."""
    with monkeypatch.context() as patch:
        patch.setattr(keyhole.experiment.runner, "open_points_writer", None)
        with pytest.raises(TypeError):
            run(Spec.from_text(text), tmp_path / "run")
    blocks = sorted((tmp_path / "run" / "blocks").iterdir())
    assert len(blocks) == 10
    shutil.copy(blocks[1], blocks[6])
    shutil.copy(blocks[0], blocks[3])
    run(Spec.from_text(text), tmp_path / "run")
    assert content(tmp_path / "run") == content(finished)


def test_a_folder_in_which_another_process_is_at_work_is_left_alone(text, tmp_path):
    (tmp_path / "run").mkdir()
    with (
        folder_lock(tmp_path / "run"),
        pytest.raises(ValueError, match=r"another process is at work in .*run; wait for it"),
    ):
        run(Spec.from_text(text), tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []
    run(Spec.from_text(text), tmp_path / "run")


def test_drafts_that_killed_processes_left_go_away(finished, text, tmp_path):
    folder = tmp_path / "run"
    run(Spec.from_text(text), folder)
    old, new = f".figure.svg.{'0a' * 16}", f".values.parquet.{'1b' * 16}"
    for name in (old, new, ".mine"):
        (folder / name).write_text("<svg")
    for name in (old, ".mine"):
        os.utime(folder / name, (0, 0))
    run(Spec.from_text(text), folder)
    left = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    assert left == {new, ".mine"}


def test_a_foreign_folder_is_left_alone(text, tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="is not a run folder"):
        run(Spec.from_text(text), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("thesis.txt", "dangling"):
        with pytest.raises(ValueError, match="out must be a folder, got the file"):
            run(Spec.from_text(text), tmp_path / name)


SCRIPT = """
import sys, keyhole.play.simulation_job as jobs
from keyhole.experiment import Spec, run
jobs.FIRST_ROUNDS, jobs._BLOCK_SECONDS = 8 * 60, 0
spec = Spec.from_file(sys.argv[1])
run(spec, sys.argv[2])
"""


def count_blocks(folder):
    return len(list(folder.glob("blocks/*.block")))


def test_a_run_killed_three_times_ends_with_the_same_bytes(text, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(text.replace("replications = 40", "replications = 1600"))
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    run(Spec.from_file(spec), straight)
    draw = random.Random(0)
    unfinished = 0
    for _ in range(3):
        with Forked("-c", SCRIPT, spec, killed, cwd=tmp_path) as process:
            wanted = count_blocks(killed) + draw.randrange(1, 40)
            while count_blocks(killed) < wanted and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        unfinished += not (killed / "values.parquet").exists()
    assert unfinished >= 2  # else the kills came too late to show anything
    run(Spec.from_file(spec), killed)
    assert content(killed) == content(straight)


FULL_DISK = """
import resource, signal, sys
from keyhole.experiment import Spec, run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # of bytes in a file
try:
    run(Spec.from_file(sys.argv[1]), sys.argv[2])
except OSError as error:
    print(error)
    sys.exit(3)
"""


# A block has some 1,500 bytes, a table of values 2,000.
@pytest.mark.parametrize(
    ("limit", "refused", "blocks"), [(1000, ".block", 0), (1700, ".parquet", 2)]
)
def test_a_full_disk_leaves_nothing_half_written(finished, text, tmp_path, limit, refused, blocks):
    (tmp_path / "spec.toml").write_text(text)
    done = python("-c", FULL_DISK, "spec.toml", "run", str(limit), cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert re.search(rf"File too large: 'run/.*{re.escape(refused)}'", done.stdout)
    left = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert sum(path.suffix == ".block" for path in left) == blocks
    names = {path.name for path in left if path.suffix != ".block"}
    assert names == {"run.json", "spec.json", "spec.toml"}
    run(Spec.from_text(text), tmp_path / "run")  # once there is room again
    assert content(tmp_path / "run") == content(finished)


def test_a_run_killed_while_its_folder_was_begun_goes_on(finished, text, tmp_path):
    folder = tmp_path / "run"
    run(Spec.from_text(text), folder)
    for path in (folder / "spec.json", folder / "values.parquet"):
        path.unlink()
    record = json.loads((folder / "run.json").read_text()) | {"finished": None}
    record.pop("checksum")
    write_provenance(folder, record)
    run(Spec.from_text(text), folder)
    assert content(folder) == content(finished)
    assert load_run(folder).labels == load_run(finished).labels


def test_a_draft_of_a_killed_process_is_removed(finished, text, tmp_path):
    (tmp_path / ".run.json.0123").write_text("{")
    run(Spec.from_text(text), tmp_path)
    assert content(tmp_path) == content(finished)


def test_a_run_tries_the_policies_of_files_before_it_makes_its_folder(tmp_path, text):
    (tmp_path / "broken.py").write_text(
        "from keyhole.thresholding import LSA\n"
        "class Silent(LSA):\n"
        "    def recommend(p, labels) -> None:\n"
        "        pass\n"
    )
    text = text.replace('name = "LSA"\nlabel = "ours"', 'name = "broken.py:Silent"')
    with pytest.raises(
        ValueError, match=r"^Silent\(alpha=1.35\) fails before the run: Silent.recommend must "
    ):
        run(Spec.from_text(text, folder=tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_blocks_that_a_kill_left_after_the_results_are_removed(finished, text, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "blocks").mkdir()
    (folder / "blocks" / "a-0000000000-0000000008.block").write_bytes(b"left")
    run(Spec.from_text(text), folder)
    assert content(folder) == content(finished)
    assert not (folder / "blocks").exists()
