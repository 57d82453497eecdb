# Every target does its own set-up: a virtual environment in .venv, filled with pip.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet
READY  := $(VENV)/ready
BUILT  := pyproject.toml hatch_build.py $(wildcard pullback/core/compiled/*.[ch])

.PHONY: help demo test test-all mutants gpu bench docs lint clean

help:
	@echo "make demo      train a binarised network on digits, twice (under a minute)"
	@echo "make test      run the quick tests (under two minutes)"
	@echo "make test-all  install the frameworks, run every test (under twenty minutes)"
	@echo "make mutants   measure which mistakes the quick tests find (half an hour)"
	@echo "make gpu       run the operations on a GPU, with what is installed; needs no network"
	@echo "make bench     compare the speed with the frameworks that are installed"
	@echo "make docs      build the documentation into out/site, to be opened from disk"
	@echo "make lint      run the linter and the type checker"
	@echo "make clean     remove what the other targets made"

demo: $(READY)-demo
	$(BIN)/python examples/binarised_digits.py

# Two workers on two cores: matrix products that are split further would wait for each other.
test: export OPENBLAS_NUM_THREADS := 1
test: $(READY)-test
	$(BIN)/python -m pytest -n 2

# Every case, against every framework; what is not installed is an error.
test-all: export OPENBLAS_NUM_THREADS := 1
test-all: $(READY)-test-all
	$(BIN)/python -m pytest -n 2 --full --complete

# What the quick tests find of what all tests find: half an hour; see tests/mutation/README.md.
mutants: export OPENBLAS_NUM_THREADS := 1
mutants: $(READY)-test-all
	$(BIN)/python -m tests.mutation --report

# What is there is used as it is: PYTHON is the interpreter with the frameworks built for the GPU.
gpu:
	$(PYTHON) -m pytest tests/arrays/test_gpu.py --device=cuda

bench: $(READY)-bench
	$(BIN)/python -m benchmarks

docs: $(READY)-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

lint: $(READY)-lint
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf .venv* out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f pullback/core/compiled/*.so pullback/core/compiled/*.pyd
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "pullback needs Python 3.11 or later, and $(PYTHON) is not: make PYTHON=python3.13 …" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# A stamp says that an extra is installed; a change of what is built makes it stale.
$(READY)-demo $(READY)-test $(READY)-bench $(READY)-docs $(READY)-lint: $(READY)-%: $(BUILT) | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

# PyTorch first and on its own: asked for together with the others, its build for graphics cards
# would be taken, which is gigabytes.
$(READY)-test-all: $(BUILT) | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[test,full,torch,tf,jax,bench]'
	@touch $@
