# Every target works from a fresh clone: what it needs is set up first.
#   make demo     simulate the SCEC benchmark TPV5 and draw it (demo/)
#   make test     run the quick tests, or those of one package: make test PACKAGE=physics/friction
#   make test-long  run the tests that take about a second or longer each
#   make test-all  run what must pass before a change lands: test, test-long, lint
#   make lint     style, types, import contracts, docstrings of the public API, spelling
#   make verify   exact solutions and benchmarks, and the slow tests (long)
#   make bench    kernels against the roofs of this machine, errors against costs: tables and pictures of docs/performance.md (half an hour)
#   make golden   whether results are those of another commit, BASE=commit (default: where the branch left main; minutes)
#   make docs     the documentation as a web site (site/)
#   make release  build the source distribution and the wheel in dist/, and run the demo with them in an empty environment (minutes)
#   make format   format the code
#   make clean    remove what the targets above made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
# Test workers share the cores; a team of threads in each would only fight over them. Each begins with a half of the tests, so that those
# of a file find what was made for them, and takes some of the other's at the end.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Where Python is told not to keep what it compiles, every start of the program would compile 400 files anew: a third of its time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-long test-all lint format verify bench golden docs release clean

help:
	@sed -n 's/^#   //p' Makefile

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup.sh
	@PYTHON='$(PYTHON)' bash tools/setup.sh '$(VENV)'
	@touch $@

demo: setup
	$(BIN)/faultwave run tpv5 --output demo --force
	$(BIN)/faultwave plot demo

# The package whose tests run, as a folder below tests/; all packages by default.
PACKAGE :=

test: setup
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not long" $(addprefix tests/,$(PACKAGE))

test-long: setup
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "long and not slow" $(addprefix tests/,$(PACKAGE))

test-all: setup
	$(MAKE) test
	$(MAKE) test-long
	$(MAKE) lint

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.check_docstrings
	$(BIN)/codespell src docs tests examples tools README.md CHANGELOG.md

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

verify: setup
	$(BIN)/faultwave verify --all
	$(BIN)/python -m pytest -m slow

bench: setup
	$(BIN)/faultwave bench table --write docs/performance.md --json bench.json --picture docs/images/roofline.png
	$(BIN)/faultwave bench accuracy --budget 12 --write docs/performance.md --json src/faultwave/bench/accuracy/measured.json \
	  --picture docs/images/accuracy.png

golden: setup
	$(BIN)/python tools/golden.py against $(BASE)

docs: setup
	$(BIN)/mkdocs build --strict

release: setup
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[release]'
	$(BIN)/python -m tools.release

clean:
	rm -rf $(VENV) demo site .golden bench.json build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
