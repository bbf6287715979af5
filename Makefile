# Needs Python >= 3.11 and a C compiler; everything else goes into virtual environments.
# make PYTHON=python3.13 names another interpreter, make VENV=path another environment.

PYTHON ?= python3
VENV ?= .venv
DEBUG_VENV := .venv-debug

BUILD_FILES := pyproject.toml meson.build meson.options \
               lacforest/meson.build $(wildcard lacforest/*/meson.build)

# meson, ninja and cython are found through PATH, and the environment is not activated.
in_venv = PATH="$(abspath $(1))/bin:$$PATH"
RUN = $(call in_venv,$(VENV))

.DEFAULT_GOAL := help
# Two targets may install into one environment: never at the same time.
.NOTPARALLEL:
# Stamps made by pattern rules are not rubbish.
.SECONDARY:
.PHONY: help demo test lint typecheck bench docs wheel wheel-test sdist-test debug-test clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.ready-cli  ## Fit a forest on a small example, show what it finds, write a report
	$(RUN) lacforest demo

test: $(VENV)/.ready-test  ## Run the whole test suite
	$(RUN) python -m pytest

lint: typecheck  ## Check types and style
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) cython-lint lacforest

typecheck: $(VENV)/.ready-lint  ## Check types only
	$(RUN) mypy

# Quick mode runs each benchmark once: it shows that they work, not how fast anything is.
bench: $(VENV)/.ready-asv  ## Run every benchmark once
	cd asv_benchmarks && $(RUN) asv machine --yes
	cd asv_benchmarks && $(RUN) asv run --quick --python=same --show-stderr

docs: $(VENV)/.ready-docs  ## Build the documentation into docs/_build/html
	$(RUN) sphinx-build -W --keep-going -b html docs docs/_build/html

# The sdist holds what is committed, and the wheel is built from the sdist.
wheel: $(VENV)/.ready-dist  ## Build sdist and wheel into dist/
	rm -rf dist
	$(RUN) python -m build

wheel-test:  ## Install the wheel of dist/ into a clean environment and import every module
	$(call test_dist,wheel,whl)

sdist-test:  ## The same for the sdist of dist/
	$(call test_dist,sdist,tar.gz)

# -I keeps the checkout, PYTHONPATH and the user's site-packages off sys.path.
define test_dist
ls dist/*.$(2) >/dev/null 2>&1 || $(MAKE) wheel
rm -rf build/.venv-$(1)
$(PYTHON) -m venv build/.venv-$(1)
build/.venv-$(1)/bin/python -m pip install --quiet dist/*.$(2)
cd build/.venv-$(1) && bin/python -I "$(CURDIR)/tools/import_every_module.py"
endef

# A release has no checks. Here a memoryview index out of range raises, and the assertions on raw
# pointers abort.
debug-test: $(DEBUG_VENV)/.ready  ## Run unit and property tests on the bounds-checked build
	$(call in_venv,$(DEBUG_VENV)) python -m pytest tests/unit tests/property

clean:  ## Remove what was built; the environments stay and are refreshed when next used
	rm -rf build dist docs/_build docs/api/generated docs/auto_examples docs/sg_execution_times.rst
	rm -rf asv_benchmarks/env asv_benchmarks/html asv_benchmarks/results
	rm -rf .hypothesis .pytest_cache .mypy_cache .ruff_cache
	rm -f $(VENV)/.installed $(DEBUG_VENV)/.ready

# --- environments -------------------------------------------------------------------------
# .pip        the environment exists and its pip knows dependency groups (>= 25.1)
# .installed  the package, editable: changed sources are compiled again at the next import
# .ready-x    .installed, and what target x needs

%/.pip:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("lacforest needs Python 3.11 or later, but $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	touch $@

$(VENV)/.installed: $(BUILD_FILES) | $(VENV)/.pip
	$(RUN) python -m pip install --quiet --group build
	$(RUN) python -m pip install --quiet --no-build-isolation --editable .
	touch $@

$(VENV)/.ready-asv: pyproject.toml | $(VENV)/.installed
	$(RUN) python -m pip install --quiet 'asv>=0.6.4' virtualenv
	touch $@

$(VENV)/.ready-cli: pyproject.toml | $(VENV)/.installed
	$(RUN) python -m pip install --quiet --no-build-isolation --editable '.[cli]'
	touch $@

$(VENV)/.ready-%: pyproject.toml | $(VENV)/.installed
	$(RUN) python -m pip install --quiet --group $*
	touch $@

# Editable, because pytest runs with the checkout on sys.path: a copy in site-packages would be
# hidden by the source tree, which has no compiled modules. The import hook of an editable install
# comes before sys.path. Its own build directory keeps it apart from the release build.
$(DEBUG_VENV)/.ready: $(BUILD_FILES) | $(DEBUG_VENV)/.pip
	$(call in_venv,$(DEBUG_VENV)) python -m pip install --quiet --group build --group test
	$(call in_venv,$(DEBUG_VENV)) python -m pip install --quiet --no-build-isolation --editable . \
	  --config-settings=build-dir=build/debug \
	  --config-settings=setup-args=-Dbounds_checks=true \
	  --config-settings=setup-args=-Dbuildtype=debugoptimized
	touch $@
