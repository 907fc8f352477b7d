# certify: everything a fresh machine with Python 3.11 and make needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILE := $(BIN)/pip-compile --quiet --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --strip-extras --generate-hashes --allow-unsafe
export PYTHONPATH :=

.PHONY: install demo test test-slow lint bench reliability lock vectors docs clean

$(VENV)/.packages: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit("certify needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.installed: $(VENV)/.packages pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

install: $(VENV)/.installed  ## after a change of pyproject.toml: seconds, where .venv is there

demo: $(VENV)/.installed  ## prove, verify, tamper with and refute one digit
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/nn/large.py

reliability: $(VENV)/.installed  ## measure how the checker holds, and write docs/reliability.md; takes about 40 minutes
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	$(BIN)/python tests/reliability --write

vectors: $(VENV)/.packages  ## write the corpus of test vectors again; needs no install, which needs the folders of vectors
	$(BIN)/python tests/vectors/build.py

docs: $(VENV)/.installed  ## write the pages that are made: docs/codes/ and docs/man/
	$(BIN)/python docs/make_codes.py
	$(BIN)/python docs/make_man.py

lock: $(VENV)/.installed  ## resolve the lock files again; needs pip-tools
	$(BIN)/python -m pip install --quiet pip-tools
	$(COMPILE) --extra dev --extra nn --extra grid --extra zk --output-file requirements.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock --extra fuzz --output-file requirements-fuzz.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build demo
