# `make` lists the targets. Needs Python 3.11 to 3.14, and network access once.

VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/run.stamp
DEV_READY := $(VENV)/dev.stamp
WALLET_READY := $(VENV)/wallet.stamp
NATIVE_TRIED := $(VENV)/native.stamp
# Ordered so that each lock file comes after those that constrain it.
LOCKED := requirements requirements/client requirements/dev requirements/native
PAGE_TESTS := tests/page/js
PRETTIER := --print-width 88 "parts/**/*.js" "$(PAGE_TESTS)/**/*.js"
TRANSLATIONS := parts/pages/translations
READER_READY := parts/pages/node_modules/.package-lock.json
NODE_READY := $(PAGE_TESTS)/node_modules/.package-lock.json
# If PYTHONDONTWRITEBYTECODE is set, as in many containers, each process compiles all
# modules.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal
SECONDS ?= 600

# The first of these that is new enough; evaluated only to create an environment.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python $(NEW_ENOUGH) 2>/dev/null && { echo $$python; exit; }; done; echo python3)

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --silent

# Recreate an environment whose Python was removed, or whose creation was interrupted.
$(shell test -x $(BIN)/python || rm -f $(RUN_READY) $(DEV_READY) $(WALLET_READY) $(NATIVE_TRIED))

# Targets must not run in parallel, because they share one environment.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run native wallet wheel release test soak check all-checks format lint types texts imports operations mutants bench \
	bench-long lock audit-deps clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(RUN_READY) $(NATIVE_TRIED) $(READER_READY) ## start the service: make run PORT=8001, or any setting of .env.example
	@case "$$DATABASE_URL" in postgres*) $(BIN)/python -m app migrate;; esac
	@exec $(BIN)/python -m app serve

native: $(RUN_READY) ## build Argon2 for this CPU; run and bench try it once where there is a compiler
	@$(PIP_INSTALL) --target $(VENV)/native --upgrade --requirement requirements/native.txt
	@sed -n '/^argon2-cffi-bindings==/,/[^\\]$$/p' requirements.txt >$(VENV)/native/argon2.txt
	@PYTHONPATH=$(abspath $(VENV))/native CFLAGS="-O3 -march=native" $(PIP_INSTALL) --no-cache-dir \
		--no-build-isolation --no-binary argon2-cffi-bindings --force-reinstall --no-deps \
		--requirement $(VENV)/native/argon2.txt
	@rm -rf $(VENV)/native && touch $(NATIVE_TRIED)

wallet: $(WALLET_READY) ## the wallet for the terminal, client/README.md: make wallet ARGS="balance"
	@PYTHONPATH=client $(BIN)/python -m deeds_client $(ARGS)

