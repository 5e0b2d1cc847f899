# `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
export HF_HUB_OFFLINE = 1
.PHONY: help demo test check notebooks format bench soak clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[offline,lab,notebooks,web,mcp,dask,otel,dev]'
	@touch $@

demo: $(READY) ## set up, and run the main job: two tasks, the second recalls the first
	$(BIN)/carryforward demo

test: $(READY) check ## set up, check types and style, and run the tests
	$(BIN)/pytest

notebooks: $(READY) ## execute the notebooks from clean and keep what they print (`make test` compares)
	$(BIN)/python notebooks/execute.py

check: $(READY) ## types and style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY) ## put the code in its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure; CARRYFORWARD_DATA names the folder of the full data sets
	$(BIN)/python tests/benchmarks/bench_facts.py
	for job in imports steps add trim replay stress; do $(BIN)/python tests/benchmarks/bench_short_term.py $$job; done
	$(BIN)/python tests/benchmarks/bench_long_term.py
	$(BIN)/python tests/benchmarks/bench_loop.py
	for job in usage speed frontier; do $(BIN)/python tests/benchmarks/bench_lab.py $$job; done

soak: $(READY) ## long campaigns: kills, fuzzing, 100,000 cases
	$(BIN)/pytest -m soak
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python tests/tools/fuzz.py calculator -runs=650000
	$(BIN)/python tests/tools/fuzz.py arguments -runs=320000
	$(BIN)/python tests/tools/fuzz.py html -runs=30000

clean: ## remove the environment and all that tools left
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build *.egg-info
