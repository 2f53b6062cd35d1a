# The targets of this project. CI calls only these.
# The tests of the training loop need torch, in a separate environment.
TRAIN := OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=1 .venv-train/bin/python
.PHONY: setup demo test test-packages test-trainers test-train soak lint proto bench docs clean
BIN := .venv/bin

setup:            ## prepare a fresh machine for all other targets
	@tools/setup.sh dev

demo:             ## score real completions with the embedded engine
	@tools/setup.sh service
	@$(BIN)/python -m assay demo

test: setup       ## the whole suite, without torch; test files are distributed over two processes
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-train:       ## the bundled GRPO loop and its kernels, with torch
	@tools/setup.sh train-dev .venv-train
	$(TRAIN) -m pytest -q tests/grpo

test-trainers: setup  ## real TRL, verl and vLLM, and other systems' clients, each in its own environment
	@tools/trainers.sh

test-packages: setup   ## tests that need pip installs: the base wheel, package environments of the sandbox, reasoning_gym
	@tools/setup.sh gym
	$(BIN)/python -m pytest -q -m packages

soak: setup       ## long tests: all rows, a thousand hostile runs, twenty kills of a training run
	ASSAY_DIFFERENTIAL_STRIDE=1 ASSAY_HOSTILE_RUNS=1000 ASSAY_ADAPTER_ROWS=100000 $(BIN)/python -m pytest -q \
	  --timeout 3600 tests/verifiers/code tests/sandbox tests/service/engine tests/datasets
	@tools/setup.sh train-dev .venv-train
	ASSAY_KILLS=20 $(TRAIN) -m pytest -q tests/grpo/test_regime_faults.py

lint: setup       ## style, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

proto: setup      ## regenerate the protobuf modules
	tools/proto.sh

bench:            ## speeds, each as a ratio against a peer in the same run
	@tools/setup.sh bench
	$(BIN)/python -m bench

docs: setup       ## regenerate the pages that are generated from the code
	$(BIN)/python tools/docs.py

clean:
	rm -rf .venv .venv-train .venv-uv .venv-stubs .venv-trl .venv-verl .venv-vllm .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
