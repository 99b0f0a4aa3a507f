# Everything a developer does. `make` alone lists the targets.
#
# Every target makes what it needs first: a virtual environment in $(VENV), and, where a real
# control plane is used, its binaries in the user's cache. Both are made once.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The first interpreter that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest
RUN := $(BIN)/devops-bench
DEMO_SPEC ?= specs/scale-out

.PHONY: help setup binaries demo test test-unit test-integration test-docker test-optimized \
	lint format types layers docs bench qualify clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' \
		| while IFS=$$'\t' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

setup: $(STAMP) ## Make the virtual environment (again only when its requirements change)

$(STAMP): pyproject.toml constraints.txt
	@[ -n "$(PYTHON)" ] || { echo "make: python 3.11 or newer is needed (set PYTHON=...)" >&2; exit 1; }
	@if [ ! -x "$(BIN)/python" ]; then \
		echo "setup: making $(VENV) with $(PYTHON)"; \
		$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
			echo "make: $(PYTHON) cannot make virtual environments (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }; \
		$(PYTHON) -m venv "$(VENV)"; \
	fi
	@echo "setup: installing devops-bench and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
		--constraint constraints.txt --editable '.[dev]'
	@touch "$@"

binaries: setup
	@$(RUN) cluster build

demo: setup binaries ## Run a spec with its oracle on a real control plane
	@echo "demo: $(RUN) run --spec $(DEMO_SPEC) --agent oracle"
	@$(RUN) run --spec $(DEMO_SPEC) --agent oracle

# With PROVIDER=kind or kubeconfig the control plane is not ours, so nothing is built for it.
PROVIDER ?= local
export PROVIDER
PLANE := $(if $(filter local,$(PROVIDER)),binaries)

test: setup $(PLANE) ## Unit and integration tests on a real API server (PROVIDER=local|kind|kubeconfig)
	@echo "test: unit and integration tests, provider $(PROVIDER), $(WORKERS) workers"
	@$(PYTEST) -n $(WORKERS) --dist loadgroup -m "not docker" tests

test-unit: setup ## Unit tests only: no cluster, no network
	@$(PYTEST) -n $(WORKERS) -m "not docker" tests/unit

test-integration: setup $(PLANE) ## Integration tests only
	@$(PYTEST) -n $(WORKERS) --dist loadgroup -m "not docker" tests/integration

test-docker: setup $(PLANE) ## The tests of --sandbox docker, where a Docker daemon answers
	@$(PYTEST) -m docker tests

test-optimized: setup ## The tests of hold under python -O, where assert statements are gone
	@$(BIN)/python -O -m pytest -q tests/unit/evalharness

lint: setup ## Style: ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: setup ## Let ruff format the tree
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: setup ## Types: mypy --strict
	@$(BIN)/mypy

layers: setup ## Which package may import which: import-linter
	@$(BIN)/lint-imports

docs: setup ## Docstring coverage, and that the documents name only what exists
	@$(BIN)/interrogate --quiet devops_bench
	@$(PYTEST) -q tests/unit/docs

bench: setup binaries ## Measure, side by side in one run (docs/benchmarks.md)
	@$(BIN)/python -m bench

# Each control of each spec, on a plane of its own. REPEAT=1 says whether a spec does what it should,
# twenty say how sure that is. RESUME=FOLDER continues one that was ended.
REPEAT ?= 20
JOBS ?= 2
QUALIFY_SPECS ?= specs
RESUME ?=

qualify: setup binaries ## Test the specs by their controls (REPEAT=20, JOBS=2, docs/qualification.md)
	@$(RUN) qualify --jobs $(JOBS) \
		$(if $(RESUME),--resume $(RESUME),--spec $(QUALIFY_SPECS) --repeat $(REPEAT))

clean: ## Remove what the other targets made in this folder (not the cache of binaries)
	rm -rf "$(VENV)" .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
