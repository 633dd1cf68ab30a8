# Everything is installed into .venv; nothing else on the machine is touched.
PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal
ROW ?=

BIN := .venv/bin
PIP := -m pip install -qq --disable-pip-version-check
READY := .venv/.ready
READY_215 := .venv-215/.ready
COMPAT := $(wildcard tests/compat/test_*.py)

# TensorFlow 2.15, the oldest that is supported, has no build for Python 3.12 and up.
PYTHON_215 ?= $(shell for python in $(PYTHON) python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info >= (3, 12))' 2>/dev/null && echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help venv venv-215 native demo test test-all test-compat lint format bench wheel clean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY)  ## Make .venv: this package, the tools, TensorFlow 2.21
venv-215: $(READY_215)  ## Make .venv-215: this package on TensorFlow 2.15

$(READY): pyproject.toml hatch_build.py
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) --editable '.[dev]' tensorflow-cpu==2.21.0
	$(BIN)/python $(PIP) --no-deps tf-keras==2.21.0  # asks for the TensorFlow with CUDA
	@touch $@

$(READY_215): pyproject.toml hatch_build.py
	@test -n "$(PYTHON_215)" || { echo "TensorFlow 2.15 needs Python 3.10 or 3.11; name one: make PYTHON_215=..."; exit 1; }
	$(PYTHON_215) -m venv .venv-215
	.venv-215/bin/python $(PIP) --editable . tensorflow-cpu==2.15.1 'numpy<2' pytest pytest-xdist hypothesis
	@touch $@

native: $(READY)  ## Compile the native library, where its sources have changed
	@$(BIN)/python src/tensorsleuth/native/build.py

demo: native  ## Run a program with a bug, and be told the line
	$(BIN)/sleuth demo

test: lint native  ## Check and test everything but what takes long
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory test-compat

test-all: test  ## Also the tests that take long
	$(BIN)/python -m pytest -m long || test $$? -eq 5  # 5: there is none

test-compat:  ## Test the oldest TensorFlow that is supported
ifneq ($(COMPAT),)
	@$(MAKE) --no-print-directory native $(READY_215)
	.venv-215/bin/python -m pytest $(PYTEST_ARGS) tests/compat
endif

lint: $(READY)  ## Check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY)  ## Put the style right
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: native  ## Measure against the bare program and its peers (one row: make bench ROW=name)
	$(BIN)/python -m bench $(ROW)

wheel: $(READY)  ## Build the wheel into dist/
	SLEUTH_REQUIRE_NATIVE=1 $(BIN)/python -m build --wheel --no-isolation --outdir dist

clean:  ## Remove what was built; the environments stay
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f src/tensorsleuth/native/libsleuth*.so
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +
