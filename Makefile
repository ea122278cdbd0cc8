# The verbs of this project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check --quiet
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
# Tests generated from the API description have one id for many cases, which pytest-xdist would run once.
GENERATED := tests/site/test_description.py tests/site/test_edges.py
# In the order of tests/conftest.py: by default the files with the fewest tests come last, and some of them are the longest.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
LOCK := $(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
CHECKED := tests/test_architecture.py tests/test_migrations.py tests/test_migration_rules.py \
	tests/test_locks.py tests/test_security.py

# Every command and every test that starts a shop would compile its source anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check format migration security compatibility bench install torture lock release clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: install ## everything a fresh machine needs, then serve the demo shop on http://127.0.0.1:8000, or on PORT=8110
	@exec $(VENV)/bin/shop serve --demo $(if $(PORT),--port $(PORT))

test: $(DEV) ## everything a fresh machine needs, then the suite, but for the tests of `check`
	@status=0; \
	$(VENV)/bin/python -m pytest $(PARALLEL) -m "not torture" $(CHECKED:%=--ignore=%) $(GENERATED:%=--ignore=%) \
		|| status=$$?; \
	$(VENV)/bin/python -m pytest -m "not torture" tests/site/test_description.py || status=$$?; \
	exit $$status

check: $(DEV) ## format, lint, types, walls, migrations in step with tables, locks in step with pyproject.toml, security rules tested
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/mypy --no-error-summary
	@$(VENV)/bin/python -m pytest -m "not torture" $(CHECKED)

format: $(DEV) ## format the code and sort imports
	@$(VENV)/bin/ruff check --quiet --fix --select I .
	@$(VENV)/bin/ruff format --quiet .

migration: $(DEV) ## write the next migration from the tables: make migration NAME="what changes"
	@test -n "$(NAME)" || { echo 'Say what changes: make migration NAME="add brands"'; exit 1; }
	@$(VENV)/bin/python -m shop.migrations.revise "$(NAME)"

security: $(DEV) ## write docs/generated/security-tests.md: which test proves which rule of docs/security.md
	@$(VENV)/bin/python -m tests.security_rules

compatibility: $(DEV) ## write the tables of docs/compatibility.md: what of the Spree API v2 is served
	@$(VENV)/bin/python -m tests.compatibility

bench: $(DEV) ## the benchmark, written to bench/report.md; with BASE=<commit> a comparison with that commit
	@$(VENV)/bin/python -m bench.$(if $(BASE),compare $(BASE),run)

torture: $(DEV) ## what is slow and valuable: kill loops, every page and edge, the suite on PostgreSQL 15
	@$(VENV)/bin/python -m pytest $(PARALLEL) -m torture $(GENERATED:%=--ignore=%)
	@$(VENV)/bin/python -m pytest -m torture $(GENERATED)
	@$(VENV)/bin/python -m pytest $(PARALLEL) -m "hypothesis and not torture" --hypothesis-profile thorough $(GENERATED:%=--ignore=%)
	@$(VENV)/bin/python -m tests.on_postgres_15

install: $(RUN) ## the virtual environment in .venv with the locked dependencies

lock: $(DEV) ## make the locks anew from pyproject.toml
	@$(LOCK) --extra embedded pyproject.toml requirements/build.in -o requirements/run.txt
	@$(LOCK) -c requirements/run.txt pyproject.toml requirements/build.in -o requirements/server.txt
	@$(LOCK) --extra embedded --extra dev -c requirements/run.txt pyproject.toml requirements/build.in -o requirements/dev.txt

release: $(DEV) ## sdist, wheel, SBOM and checksums of the last commit, in dist/
	@$(VENV)/bin/python -m tools.release

clean: ## remove the virtual environment and caches; the data directory stays
	@rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis
	@find src tests bench -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; set PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)

# Build isolation would fetch the build backend past the locks, so the backend is locked with the rest.
$(RUN): requirements/run.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements/dev.txt $(RUN)
	@echo "Installing the locked development tools into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@# Tests are compiled as they are gathered: once here, and not by every process of the first run at the same time.
	@$(VENV)/bin/python -m pytest --collect-only -qq > /dev/null
	@touch $@
