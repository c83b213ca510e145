# Two commands matter: `make run` and `make test`. Both are safe to repeat and quick the second time.
PYTHON ?= python3
PORT ?= 8501
VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
# Half the cores' worth of workers is enough: browser tests and the worker process need room.
TEST_WORKERS ?= 2

.PHONY: help run worker test test-all check bench reliability clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v[:2] <= (3, 13) else "Bucketwise needs Python 3.11, 3.12 or 3.13; this is %d.%d. Try make PYTHON=python3.12 run" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.txt | $(VENV)/.created
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: $(VENV)/.runtime  ## dashboard and one local worker; prints the address (PORT=8501)
	$(PY) scripts/run_local.py --port $(PORT)

worker: $(VENV)/.runtime  ## the GPU worker alone, for a machine with cards
	$(PY) -m gpu_worker

test: $(VENV)/.dev  ## the test suite without the slow tests
	$(PY) -m pytest -q -n $(TEST_WORKERS) --dist loadgroup -m "not slow"

test-all: $(VENV)/.dev  ## every test
	$(PY) -m pytest -q -n $(TEST_WORKERS) --dist loadgroup

check: $(VENV)/.dev  ## format, lint, types, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(PY) scripts/audit.py

bench: $(VENV)/.dev  ## speed, each beside its baseline in the same run
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(PY) -m benchmarks.$$(basename $$b .py) || exit 1; done
	$(PY) -m benchmarks.reliability browsers --seconds 60

reliability: $(VENV)/.dev  ## kill -9 rounds, 50 browsers, memory: two hours, docs/reliability.md
	$(PY) -m benchmarks.reliability kill --database sqlite
	$(PY) -m benchmarks.reliability kill --database postgres
	$(PY) -m benchmarks.reliability browsers
	$(PY) -m benchmarks.reliability memory

clean:  ## remove the environment and caches; keeps data/
	rm -rf $(VENV) .pytest_cache .ruff_cache .numba_cache .hypothesis
