.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo browser test test-slow test-all test-lowest bench lint lists docs wheel package lock clean

PYTHON ?= python3
UV ?= uv
BIN := .venv/bin
WHEEL := .venv-runtime/bin
LOWEST := .venv-lowest/bin
LOWEST_TESTS := $(addprefix tests/,test_validation.py kernels/numba_internals thresholding/test_lsa.py \
	data/test_crowd_labels.py papers/report/test_parameter_figures.py cli/test_bad_input.py)
PIP := python -m pip --disable-pip-version-check -qq
INSTALL := install --no-compile --require-hashes -r
# A new environment, with the pip of requirements/pip.txt: the pip that comes with Python 3.11 takes
# twice as long to install the rest, and to unpack it takes six seconds. The pip of $(PYTHON) installs
# the other one, unless it is missing or older than 22.3: then it is unpacked after all.
MAKE_VENV = $(PYTHON) -m venv --clear --without-pip $(1) && $(PYTHON) -m pip --python $(1)/bin/python \
	--disable-pip-version-check -qq $(INSTALL) requirements/pip.txt 2>/dev/null || { \
	$(PYTHON) -m venv --clear $(1) && $(1)/bin/$(PIP) $(INSTALL) requirements/pip.txt; }
# Each worker begins with a part of all tests, and takes some of another's when it has done its own: so
# all end together, and tests of one file mostly share what they set up. How many: see conftest.py.
PYTEST := $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal \
	--durations=15 --durations-min=5 --cpu-times=15
EXTRAS := --extra files --extra forests --extra gymnasium --extra pandas --extra plots --extra postgres --extra scipy --extra serve
CLUSTERS := --extra dask --extra ray
DEMO := --extra files --extra plots --extra scipy
COMPILE := $(UV) --quiet pip compile --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	--custom-compile-command "make lock"

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' Makefile

venv: .venv/.installed .venv/.requirements ## set up .venv with the locked requirements and this package
	@:

# In two steps, since a demo needs a third of what a contributor needs: first its requirements and this
# package, which is installed from its folder, then the other ones beside them.
.venv/.demo-requirements: requirements/pip.txt requirements/demo.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "keyhole needs Python 3.11 or newer, and '$(PYTHON)' is not; try: make venv PYTHON=python3.13" >&2; \
		exit 1; }
	@echo "setting up .venv (half a minute, where the packages are in pip's cache)" >&2
	@$(call MAKE_VENV,.venv)
	@$(BIN)/$(PIP) $(INSTALL) requirements/demo.txt
	@touch $@

.venv/.installed: .venv/.demo-requirements pyproject.toml
	@$(BIN)/$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# After the package, since two pips at a time may not write to one folder.
.venv/.requirements: .venv/.demo-requirements | .venv/.installed
	@echo "adding to .venv what tests and documentation need (a minute or more)" >&2
	@$(BIN)/$(PIP) $(INSTALL) requirements/dev.txt
	@touch $@

demo: .venv/.installed ## a first look
	@$(BIN)/keyhole demo

browser: venv ## install a browser for tests of pages and documentation, unless there is one
	@$(BIN)/python -m tools.install_browser

# Empty where lint has just been run, as in .ci/run.
LINT := lint

# Bytecode is kept, whatever the environment says: without it each process (three in a demo, some 200 in
# a test) would compile the sources of all that it imports, which is more than half of what a start costs.
demo test test-slow test-all: export PYTHONDONTWRITEBYTECODE :=

test: venv $(LINT) ## lint, then all that a change can break, in minutes
	@$(PYTEST)

test-slow: venv ## what only test-all runs: campaigns, all pairs compiled, long statistics
	@$(PYTEST) --compiled -m "slow or kernels and interpreted and not compiled"

test-all: test ## lint, then all tests
	@$(MAKE) --no-print-directory test-slow

# What leans on other packages: the compiler, files, figures, the command line. Old packages warn of
# newer ones below them.
test-lowest: wheel .venv-lowest/.requirements ## some tests, on the lowest versions that are allowed
	@$(LOWEST)/$(PIP) install --no-deps --force-reinstall dist/*.whl
	@$(LOWEST)/python -m pytest -q -W ignore::DeprecationWarning $(LOWEST_TESTS)

bench: venv ## measure speed against the yardsticks
	@$(BIN)/python -m benchmarks

lint: venv ## style, spelling, types and the direction of imports
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/codespell
	@$(BIN)/mypy --no-error-summary
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report" >&2; exit 1; }

lists: venv ## write imports of policies, and the tables and sections that follow from the code
	@$(BIN)/python tools/write_lists.py
	@$(BIN)/python tools/write_reference.py
	@$(BIN)/python tools/write_which_policy.py
	@$(BIN)/python tools/write_papers.py
	@$(BIN)/python tools/draw_models.py

# Built anew each time: pages that were renamed would stay, and the search would lose the entries of
# the index on pages that did not change.
docs: venv ## build the documentation into docs/_build/html, and check it
	@rm -rf docs/_build docs/_exercises docs/_gallery docs/_tutorials
	@$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@$(BIN)/python -m tools.check_docs

.venv-%/.requirements: requirements/pip.txt requirements/%.txt
	@echo "setting up .venv-$* (a minute the first time)" >&2
	@$(call MAKE_VENV,.venv-$*)
	@.venv-$*/bin/$(PIP) $(INSTALL) requirements/$*.txt
	@touch $@

wheel: venv
	@rm -rf dist
	@report=$$($(BIN)/python -m hatchling build 2>&1) || { echo "$$report" >&2; exit 1; }

# The wheel is tried away from the sources, with nothing but the locked requirements beside it.
package: wheel .venv-runtime/.requirements ## build wheel and sdist, and try the wheel by itself
	@rm -rf build/try && mkdir -p build/try
	@report=$$( { $(WHEEL)/$(PIP) install --no-compile --no-deps --force-reinstall dist/*.whl && \
		$(WHEEL)/$(PIP) check && cd build/try && \
		$(CURDIR)/$(WHEEL)/keyhole catalog && \
		$(CURDIR)/$(WHEEL)/keyhole new problem trial && \
		$(CURDIR)/$(WHEEL)/keyhole run trial.toml --out out && \
		$(CURDIR)/$(WHEEL)/keyhole demo; } 2>&1) || \
		{ echo "$$report" >&2; exit 1; }

# Keeps the versions already locked where it can; LOCKFLAGS=--upgrade takes the newest.
lock: ## lock the requirements anew (needs uv)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv on the PATH, or UV=/path/to/uv" >&2; exit 1; }
	@$(COMPILE) $(LOCKFLAGS) $(EXTRAS) -o requirements/runtime.txt pyproject.toml
	@$(COMPILE) $(LOCKFLAGS) $(EXTRAS) $(CLUSTERS) -c requirements/runtime.txt -o requirements/dev.txt \
		pyproject.toml requirements/dev.in
	@$(COMPILE) $(LOCKFLAGS) $(DEMO) -c requirements/dev.txt -o requirements/demo.txt \
		pyproject.toml requirements/demo.in
	@$(COMPILE) $(LOCKFLAGS) -o requirements/pip.txt requirements/pip.in
	@$(COMPILE) --resolution lowest-direct $(EXTRAS) -o requirements/lowest.txt \
		pyproject.toml requirements/lowest.in

clean: ## remove caches and what was built; keeps .venv
	@rm -rf build dist docs/_build docs/_exercises docs/_gallery docs/_tutorials keyhole-out
	@rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
