# Two commands: make run, make test. Both first install .venv: what a run needs (requirements.lock),
# and what development adds to it (requirements-dev.lock).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# The pip of Debian 12 would install packages without a wheel in the old way, with no record of files.
PIP := $(BIN)/pip --disable-pip-version-check install -qq --use-pep517
# Snakemake and the linters are called by name, also by each other.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup run test lint debian lock docs figures unlock cancel clean
.DEFAULT_GOAL := help

help:
	@echo "make run     run the workflow on config/config.yaml (the built-in phantom cohort)"
	@echo "make setup   only install what a run needs, into $(VENV)"
	@echo "make test    run the linters, snakemake --lint and the tests"
	@echo "make lint    run only the linters"
	@echo "make debian  install what the tests need from Debian (as root): Chromium, and a real head"
	@echo "make docs    build the documentation as a site, docs/_build/html/index.html"
	@echo "make figures regenerate the pictures and tables of the documentation"
	@echo "make unlock  after a killed run: cancel its cluster jobs and unlock the folder"
	@echo "make lock    resolve the dependencies in pyproject.toml again into requirements.lock and"
	@echo "             requirements-dev.lock, and the federated extra into constraints-federated.txt"
	@echo "make clean   remove results and .venv"

setup: $(READY)
	@echo "==> Ready. Next:"
	@echo "    source $(VENV)/bin/activate"
	@echo "    notears-pfl study new FOLDER    (the folder of your data), or: make run"

run: $(READY)
	@echo "==> Running the workflow; results go to results/"
	@notears-pfl study run config/config.yaml
	@echo "==> What it cost (CPU and elapsed seconds, sums over jobs)"
	@python tools/run_cost.py

test: $(READY_DEV)
	@$(MAKE) --no-print-directory --jobs 2 lint debian
	@echo "==> Running the tests"
	@OMP_NUM_THREADS=1 python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder \
	  --durations 20

# The tests of the report need a browser, those of preprocessing a real head (Colin27). What is
# missing and cannot be installed leaves tests out, except in continuous integration.
debian:
	@missing=""; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || missing=chromium; \
	[ -d /usr/share/mricron/templates ] || missing="$$missing mricron-data"; \
	[ -z "$$missing" ] || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { \
	    echo "==> Installing $$missing for the tests"; \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; \
	  } || echo "Missing and not installed: $$missing. Tests that need them will be skipped."

lint: $(READY_DEV)
	@echo "==> Running the linters"
	@pre-commit run --all-files --color never

$(READY): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "NOTEARS-PFL needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Install a newer Python, or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; \
	  exit 1; }
	@echo "==> Installing what a run needs into $(VENV) (once; about one minute)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY_DEV): requirements-dev.lock $(READY)
	@echo "==> Adding what development needs to $(VENV) (once; about one minute)"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

LOCK := uv pip compile pyproject.toml --universal --fork-strategy fewest --python-version 3.11 \
  --no-emit-index-url --quiet
HASHED := --generate-hashes --no-annotate --no-header

# uv keeps versions that the file already has, so the copies have those of the first.
lock: $(READY_DEV)
	@$(LOCK) --group dev --extra workflow --extra federated $(HASHED) --upgrade \
	  --output-file requirements-dev.lock
	@cp requirements-dev.lock requirements.lock
	@$(LOCK) --group build --extra workflow $(HASHED) --output-file requirements.lock
	@cp requirements-dev.lock constraints-federated.txt
	@$(LOCK) --extra federated --no-annotate --custom-compile-command "make lock" \
	  --output-file constraints-federated.txt

docs: $(READY_DEV)
	@sphinx-build --quiet --nitpicky --fail-on-warning --keep-going --conf-dir docs . docs/_build/html
	@echo "==> The documentation is in docs/_build/html/index.html"

figures: $(READY_DEV)
	@python tools/settings_table.py
	@python tools/columns_page.py
	@python tools/rerun_table.py
	@python tools/report_captions.py
	@command -v dot >/dev/null || { echo "The picture of the rules needs graphviz (apt install graphviz)." >&2; exit 1; }
	@python benchmarks/scaling_figure.py docs/guide/scaling.tsv docs/scaling.png
	@snakemake --rulegraph dot -- all 2>/dev/null | sed -n '/^digraph/,$$p' \
	  | dot -Grankdir=LR -Nfontname=sans -Tsvg >docs/rulegraph.svg
	@snakemake --quiet all --cores all \
	  results/phantom/figure_cohort.png
	@cp results/phantom/figure_cohort.png docs/phantom_cohort.png
	@python -c 'from PIL import Image; image = Image.open("results/report/figures/overlap.png"); \
	  image.convert("RGB").resize((1300, 940)).quantize(128, method=2).save("docs/report_overlap.png", optimize=True)'

unlock: $(READY) cancel
	@snakemake --unlock

# Only jobs that were submitted from this folder.
cancel:
	@! command -v squeue >/dev/null || squeue --me --noheader --name=notears-pfl --format="%i %Z" \
	  | awk '$$2 == "$(CURDIR)" {print $$1}' | xargs --no-run-if-empty scancel

clean:
	@find results -mindepth 1 -not -name .gitkeep -delete
	@rm -rf $(VENV) .snakemake logs
