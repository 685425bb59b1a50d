# The same commands for people and for CI. `make test` makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
# Without torch (the tests that need it are then skipped): make test EXTRAS=dev,serve
EXTRAS ?= dev,train,serve,docs,tables,graphs,spacy,ray

.PHONY: install test check format docs refresh benchmark gate gate-part fuzz release-check clean

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

# The site, in site/; a link that leads nowhere or a page that is in no menu is an error.
docs: install
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict

# Writes what the examples in README and docs really give, and the figures: after a change of the embedded model, say.
refresh: install
	$(VENV)/bin/python benchmarks/report.py
	$(VENV)/bin/python benchmarks/plots.py
	$(VENV)/bin/python tools/refresh_docs.py

# Holds every shipped model to its floors in benchmarks/floors.json, on all of dev. CI does it on a part of dev.
gate: install
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/gate.py --whole

gate-part: install
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/gate.py

# All that is cheap: at most two minutes each on a quiet machine, and no model but the embedded one. Writes
# benchmarks/results/ and the figures in README and docs. What the other results come from: docs/benchmarks.md.
benchmark: install
	$(VENV)/bin/python benchmarks/model.py
	$(VENV)/bin/python benchmarks/speed.py
	$(VENV)/bin/python benchmarks/decode.py
	$(VENV)/bin/python benchmarks/read.py
	$(VENV)/bin/python benchmarks/lemmas.py
	$(VENV)/bin/python benchmarks/calibration.py
	$(VENV)/bin/python benchmarks/serve.py
	$(VENV)/bin/python benchmarks/grams.py
	$(VENV)/bin/python benchmarks/report.py

# Runs every fuzzer in tests/fuzz/ with new seeds; prints counts, and how to repeat a fault. See docs/reliability.md.
MINUTES ?= 30
fuzz: install
	PYTHONPATH=src:tests:benchmarks OMP_NUM_THREADS=1 $(VENV)/bin/python -m fuzz --minutes $(MINUTES)
	$(VENV)/bin/python benchmarks/report.py

# Builds sdist and wheel of what git tracks, looks into them, installs the wheel alone and parses with it.
release-check: install
	$(VENV)/bin/python tools/release_check.py

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
