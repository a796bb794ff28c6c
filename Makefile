# The only commands anyone needs: make demo, make test, make check, make bench.
# Each makes its own virtual environment; a machine needs Python 3.11+ and make, nothing else.
#   make demo ARGS=--once        make test ARGS="tests/unit -k tie"        make bench NAME=accuracy

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
ARGS ?=
NAME ?= accuracy

.PHONY: demo test check bench lock

demo: .venv/demo.stamp
	@$(BIN)/sidecar demo $(ARGS)

test: .venv/dev.stamp
	@$(BIN)/python -m pytest $(ARGS)

check: .venv/dev.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/unit/test_rooms.py

bench: .venv/dev.stamp
	@$(BIN)/python -m benchmarks.$(NAME) $(ARGS)

# Locked versions, made anew from pyproject.toml.
lock: .venv/python.stamp
	@$(BIN)/python -m pip install --quiet uv
	@for extra in demo dev; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
		--no-header --upgrade --extra $$extra pyproject.toml -o requirements/$$extra.lock; done

.venv/python.stamp:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it or set PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv .venv >&2 || { echo "the venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

.venv/%.stamp: requirements/%.lock pyproject.toml .venv/python.stamp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/$*.lock >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable . >&2
	@touch $@
