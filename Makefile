# Everything a newcomer needs: `make demo`, then `make test`. Only Python 3.11, pip, gcc and make are assumed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo library wheel packages test mutants lint chromium spark soak bench docs clean

$(BIN)/shoal: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(BIN)/shoal pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint]'
	@touch $@

$(VENV)/.docs: $(BIN)/shoal pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(BIN)/shoal ## protect the bundled survey
	@mkdir -p out
	$(BIN)/shoal microaggregate examples/survey.csv -k 5 --effort quick --roles examples/roles.toml \
	  -o out/survey-protected.csv --report out/survey-report.html

library: $(BIN)/shoal ## compile the kernels ahead, for this checkout and for the wheel; a minute or two
	$(BIN)/python build_kernels.py

wheel: library ## a wheel that carries the compiled kernels, in dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

packages: $(VENV)/.test library ## install the wheel and the source distribution into fresh environments, and try them
	$(BIN)/python .ci/try_packages.py

test: lint chromium spark library ## lint, then every test on all cores; Numba compiles the kernels once for all workers
	SHOAL_KERNELS=jit $(BIN)/shoal warmup
	$(BIN)/python -m pytest -q -n $(WORKERS)

mutants: $(VENV)/.test library ## plant faults one at a time and count those that the tests notice, an hour or two; ONLY="gate" some
	$(BIN)/python tests/mutants/run.py --workers $(WORKERS) $(if $(ONLY),--only $(ONLY))

chromium: ## the browser for the tests of the pages, if it may be installed; without it those tests are skipped
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	  || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium; } >/dev/null 2>&1 \
	  || echo "no Chromium could be installed: the tests of the pages in a browser are skipped"

spark: $(VENV)/.test ## Java and PySpark for the tests on a cluster, if they may be installed; without them those are skipped
	@command -v java >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	  || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q default-jre-headless; } >/dev/null 2>&1 \
	  || true
	@if ! command -v java >/dev/null; then echo "no Java could be installed: the tests on a Spark cluster are skipped"; \
	  else $(BIN)/python -c "import pyspark" 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]' \
	  || echo "PySpark could not be installed: the tests on a Spark cluster are skipped"; fi

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src benchmarks
	$(BIN)/python docs/check_words.py

soak: $(VENV)/.test ## 20,000 odd tables and random commands, an hour and more
	SHOAL_SOAK=20000 $(BIN)/python -m pytest -q tests/soak

bench: $(VENV)/.test ## figures of the docs; all take hours, ONLY="mdav classical" some of them
	$(BIN)/python benchmarks/run.py $(ONLY)

docs: $(VENV)/.docs ## the site, in site/
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_tables.py
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
