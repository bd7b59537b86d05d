# make ask    set everything up and answer a question about the sample document with the local model
# make test   set everything up and run the tests
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup tools ask test check clean

help:
	@sed -n 's/^# //p' Makefile

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bookwheel needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[documents,local,evaluation,serve,mcp]'
	$(BIN)/bookwheel models --fetch >/dev/null
	@touch $@

tools: .venv/.tools

.venv/.tools: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

ask: setup
	$(BIN)/bookwheel ask examples/lighthouse.md "How many barrels did the customs men count?"

test: tools
	$(BIN)/python -m pytest

check: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv
