# Everything is installed into .venv; nothing else on the machine is touched.
PYTHON ?= python3
# One more than two cores: tests also wait, for a browser or another process.
PYTEST_ARGS ?= -n 3 --dist worksteal
ROW ?=
PROGRAM ?=
# The TensorFlow of .venv; `make TENSORFLOW=2.18.* venv` makes it with another.
TENSORFLOW ?= 2.21.0
# A warning of the C++ compiler is an error in our own builds. A compiler that warns of more: make SLEUTH_WERROR= native
export SLEUTH_WERROR ?= 1

BIN := .venv/bin
# What is in .venv, a stamp each. In any order: each adds to what is there.
DEMO := .venv/.demo
READY := .venv/.ready
READY_215 := .venv-215/.ready
READY_DOCS := .venv-docs/.ready
INSTALL := $(PYTHON) tools/install.py .venv
READY_WHEELS := .venv/.ready-wheels
CPP = $(shell find src tests -name '*.cc' -o -name '*.h')

# TensorFlow 2.15, the oldest that is supported, has no build for Python 3.12 and up.
PYTHON_215 ?= $(shell for python in $(PYTHON) python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info >= (3, 12))' 2>/dev/null && echo $$python && break; done)

# What `make test` leaves to `make test-all` on TensorFlow 2.15: what judges rows that are recorded there in the same way.
SAME_ON_215 := attention_habits attention_kinds attention_shown data demo_program expect_docs expect_judges id_types \
	leaks pause_patience settings text_attention tokens validation_overlap watch_shown \
	why_advice why_branches why_data why_few_steps why_harm why_infinite_data why_labels why_loss_weights why_losses \
	why_no_gradient why_predictions why_probabilities why_retracing why_samples why_shuffled why_silent why_swallowed \
	why_texts why_unused why_updates why_weights why_weights_eager verdict_cost
ON_215 = $(filter-out $(SAME_ON_215:%=tests/compat/test_%.py),$(wildcard tests/compat/test_*.py))

.DEFAULT_GOAL := help
.PHONY: help venv venv-215 native page chromium demo test test-fast test-all test-python test-machine test-page test-compat lint-and-page lint format bench bench-zoo screenshots docs wheel clean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY)  ## Make .venv: this package, TensorFlow 2.21, the tools
venv-215: $(READY_215)  ## Make .venv-215: this package on TensorFlow 2.15

$(DEMO): pyproject.toml hatch_build.py
	@$(INSTALL) 'tensorsleuth and TensorFlow $(TENSORFLOW)' --editable . 'tensorflow-cpu==$(TENSORFLOW)'
	@touch $@

$(READY): $(DEMO)
	@$(INSTALL) 'the tools for development' --editable '.[dev]' 'tensorflow-cpu==$(TENSORFLOW)'
	@$(INSTALL) 'tf-keras' --no-deps 'tf-keras==$(TENSORFLOW)'  # asks for the TensorFlow with CUDA
	-@$(INSTALL) 'transformers, for tests' 'transformers>=4.57,<5'  # other people's models: where they cannot be had, their tests are skipped
	-@$(INSTALL) 'keras-hub, for tests' --no-deps keras-hub==0.32.0 kagglehub==1.0.2 kagglesdk==0.1.28  # asks for TensorFlow once more
	@touch $@

$(READY_215): pyproject.toml hatch_build.py
	@test -n "$(PYTHON_215)" || { echo "TensorFlow 2.15 needs Python 3.10 or 3.11; name one: make PYTHON_215=..."; exit 1; }
	@$(PYTHON_215) tools/install.py .venv-215 'tensorsleuth, TensorFlow 2.15 and pytest' \
		--editable . tensorflow-cpu==2.15.1 'numpy<2' pytest pytest-timeout pytest-xdist hypothesis
	@touch $@

$(READY_DOCS): pyproject.toml
	@$(PYTHON) tools/install.py .venv-docs 'tensorsleuth and MkDocs' --editable '.[docs]'
	@touch $@

