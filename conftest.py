"""How tests run: kernels interpreted where a test says so, and a limit of time for each.

A test that is marked `interpreted` has its kernels run by Python, which takes less time than to
compile them where little is played; with `--compiled` they are compiled. So are examples in
docstrings. Of long lists of parameters, most are left to `make test-slow`. Every test ends: there
is a time limit, and a watchdog for what the limit cannot interrupt.
"""

import faulthandler
import gc
import os
import sys
from collections import defaultdict
from contextlib import contextmanager

import pytest

import keyhole

# Tests say what is interpreted; nothing else is, however little there is to do, but in the folders
# of `AS_USERS`. Processes that tests start inherit it.
INTERPRET = "KEYHOLE_INTERPRET"
os.environ.setdefault(INTERPRET, "0")

pytest_plugins = ["tools.cpu_times"]

# Ten thousand tests and all that they import stay until the end. To look through them for garbage
# again and again takes 1 to 5 % of the time of the tests, and saves some 20 MB of memory. They
# are not frozen: Hypothesis asks the collector what refers to an object, and would be told of none.
gc.set_threshold(200_000, 50, 100)

# Pages whose examples play so many rounds that to compile is faster.
COMPILED_PAGES = (
    "README.md", "CONTRIBUTING.md", "delayed.md", "index.md", "real_data.md", "resource.md",
    "running.md", "semibandit.md", "stochastic.md", "stopping.md", "studies.md", "threshold.md",
    "thresholding.md",
)  # fmt: skip
# Pages and files that take longest, or start browsers, clusters and servers, and single tests that
# take more than half a second: slow, unless their file is named to pytest.
SLOW_TESTS = (
    "docs/benchmark.md", "docs/delayed.md", "docs/howto/", "docs/real_data.md", "docs/resource.md",
    "docs/semibandit.md", "docs/stochastic.md", "docs/threshold.md",
    "src/keyhole/data/random_forest_training.py",
    "tests/benchmark/test_benchmark.py::test_the_numbers",
    "tests/benchmark/test_problem_list.py::test_every_problem_and_policy",
    "tests/cli/test_init.py::test_an_experiment_runs_as_it_stands", "tests/cli/test_tune_space.py",
    "tests/clusters/", "tests/confidence_sequences/test_beta_mixture.py::test_the_ends_are",
    "tests/confidence_sequences/test_coverage.py",
    "tests/data/test_crime_events.py::test_days_without",
    "tests/data/test_crime_events.py::test_every_set_can_be_played",
    "tests/data/test_reduce_delays.py", "tests/data/test_reduce_flights.py",
    "tests/docs/test_bibliography.py", "tests/docs/test_http_page.py",
    "tests/draws/test_beta_batch.py::test_vectors_of_another_type",
    "tests/draws/test_samplers.py::test_continuous_draws",
    "tests/draws/test_samplers.py::test_discrete_draws",
    "tests/kernels/interpreter/test_debugging.py", "tests/kernels/test_cache_processes.py",
    "tests/kernels/test_compile_cache.py::test_code_is_freed", "tests/kernels/test_light_start.py",
    "tests/kernels/test_package_digest.py::test_an_error_of_cached_code", "tests/pages_in_browser/",
    "tests/papers/claims/test_computed_quantities.py::test_a_problem_figure",
    "tests/papers/test_batch_reproduction.py::test_the_index_links",
    "tests/papers/test_reproduction.py::test_the_demo", "tests/play/test_lazy_compilation.py",
    "tests/play/test_plan_pickling.py",
    "tests/play/test_simulation.py::test_a_kernel_that_cannot_be_compiled",
    "tests/play/test_simulation.py::test_a_kernel_that_writes",
    "tests/play/test_simulation.py::test_ctrl_c", "tests/play/test_simulation.py::test_the_reason",
    "tests/resource/test_benchmark.py",
    "tests/resource/test_learner.py::test_a_function_of_ones_own",
    "tests/resource/test_refined_grid_policy.py::test_grids_never_outgrow",
    "tests/results/test_interval_quantiles.py",
    "tests/runner/test_command_runner.py::test_a_helper_whose_runner_has_gone",
    "tests/runner/test_function_process.py", "tests/serve/test_processes.py",
    "tests/study/storage/test_backup.py", "tests/study/storage/test_fork_lock.py",
    "tests/study/storage/test_processes.py", "tests/study/test_campaign.py",
    "tests/study/test_exclude.py::test_an_excluded_arm", "tests/study/test_forks.py",
    "tests/study/test_group_commit.py::test_a_leader_that_is_interrupted",
    "tests/study/test_kills.py", "tests/study/test_read_only.py", "tests/test_benchmarks.py",
    "tests/test_extras.py", "tests/test_install_browser.py",
    "tests/thresholding/test_known_gaps.py::test_its_pulls", "tests/tune/test_cluster_executor.py",
    "tests/tune/test_function_arms.py::test_a_script_does_not",
    "tests/tune/test_space_decider.py::test_a_replay_of_any", "tests/tune/test_space_report.py",
    "tests/tune/test_space_tune.py::test_failed_configurations",
    "tests/tune/test_tuner.py::test_the_anytime_solver",
    "tests/tune/test_pair_estimates.py::test_many_runs_determine",
)  # fmt: skip
# What `make test-slow` compiles of what is interpreted: the tests of kernels, and of what calls
# them. What others test, such as commands, files and pages, is the same however kernels run.
KERNELS = tuple(
    f"tests/{name}"
    for name in (
        "confidence_sequences", "contract/test_pending_mode_inference.py",
        "data/test_flight_deadlines.py", "delayed", "draws", "drivers", "play",
        "resource", "semibandit", "stochastic", "study/test_learning_batch.py",
        "study/test_past_results.py", "study/test_state.py", "study/test_study.py",
        "test_policy_contract.py", "threshold", "thresholding",
    )
)  # fmt: skip
# Where kernels run as they do for users: interpreted at first, and compiled if that takes long.
AS_USERS = (
    "README.md", "CONTRIBUTING.md", "docs/",
    *(
        f"tests/{name}/"
        for name in (
            "delayed", "papers", "resource", "semibandit", "stochastic", "threshold",
            "thresholding",
        )
    ),
)  # fmt: skip
MANY = 4  # parameters of a test that `make test` goes through
SLOW = 1200  # seconds a test that is marked slow may take
GRACE = 60  # seconds for a test to end after its limit

_terminal = pytest.StashKey[int]()
_is_rest = pytest.StashKey[bool]()


def pytest_addoption(parser):
    """Add the option that has everything compiled."""
    parser.addoption(
        "--compiled", action="store_true", help="compile the kernels of tests marked as interpreted"
    )


def pytest_configure(config):
    """Keep the terminal's standard error: a test's own is captured."""
    config.stash[_terminal] = os.dup(sys.__stderr__.fileno())


def pytest_unconfigure(config):
    """Let it go."""
    os.close(config.stash[_terminal])


def pytest_collection_modifyitems(session, items):
    """Mark examples as interpreted, since few are long; mark kernels; give slow tests more time."""
    for item in find_rest(session, items):
        item.stash[_is_rest] = True
        item.add_marker(pytest.mark.slow)
    for item in items:
        if item.nodeid.startswith(KERNELS):
            item.add_marker(pytest.mark.kernels)
        if isinstance(item, pytest.DoctestItem) and item.path.name not in COMPILED_PAGES:
            item.add_marker(pytest.mark.interpreted)
        if item.nodeid.startswith(SLOW_TESTS) and not session.isinitpath(item.path):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))


def find_rest(session, items):
    """Return what `make test` leaves to `make test-slow` of long lists of parameters.

    Where a test has more than `MANY`, it takes three of them, or as many as the mark `few` says:
    the first, the last, and those that are as far from each other. A file that is named to pytest
    has all of them, and so has what is selected by `-k`: who names a class wants all of its tests.
    """
    if session.config.option.keyword:
        return
    lists = defaultdict(list)
    for item in items:
        if not session.isinitpath(item.path) and not item.get_closest_marker("slow"):
            lists[item.nodeid.partition("[")[0]].append(item)
    for parameters in lists.values():
        if len(parameters) > MANY:
            mark = parameters[0].get_closest_marker("few")
            number = mark.args[0] if mark else 3
            kept = {round(i * (len(parameters) - 1) / (number - 1)) for i in range(number)}
            yield from (item for i, item in enumerate(parameters) if i not in kept)


def is_interpreted(item):
    """Tell whether a test is marked as interpreted, and is no exception in its file."""
    marks = [mark.name for mark in item.iter_markers() if mark.name in ("interpreted", "compiled")]
    return marks[:1] == ["interpreted"]  # the closest comes first


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item):
    """Interpret what a test and its fixtures play, and end it in time."""
    try:
        with _kernel_mode(item), _limited(item):
            return (yield)
    finally:
        # Figures that a test leaves open are kept: a process that runs all tests has too many.
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")


@contextmanager
def _kernel_mode(item):
    """Interpret or compile what a test says."""
    marks = {mark.name for mark in item.iter_markers()}
    # What is slow by its number alone runs as in `make test`, if it is not compiled there anyway.
    is_rest = item.stash.get(_is_rest, False) and not {"kernels", "interpreted"} <= marks
    if (item.config.getoption("--compiled") and not is_rest) or "compiled" in marks:
        yield
    elif is_interpreted(item):
        with keyhole.interpreted():
            yield
    elif item.nodeid.startswith(AS_USERS) and os.environ[INTERPRET] == "0":
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(INTERPRET, raising=False)
            yield
    else:
        yield


@contextmanager
def _limited(item):
    """End the process if a test outlives its limit, as an endless loop of compiled code does.

    Such a loop may hold the interpreter's lock, so that neither a signal's handler nor another
    thread of Python can run. The watchdog is a thread of C; it prints where all threads are. Under
    xdist the test then counts as failed, and another process goes on with the rest.
    """
    marker = item.get_closest_marker("timeout")
    limit = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=item.config.stash[_terminal])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
