# The verbs of this project. CI calls only these.
# The loop's tests need torch, in an environment of its own.
TRAIN := OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=1 .venv-train/bin/python
.PHONY: setup demo test test-train lint proto bench docs clean
BIN := .venv/bin

setup:            ## a fresh machine becomes able to do the rest
	@tools/setup.sh dev

demo:             ## score real completions with the embedded engine
	@tools/setup.sh service
	@$(BIN)/python -m assay demo

test: setup       ## the whole suite, without torch
	$(BIN)/python -m pytest -q

test-train:       ## the bundled GRPO loop and its kernels, with torch
	@tools/setup.sh train-dev .venv-train
	$(TRAIN) -m pytest -q tests/grpo

lint: setup       ## style, types, rules of dependence
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

proto: setup      ## regenerate the protobuf modules
	tools/proto.sh

bench: setup      ## speeds, each as a ratio against a peer in the same run
	$(BIN)/python -m bench

docs: setup       ## regenerate the pages that the code itself knows
	$(BIN)/python tools/docs.py

clean:
	rm -rf .venv .venv-train .venv-uv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