$(READY_WHEELS): $(READY)
	@$(INSTALL) 'the tools that build wheels' --editable '.[wheels]'
	@touch $@

native: $(DEMO)  ## Compile the native library, where its sources have changed
	@$(BIN)/python src/tensorsleuth/native/build.py

page: $(DEMO)  ## Build the page of `sleuth view`, where its sources have changed (needs Node.js 20, npm)
	@$(BIN)/python web/build.py

chromium:  ## Install Chromium for the browser tests, where it is missing and we may
	@for name in chromium chromium-headless-shell google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	test "$$(id -u)" = 0 && { apt-get install -qq -y chromium || { apt-get update -qq && apt-get install -qq -y chromium; }; } \
	|| echo "no Chromium, and it cannot be installed from here: the browser tests will say so"

demo: native  ## Run a program with a bug, and be told the line (installs TensorFlow, and no tools)
	$(BIN)/sleuth demo
	@test -f src/tensorsleuth/ui/web/static/index.html || \
		echo 'The page of `sleuth view` is not built yet. To build it (needs Node.js 20 and npm): make page'

test: $(READY) native page chromium $(READY_215)  ## Check and test everything but what takes long
	@$(BIN)/python -m compileall -q src  # PYTHONDONTWRITEBYTECODE would have every process of the tests do it anew
	@$(MAKE) --no-print-directory -j 2 lint-and-page test-python
	@$(MAKE) --no-print-directory test-machine test-compat

test-fast: $(READY) native page  ## Test what needs neither TensorFlow nor a browser, for the loop while working
	$(BIN)/python -m pytest $(PYTEST_ARGS) tests/unit

test-all: export SLEUTH_THOROUGH = 1  # property tests try all of their examples
test-all: test docs $(READY_WHEELS)  ## Also the tests that take long (sanitizers among them), all of them on the oldest TensorFlow, and the site
	$(BIN)/python -m pytest -m long
	.venv-215/bin/python -m pytest $(PYTEST_ARGS) tests/compat

test-python: $(READY) native  ## Run the Python tests on TensorFlow 2.21
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-machine: $(READY) native  ## Run the tests that measure time or memory of this machine, one at a time
	$(BIN)/python -m pytest -m "machine and not long"

lint-and-page: lint test-page  ## Run the checks that need no Python test, beside which `make test` runs them

test-page: page  ## Check the types of the page's TypeScript and run its unit tests
	cd web && npm run --silent check && npm test --silent

test-compat: native $(READY_215)  ## Test the oldest TensorFlow that is supported, where it may differ
	.venv-215/bin/python -m pytest $(PYTEST_ARGS) $(ON_215)

lint: $(READY)  ## Check style, spelling and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(BIN)/codespell
	$(BIN)/mypy

format: $(READY)  ## Put the style right
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

bench: $(READY) native page chromium  ## Measure all, and write the tables of README.md and docs/ (one row, only shown: make bench ROW=name)
	$(BIN)/python -m bench $(ROW)

bench-zoo: $(READY) native  ## Measure what watching costs twelve programs, with oneDNN and without, and write docs/ (some hours; one: make bench-zoo PROGRAM=name)
	$(BIN)/python -m bench.zoo $(PROGRAM)
	$(BIN)/python -m bench.zoo --no-onednn $(PROGRAM)

screenshots: $(READY) native page chromium  ## Make the pictures in docs/images of the demo's main views
	$(BIN)/python -m tools.cast docs/images/demo.svg
	$(BIN)/python -m tests.browser.snap docs/images

docs: $(READY_DOCS)  ## Build the documentation as a site into build/site, and check its links (needs no TensorFlow)
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict
	@.venv-docs/bin/python tools/check_site.py build/site

wheel: $(READY_WHEELS)  ## Build the source distribution and the wheels for x86-64 and aarch64 into dist/, and check them
	$(BIN)/python -m tools.wheels dist

clean:  ## Remove what was built; the environments stay
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f src/tensorsleuth/native/libsleuth*.so
	rm -rf src/tensorsleuth/ui/web/static
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +
