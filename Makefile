# `make demo` and `make test` set themselves up; everything lives in .venv.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.set-up-for-development

.PHONY: demo test check lint type contracts generate drift bench picture pins clean

demo: .venv/.set-up-to-run
	@$(BIN)/kubelet-exporter --version >/dev/null && $(BIN)/kubelet-exporter demo --log.level=error

test: $(SETUP)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

check: lint type contracts drift test

lint: $(SETUP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check

type: $(SETUP)
	$(BIN)/mypy

contracts: $(SETUP)
	$(BIN)/lint-imports

generate: $(SETUP)
	$(BIN)/kubelet-exporter generate

drift: $(SETUP)
	$(BIN)/kubelet-exporter generate --check

bench: $(SETUP)
	$(BIN)/python scripts/bench.py

picture: $(SETUP)
	$(BIN)/python scripts/show.py

pins:
	$(BIN)/pip-compile -q --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements.txt pyproject.toml
	$(BIN)/pip-compile -q --strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra dev -c requirements.txt -o requirements-dev.txt pyproject.toml

clean:
	rm -rf .venv

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "venv is missing: apt-get install python3-venv"; exit 1; }

.venv/.set-up-to-run: requirements.txt pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(SETUP): requirements-dev.txt pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@ .venv/.set-up-to-run
