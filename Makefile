# Requires Python >= 3.11 and a C compiler; everything else is installed into virtual environments.
# Use make PYTHON=python3.13 to select another interpreter, make VENV=path for another environment.

PYTHON ?= python3
VENV ?= .venv
DEBUG_VENV := .venv-debug
SANITIZE_VENV := .venv-sanitize
FLOOR_VENV := .venv-floor

BUILD_FILES := pyproject.toml meson.build meson.options \
               lacforest/meson.build $(wildcard lacforest/*/meson.build)

# Put the environment on PATH, because it is not activated and meson, ninja and cython must be found.
in_venv = PATH="$(abspath $(1))/bin:$$PATH"
RUN = $(call in_venv,$(VENV))

.DEFAULT_GOAL := help
# Targets that install into the same environment must not run at the same time.
.NOTPARALLEL:
# Keep stamp files that were created by pattern rules.
.SECONDARY:
.PHONY: help demo test lint typecheck bench docs wheel wheel-test sdist-test debug-test clean
.PHONY: first-visit look workflow-lint sanitize leak-test fuzz cluster-test mutants floor-test free-threaded-test

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.ready-cli  ## Fit a forest on a small example, print the results and write a report
	$(RUN) lacforest demo

first-visit: $(VENV)/.ready-cli $(VENV)/.ready-visit  ## Play the first visit and the first months of a new user
	$(RUN) python tools/first_visit.py
	$(RUN) python tools/three_months.py

# Files of tests run in two processes; TEST_JOBS=0 runs them in one, which a debugger needs.
TEST_JOBS ?= 2
in_processes = -n $(TEST_JOBS) --dist loadfile
test: $(VENV)/.ready-test  ## Run the whole test suite
	$(RUN) python -m pytest $(in_processes)

lint: typecheck workflow-lint  ## Check types, style and workflows
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) cython-lint lacforest

# mypy trusts the stubs; stubtest imports the compiled modules and compares them with the stubs.
typecheck: $(VENV)/.ready-test $(VENV)/.ready-lint  ## Check types, and the stubs against the compiled modules
	$(RUN) mypy
	$(RUN) python -m mypy.stubtest lacforest._tree --mypy-config-file pyproject.toml \
	  --allowlist tools/stubtest-allowlist.txt

workflow-lint: $(VENV)/.ready-lint  ## Validate the GitHub workflows and check them for unsafe steps
	$(RUN) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(RUN) check-jsonschema --builtin-schema vendor.github-issue-forms \
	  $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(RUN) check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(RUN) zizmor --offline --quiet .github

# Quick mode runs each benchmark once: it checks that the benchmarks work and measures nothing.
BENCHMARKS ?= .
bench: $(VENV)/.ready-asv  ## Run every benchmark once
	cd asv_benchmarks && $(RUN) asv machine --yes
	cd asv_benchmarks && $(RUN) asv run --quick --python=same --show-stderr --bench '$(BENCHMARKS)'

docs: $(VENV)/.ready-docs  ## Build the documentation into docs/_build/html
	$(RUN) sphinx-build -W --keep-going -b html docs docs/_build/html

# The browser is not a requirement: without one, the pages are not looked at.
LOOK = index quickstart command api auto_examples/learning/plot_figure_1 api/generated/lacforest.LACForestClassifier
look: docs  ## Look at pages of the documentation in a browser, wide and narrow, light and dark
	if command -v chromium chromium-browser >/dev/null; then \
	  $(RUN) python tools/look_at_pages.py $(LOOK:%=docs/_build/html/%.html); \
	else echo 'no chromium: the pages were not looked at'; fi

# The sdist contains the committed files, and the wheel is built from the sdist. auditwheel determines
# the oldest C library that the wheel works with.
wheel: $(VENV)/.ready-dist  ## Build sdist and Linux wheel into dist/ and check their contents
	rm -rf dist build/dist
	$(RUN) python -m build --outdir build/dist
	$(RUN) auditwheel repair --wheel-dir dist build/dist/*.whl
	cp build/dist/*.tar.gz dist
	$(RUN) auditwheel show dist/*.whl
	$(RUN) python tools/check_dist.py dist

# The whole suite takes as long as make test; WHEEL_TESTS=tests/estimator selects a part of it.
WHEEL_TESTS ?= tests
wheel-test:  ## Install the wheel from dist/ without a compiler, and test the installed package
	$(call test_dist,wheel,whl,$(no_compiler))
	build/.venv-wheel/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	build/.venv-wheel/bin/python -m pip install --quiet --group test
	cd build/.venv-wheel && LACFOREST_TEST_INSTALLED=1 bin/python -I -m pytest $(in_processes) $(out_of_tree) \
	  $(addprefix $(CURDIR)/,$(WHEEL_TESTS))

# With -I, these options let tests find their settings and helpers, but not the package's source tree.
out_of_tree = --config-file "$(CURDIR)/pyproject.toml" --rootdir "$(CURDIR)"

sdist-test:  ## Install the sdist from dist/ into a clean environment and import every module
	$(call test_dist,sdist,tar.gz,)

# The PATH contains only the environment, so cc, gcc, ninja and cython cannot be found.
no_compiler = PATH="$(CURDIR)/build/.venv-wheel/bin" CC=/nonexistent/cc CXX=/nonexistent/cxx

# -I keeps the checkout, PYTHONPATH and the user's site-packages off sys.path.
define test_dist
ls dist/*.$(2) >/dev/null 2>&1 || $(MAKE) wheel
rm -rf build/.venv-$(1)
$(PYTHON) -m venv build/.venv-$(1)
$(3) build/.venv-$(1)/bin/python -m pip install --quiet dist/*.$(2)
cd build/.venv-$(1) && $(3) bin/python -I "$(CURDIR)/tools/import_every_module.py"
endef

# The release build has no checks. In this build an out-of-range memoryview index raises an error, and a
# failed assertion on raw pointers aborts.
DEBUG_TESTS ?= tests/unit tests/property
debug-test: $(DEBUG_VENV)/.ready  ## Run unit and property tests on the bounds-checked build
	$(call in_venv,$(DEBUG_VENV)) python -m pytest $(in_processes) $(DEBUG_TESTS)

# The compiled core is built with AddressSanitizer and UBSan. The interpreter is not, so the sanitizer
# libraries are preloaded, and leak detection is off, since it would report the interpreter's leaks
# (make leak-test detects ours). With -O1 the build takes half as long. The install is not editable,
# because an import that calls ninja would run the compiler under the sanitizers.
SANITIZE_TESTS ?= tests/property tests/estimator/test_fuzzed_files.py
sanitize: $(SANITIZE_VENV)/.ready  ## Run property tests and mutated model files on a build with ASan and UBSan
	$(call in_venv,$(SANITIZE_VENV)) python -m pip install --quiet --no-build-isolation --no-deps \
	  --force-reinstall . --config-settings=build-dir=build/sanitize \
	  --config-settings=setup-args=-Db_sanitize=address,undefined \
	  --config-settings=setup-args=-Dbuildtype=debugoptimized \
	  --config-settings=setup-args='-Dc_args=-fno-sanitize-recover=all -O1'
	cd build && LACFOREST_TEST_INSTALLED=1 PYTHONMALLOC=malloc \
	  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(or $(CC),cc) -print-file-name=libasan.so) $$($(or $(CC),cc) -print-file-name=libubsan.so)" \
	  "$(abspath $(SANITIZE_VENV))/bin/python" -I -m pytest $(out_of_tree) \
	  $(addprefix $(CURDIR)/,$(SANITIZE_TESTS))

# Use one arena: with one arena per thread, glibc moves free memory between them, which looks like growth.
leak-test: $(VENV)/.installed  ## Fit, predict, save and load 600 times; check that memory stays flat
	$(RUN) MALLOC_ARENA_MAX=1 python tools/leak_test.py

# FUZZ_SEED=$$RANDOM generates other files; the inputs to fit and predict differ in every run.
FUZZ_SEED ?= 0
FUZZ_FILES ?= 100000
fuzz: $(VENV)/.ready-test  ## Load 100,000 mutated model files; fit and predict on unusual inputs
	$(RUN) python tools/fuzz_model_files.py --files $(FUZZ_FILES) --seed $(FUZZ_SEED)
	$(RUN) HYPOTHESIS_PROFILE=fuzz python -m pytest tests/property/test_strange_inputs.py

cluster-test: $(VENV)/.ready-test  ## Kill workers in every stage of a fit on Dask; fit many times, on 1, 2 and 4 workers
	$(RUN) python -m pytest tests/cluster -m nightly

# MUTANTS=--quick plants only the bugs that are marked so; --help lists other options.
MUTANTS ?=
mutants: $(VENV)/.ready-test  ## Plant the bugs of tests/mutants in a copy; print those that no test catches
	$(RUN) python tools/mutants.py $(MUTANTS)

# make test uses the newest versions of all dependencies. Packages that only tests need are not
# pinned, except polars: scikit-learn 1.7 reads frames through a protocol that polars 1.40 removed.
FLOOR := numpy==2.0.* scipy==1.16.* scikit-learn==1.7.* joblib==1.4.*
FLOOR_TESTS ?= tests
floor-test: $(FLOOR_VENV)/.ready  ## Run the test suite with the oldest allowed dependencies
	$(call in_venv,$(FLOOR_VENV)) python tools/check_floor.py $(FLOOR)
	$(call in_venv,$(FLOOR_VENV)) python -m pytest $(in_processes) $(FLOOR_TESTS)

# Few packages of the test group have wheels for free-threaded Python; older versions with wheels suffice.
FREE_THREADED_VENV := .venv-free-threaded
free-threaded-test: $(FREE_THREADED_VENV)/.pip  ## Run property and thread tests without the GIL (PYTHON=python3.14t)
	$(call in_venv,$(FREE_THREADED_VENV)) python -c 'import sys, sysconfig; \
	  sysconfig.get_config_var("Py_GIL_DISABLED") or sys.exit("$(PYTHON) has a GIL; select another interpreter, make PYTHON=python3.14t")'
	$(call in_venv,$(FREE_THREADED_VENV)) python -m pip install --quiet --prefer-binary --group build \
	  'pytest>=8' 'hypothesis>=6.100' numpy scipy scikit-learn joblib
	$(call in_venv,$(FREE_THREADED_VENV)) python -m pip install --quiet --no-build-isolation --no-deps \
	  --force-reinstall . --config-settings=build-dir=build/free-threaded
	cd build && LACFOREST_TEST_INSTALLED=1 "$(abspath $(FREE_THREADED_VENV))/bin/python" -I -m pytest \
	  $(out_of_tree) $(addprefix $(CURDIR)/,$(FREE_THREADED_TESTS))
FREE_THREADED_TESTS ?= tests/property tests/estimator/test_thread_safety.py

clean:  ## Remove build products; environments are kept and refreshed at the next use
	rm -rf build dist docs/_build docs/api/generated docs/auto_examples docs/sg_execution_times.rst
	rm -rf asv_benchmarks/env asv_benchmarks/html asv_benchmarks/results
	rm -rf .hypothesis .pytest_cache .mypy_cache .ruff_cache
	rm -f $(VENV)/.installed $(DEBUG_VENV)/.ready $(SANITIZE_VENV)/.ready $(FLOOR_VENV)/.ready

# --- environments -------------------------------------------------------------------------
# .pip        the environment exists, and its pip supports dependency groups (>= 25.1)
# .installed  the package is installed in editable mode: the next import recompiles changed sources
# .ready-x    .installed, and the requirements of target x are installed

%/.pip:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("lacforest needs Python 3.11 or later, but $(PYTHON) is %d.%d. Select another: make PYTHON=python3.12" % v)'
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

# The install is editable because pytest runs with the checkout on sys.path: the source tree, which has
# no compiled modules, would hide a copy in site-packages. The import hook of an editable install takes
# precedence over sys.path. A separate build directory keeps this build apart from the release build.
$(DEBUG_VENV)/.ready: $(BUILD_FILES) | $(DEBUG_VENV)/.pip
	$(call in_venv,$(DEBUG_VENV)) python -m pip install --quiet --group build --group test-core
	$(call in_venv,$(DEBUG_VENV)) python -m pip install --quiet --no-build-isolation --editable . \
	  --config-settings=build-dir=build/debug \
	  --config-settings=setup-args=-Dbounds_checks=true \
	  --config-settings=setup-args=-Dbuildtype=debugoptimized
	touch $@

$(SANITIZE_VENV)/.ready: pyproject.toml | $(SANITIZE_VENV)/.pip
	$(call in_venv,$(SANITIZE_VENV)) python -m pip install --quiet --group build --group test-core \
	  numpy scipy scikit-learn joblib
	touch $@

# The constraints apply to all packages installed here, including test tools.
$(FLOOR_VENV)/.ready: $(BUILD_FILES) | $(FLOOR_VENV)/.pip
	printf '%s\n' $(FLOOR) 'polars<1.40' > $(FLOOR_VENV)/floor.txt
	$(call in_venv,$(FLOOR_VENV)) python -m pip install --quiet --group build --group test \
	  $(FLOOR) --constraint $(FLOOR_VENV)/floor.txt
	$(call in_venv,$(FLOOR_VENV)) python -m pip install --quiet --no-build-isolation --editable . \
	  --config-settings=build-dir=build/floor --constraint $(FLOOR_VENV)/floor.txt
	touch $@
