# make ask        set everything up and answer a question about the sample document with the local model
# make test       set everything up and run the quick tests: six minutes on two cores
# make test-slow  run what `make test` leaves out, with PyTorch and Chromium, but for the longest: with it, what CI runs
# make test-all   run every test, and property tests with more examples
# make test-verl  test --engine verl with all of verl: its engine, and whole runs on Ray, in an environment of its own
# make test-extras  test the adapters to verifiers and Weights & Biases with the real packages, in an environment of its own
# make dist       build the wheel and the source archive into dist/
# make test-dist  install the wheel into empty environments, one extra at a time, and run it there; EVERY=1 takes them all
# make check      lint, types, import floors
# make docs       build the site of the documentation into site/
# make lock       write requirements/ anew from pyproject.toml; UPGRADE=1 takes the newest versions
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Of the many files of tools and PyTorch, few are ever imported: Python compiles those when they are.
PIP_TOOLS := $(PIP) --no-compile
PROJECT := --no-deps --no-build-isolation --editable .
# One more than there are cores, because tests wait too: for a page, another process, a lock.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Some images forbid it: then each of a thousand processes compiles what it imports anew.
export PYTHONDONTWRITEBYTECODE :=
# One thread each: workers that took all cores would fight for them.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help setup tools all ask test test-slow test-all browser test-verl test-extras dist test-dist check docs lock clean

help:
	@sed -n 's/^# //p' Makefile

setup: .venv/.ready

.venv/.ready: pyproject.toml requirements/pip.txt requirements/setup.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bookwheel needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "on Debian: apt-get install python3-venv"; exit 1; }
	$(PIP) --require-hashes -r requirements/pip.txt
	$(PIP) --require-hashes -r requirements/setup.txt
	$(PIP) $(PROJECT)
	$(BIN)/bookwheel models --fetch >/dev/null
	@touch $@

tools: .venv/.tools

.venv/.tools: .venv/.ready requirements/tools.txt
	$(PIP_TOOLS) --require-hashes -r requirements/tools.txt
	@touch $@

all: .venv/.all

# PyTorch comes without hashes: its builds for one version differ from machine to machine.
.venv/.all: .venv/.tools requirements/train.txt
	$(PIP_TOOLS) -c requirements/train.txt --no-build-isolation --editable '.[train]'
	@touch $@

ask: setup
	$(BIN)/bookwheel ask examples/lighthouse.md "How many barrels did the customs men count?"

test: tools
	$(PYTEST) -m "not (slow or torch or browser)"

test-slow: browser .venv/.verl
	$(PYTEST) -m "(slow or torch or browser) and not long"

test-all: browser .venv/.verl
	$(PYTEST) --hypothesis-profile=full

browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || $(BIN)/playwright install chromium

# verl's arithmetic is tested beside the embedded engine; what verl depends on is not needed for that.
.venv/.verl: .venv/.all
	$(PIP_TOOLS) --no-deps 'verl>=0.9.1,<0.10'
	@touch $@

.venv-verl/.ready: pyproject.toml requirements/verl.in
	@$(PYTHON) -m venv .venv-verl
	.venv-verl/bin/python -m pip install --quiet --disable-pip-version-check -c requirements/verl.in 'hatchling>=1.27' \
	  'setuptools>=77' wheel editables
	.venv-verl/bin/python -m pip install --quiet --disable-pip-version-check -c requirements/verl.in \
	  --no-build-isolation --editable '.[verl]' pytest hypothesis psutil
	@touch $@

# Of antlr4, which verl needs, there is a source package only. verl brings TensorBoard, which no other environment has.
test-verl: .venv-verl/.ready
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/tests/lab/training/verl VERL_USE_EXTERNAL_MODULES=cpu_bed VERL_PLATFORM=cpu \
	  VERL_ENGINE_DEVICE=cuda .venv-verl/bin/python -m pytest tests/lab/training/verl/test_engine.py \
	  tests/lab/training/verl/test_end_to_end.py tests/lab/commands/test_training_view.py

# verifiers needs an mcp that the extra [mcp] excludes.
.venv-extras/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-extras
	.venv-extras/bin/python -m pip install --quiet --disable-pip-version-check 'hatchling>=1.27' editables
	.venv-extras/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --editable '.[verifiers,wandb]' pytest hypothesis
	@touch $@

test-extras: .venv-extras/.ready
	.venv-extras/bin/python -m pytest tests/lab/test_verifiers.py tests/lab/commands/test_training_view.py

dist: setup
	rm -rf dist
	$(BIN)/python -m hatchling build

test-dist: dist tools
	WHEEL=$$(echo dist/*.whl) $(PYTEST) tests/installed $(if $(EVERY),,-m "not long")

check: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/code/house.py --check

docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.venv/.docs: .venv/.tools requirements/docs.txt
	$(PIP_TOOLS) --require-hashes -r requirements/docs.txt
	@touch $@

EXTRAS := --extra documents --extra pictures --extra local --extra serve --extra mcp
COMPILE := $(BIN)/uv pip compile --quiet --no-annotate --custom-compile-command "make lock" \
  --universal --python-version 3.11 $(if $(UPGRADE),--upgrade)

# The largest set is resolved first and holds the others to its versions.
lock: setup
	$(PIP) uv
	$(COMPILE) --generate-hashes requirements/pip.in -o requirements/pip.txt
	$(COMPILE) --generate-hashes $(EXTRAS) --extra dev pyproject.toml requirements/build.in -o requirements/tools.txt
	$(COMPILE) --generate-hashes $(EXTRAS) -c requirements/tools.txt pyproject.toml requirements/build.in -o requirements/setup.txt
	$(COMPILE) --generate-hashes --extra docs -c requirements/tools.txt pyproject.toml -o requirements/docs.txt
	$(COMPILE) --extra train -c requirements/tools.txt pyproject.toml requirements/train.in -o requirements/train.txt

clean:
	rm -rf .venv .venv-verl .venv-extras dist
