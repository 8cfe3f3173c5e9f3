# Two commands do everything on a machine with Python 3.11+, make and git:
#   make reports    every report from the shipped demo, offline, no keys
#   make test       the fast test suite
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV      = $(BIN)/uv --quiet

# Machines that forbid Python to keep its bytecode would compile every package anew at every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install test test-slow reports lab format check bench mutants docs release lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## create .venv from requirements.lock

# uv itself comes from the lock, by pip and with its hashes; uv then installs the rest in seconds.
$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	VIRTUAL_ENV=$(VENV) $(UV) pip sync --require-hashes requirements.lock
	VIRTUAL_ENV=$(VENV) $(UV) pip install --no-deps --no-build-isolation --editable .
	@touch $@

test: install  ## the fast suite (5 minutes on two cores)
	$(BIN)/python -m pytest -n 3 -m "not slow" --ignore=tests/benchmarks tests

test-slow: install  ## everything, the full coverage grids included
	$(BIN)/python -m pytest -n 3 --ignore=tests/benchmarks tests

reports: install  ## regenerate every report from the shipped demo, offline
	$(BIN)/axisjudge report

lab: install  ## JupyterLab on notebooks/ (more with ARGS="--port 9999")
	$(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

format: install  ## ruff format, ruff's safe fixes, notebooks stripped
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/nbstripout notebooks/*.ipynb

check: install  ## ruff, mypy strict, notebooks stripped, the tiers of the package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_tiers.py

bench: install  ## measure, print, assert nothing
	$(BIN)/python -m pytest -q -s --benchmark-run tests/benchmarks

mutants: install  ## changes to the package, one at a time, that the nearest tests should notice (ARGS="--draw 100 --seed 1")
	$(UV) tool run --from cosmic-ray python tests/mutants.py $(ARGS)

docs: install  ## the pages of axisjudge/docs and the API reference, into build/docs
	$(BIN)/python -m pdoc --docformat numpy --output-directory build/docs axisjudge axisjudge.docs axisjudge.stats axisjudge.readers axisjudge.ratings axisjudge.sources axisjudge.imports axisjudge.judges axisjudge.judging axisjudge.labels axisjudge.protocol axisjudge.scores axisjudge.trajectory axisjudge.verdict

release: install  ## wheel, sdist and licences into build/release; both tried on each Python that is here
	tests/release.sh $(BIN)/uv

lock: install  ## resolve requirements.lock anew
	$(UV) pip compile --universal --all-extras --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade pyproject.toml -o requirements.lock

clean:  ## remove what the targets built (never your ratings or labels)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist reports/*.html reports/*/*.html reports/*/*.ipynb reports/.[!.]*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