# Remove files of earlier builds, which would be packed too.
wheel: $(DEV_READY) $(READER_READY) ## build dist/deeds-….whl, with all that the pages need
	@test -e $(READER_READY) || { echo "make wheel: npm could not fetch the reader of QR codes" >&2; exit 1; }
	@rm -rf build deeds.egg-info
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build deeds.egg-info && ls dist/*.whl

release: $(DEV_READY) ## build the files of a release from the last commit, twice: docs/releases.md
	@$(BIN)/python .ci/release.py

test: $(DEV_READY) $(READER_READY) ## run what a change is likely to break; ARGS go to pytest: make test ARGS="-k swap"
	@$(PYTEST) -m "not slow" $(ARGS)
soak: $(DEV_READY) ## repeat the tests of faults and fuzzing for a while: make soak SECONDS=600
	@$(BIN)/python -m pytest -m soak --soak-seconds $(SECONDS) $(ARGS)
check: ## run everything that a change must pass: formats, lint, types, imports, all tests
	@.ci/environment $(MAKE) --no-print-directory all-checks
all-checks: $(DEV_READY) $(READER_READY)
	@$(BIN)/ruff format --check .
	@$(call with_node,prettier --check $(PRETTIER))
	@$(MAKE) --no-print-directory lint types imports IS_CHECK=yes
	@$(PYTEST) --all $(ARGS)

format: $(DEV_READY) ## format the code
	@$(BIN)/ruff format .
	@$(call with_node,prettier --write --log-level warn $(PRETTIER))
lint: $(DEV_READY) ## look for faults in the code, and for misspelt words
	@$(BIN)/ruff check .
	@$(BIN)/codespell
	@$(call with_node,eslint --config $(PAGE_TESTS)/eslint.config.js parts $(PAGE_TESTS))
types: $(DEV_READY) ## check the types
	@$(BIN)/mypy
	@$(call with_node,tsc --project $(PAGE_TESTS))
# A new language: make texts ARGS="--init-missing --locale fr"
texts: $(DEV_READY) ## write the texts of pages and scripts into the catalogues of all languages
	@$(call collect_texts,messages,parts/pages/*.py parts/pages/templates)
	@$(call collect_texts,javascript,parts/pages/static/js)
imports: $(DEV_READY) ## check that imports run one way
	@PYTHONPATH=client $(BIN)/lint-imports

# ARGS may select tests in only one of the two calls, and pytest exits with 5 if it
# finds none. The client's tests keep all cores busy. The deployment tests are timed and
# mostly wait, so two files of them run at once.
operations: $(DEV_READY) ## check what deploy/ and the Dockerfile say, and long walks of the client; needs nginx, pgbouncer, openssl, systemd-analyze, etcd, haproxy, promtool
	@$(PYTEST) -n 2 --dist loadfile --all tests/operations/deploy_*.py $(ARGS) || test $$? -eq 5
	@$(PYTEST) --all client/tests/soak_*.py $(ARGS) || test $$? -eq 5
mutants: $(DEV_READY) ## break the core in every small way, in hours or in samples
	@$(BIN)/mutmut run $(ARGS)
bench: $(DEV_READY) $(NATIVE_TRIED) ## measure the service, about twelve minutes: make bench ARGS="--only reads"
	@$(BIN)/python -m bench $(ARGS)
bench-long: $(DEV_READY) $(NATIVE_TRIED) ## the same with the growth curves, longer still
	@$(BIN)/python -m bench --long $(ARGS)

lock: $(DEV_READY) ## compile requirements.in and requirements/*.in, taking newer releases: make lock ARGS=--upgrade
	@for name in $(LOCKED); do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" $(ARGS) --output-file $$name.txt $$name.in || exit 1; done
# --strict, because packages unknown to PyPI would otherwise pass. Fails without
# network.
audit-deps: $(DEV_READY) ## look all locked releases up in PyPI's list of known faults
	@$(BIN)/pip-audit --strict --disable-pip --require-hashes --progress-spinner off $(LOCKED:%=--requirement %.txt) $(ARGS) || \
		{ echo "audit-deps: a release has a known fault, or PyPI could not tell (see above)" >&2; exit 1; }

clean: ## remove the environment and what tools leave behind (never instance/, the database)
	@rm -rf $(VENV) $(PAGE_TESTS)/node_modules parts/pages/node_modules mutants .*_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp of an environment is written last, so an interrupted installation is
# repeated. The development environment includes the others.
$(RUN_READY): requirements.txt
$(WALLET_READY): requirements/client.txt
$(DEV_READY): requirements/dev.txt requirements.txt requirements/client.txt
$(RUN_READY) $(WALLET_READY) $(DEV_READY):
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { python="$(PYTHON)"; \
		"$$python" $(NEW_ENOUGH) 2>/dev/null || { \
			echo "Python 3.11 or newer is needed, $$python is not: make PYTHON=..." >&2; exit 1; }; \
		echo "Making $(VENV) with $$("$$python" --version)"; "$$python" -m venv --clear $(VENV); }
	@echo "Installing $< into $(VENV)"; $(PIP_INSTALL) --requirement $<
	@touch $@ $(if $(filter $(DEV_READY),$@),$(RUN_READY) $(WALLET_READY))

$(NATIVE_TRIED): $(RUN_READY) requirements/native.txt
	@! command -v $(CC) >/dev/null || { echo "Building Argon2 for this CPU, once"; \
		$(MAKE) --no-print-directory native >$(VENV)/native.log 2>&1 || \
		echo "Argon2 is PyPI's build: one for this CPU could not be built (make native says why)"; }
	@touch $@

# The QR code reader for door mode. If it cannot be fetched, each run tries again.
$(READER_READY): parts/pages/package-lock.json
	@! command -v npm >/dev/null || echo "Fetching what reads QR codes for door mode, from npm"
	@$(NPM_CI) --prefix parts/pages --fetch-retries=1 --fetch-retry-mintimeout=1000 2>/dev/null && touch $@ || \
		echo "Door mode needs a browser that reads QR codes itself: npm could not fetch a reader"
$(NODE_READY): $(PAGE_TESTS)/package-lock.json
	@echo "Fetching what checks the page's JavaScript, from npm"
	@$(NPM_CI) --prefix $(PAGE_TESTS) && touch $@

# No line numbers, which would change the catalogues with every change of the code, and
# no fuzzy matching, whose guesses would pass for translations.
collect_texts = for run in "extract --add-location file --mapping-file $(TRANSLATIONS)/babel.cfg --output $(VENV)/$(1).pot $(2)" \
	"update --domain $(1) --input-file $(VENV)/$(1).pot --output-dir $(TRANSLATIONS) --no-fuzzy-matching --ignore-obsolete \
		--ignore-pot-creation-date $(ARGS)"; do $(BIN)/pybabel --quiet $$run || exit 1; done

# Run a tool on the page's JavaScript. Without node 20 or npm, only `make check`
# (IS_CHECK) fails; others print a warning.
with_node = if command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then \
	$(MAKE) --silent $(NODE_READY) && $(PAGE_TESTS)/node_modules/.bin/$(1); \
	else echo "the page's JavaScript is not checked: node 20 and npm are needed" >&2; test -z "$(IS_CHECK)"; fi
