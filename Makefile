# The same commands for people and for CI. `make test` makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
# Without torch (the tests that need it are then skipped): make test EXTRAS=dev,serve
EXTRAS ?= dev,train,serve

.PHONY: install test check format benchmark clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

test: install
	$(VENV)/bin/python -m pytest

check: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m pytest tests/test_layers.py

format: install
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Takes minutes and wants a quiet machine; writes benchmarks/results/ and the figures in README and docs.
benchmark: install
	$(VENV)/bin/python benchmarks/read.py
	$(VENV)/bin/python benchmarks/decode.py
	$(VENV)/bin/python benchmarks/report.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
