# Each target makes the virtual environment it needs, and again only when the dependencies change.
# A fresh clone needs nothing but Python >= 3.11 and a package index.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
WORKERS ?= auto
BENCH  ?= reg card
REF    ?= HEAD
# Of modules without kernels, which are seen as well while the kernels they call are compiled.
PLAIN_TESTS := tests/cores tests/design tests/problem tests/relaxation tests/search/test_checkpoint.py tests/search/test_fleet.py tests/search/test_wide_search.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-torch cover lint format docs bench bench-against bench-prediction clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(STAMPS)/core  ## screen and solve an embedded real data set
	$(BIN)/safescreen demo

test: $(STAMPS)/test  ## run the test-suite
	@echo "The test-suite takes about 8 minutes on 2 cores."
	$(BIN)/python -m pytest -n $(WORKERS) --durations=10 $(PYTEST_ARGS)

test-torch: $(STAMPS)/test $(STAMPS)/torch  ## run the tests of arrays on a device with torch as well
	$(BIN)/python -m pytest -n $(WORKERS) tests/design/test_device.py tests/design/test_device_kernels.py

cover: $(STAMPS)/test  ## tell how much of the solver the tests reach, with its kernels interpreted
	@echo "These tests take some minutes on 2 cores."
	$(BIN)/python -m coverage erase
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -n $(WORKERS) -m "interpreted and not slow"
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) $(PLAIN_TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

lint: $(STAMPS)/lint  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMPS)/lint  ## rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMPS)/docs  ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(STAMPS)/bench  ## run the benchmarks named in BENCH (BENCH_ARGS are passed on)
	set -e; for name in $(BENCH); do $(BIN)/python benchmarks/$$name.py $(BENCH_ARGS); done

bench-against: $(STAMPS)/core  ## this working tree against the commit REF, interleaved
	$(BIN)/python benchmarks/against.py $(REF) $(BENCH_ARGS)

bench-prediction: $(STAMPS)/bench $(STAMPS)/fasterrisk  ## models with nothing set against rivals, on SAFESCREEN_DATA
	$(BIN)/python benchmarks/prediction.py $(BENCH_ARGS)

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/generated .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/core: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@mkdir -p $(STAMPS) && touch $@

# FasterRisk asks for NumPy 1 and for Python up to 3.11: an environment of its own.
$(STAMPS)/fasterrisk: benchmarks/fasterrisk.txt | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/fasterrisk
	$(VENV)/fasterrisk/bin/python -m pip install --quiet --requirement $<
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/%: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$*]'
	@mkdir -p $(STAMPS) && touch $@
