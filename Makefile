# make demo: a study on real photographs, from predictions to an answer, offline. make test: every test, but those in a browser (make test-browser). make check: prose, lint, types, layers.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: demo test test-browser chromium test-vllm check prose bench docs docs-check docs-site package soak fuzz train-local clean
.DEFAULT_GOAL := demo

$(VENV)/.runtime: pyproject.toml requirements.lock
	@echo "Setting up $(VENV) (a few minutes the first time)"
	@command -v $(PYTHON) >/dev/null && $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check "pip>=25.1"
	@$(PIP) --editable '.[studio]'
	@touch $@

$(VENV)/.test: $(VENV)/.runtime
	@$(PIP) --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	@$(PIP) --group lint
	@touch $@

$(VENV)/.bench: $(VENV)/.runtime
	@$(PIP) --group bench
	@touch $@

demo: $(VENV)/.runtime
	@$(BIN)/visualjudge demo --out demo-out --force

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto --dist loadfile $(PYTEST_ARGS)

# The studio, a report and the built site in the system's Chromium; axe-core comes from npm, for tests only
$(VENV)/.browser: $(VENV)/.test
	@$(PIP) --group browser --group docs
	@touch $@

$(VENV)/axe.min.js: $(VENV)/.browser
	@cd $(VENV) && npm pack --silent axe-core@4 >/dev/null && tar -xzf axe-core-4*.tgz --strip-components=1 package/axe.min.js \
		&& rm axe-core-4*.tgz || echo "axe-core was not downloaded (npm or a network is missing): no accessibility tests"

chromium:
	@command -v chromedriver >/dev/null || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ] \
		|| { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium chromium-driver >/dev/null; } \
		|| echo "Chromium was not installed (no network?): no browser tests"

test-browser: chromium $(VENV)/.browser $(VENV)/axe.min.js
	@VISUALJUDGE_AXE=$(VENV)/axe.min.js $(BIN)/python -m pytest tests/browser $(PYTEST_ARGS)

# Needs a running vLLM server with any vision-language model: make test-vllm VLLM_URL=http://host:8000/v1
VLLM_URL ?= http://127.0.0.1:8000/v1
test-vllm: $(VENV)/.test
	@VISUALJUDGE_VLLM_URL=$(VLLM_URL) $(BIN)/python -m pytest -m vllm tests/vllm

# Prose: misspellings anywhere, words of the pages that neither English nor tools/vocabulary.txt has, and style
PROSE := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md $(shell find docs -name '*.md' -not -path 'docs/prompts/*' -not -path 'docs/gallery/*')
prose: $(VENV)/.lint
	$(BIN)/codespell src tests/docs tools examples docs *.md
	$(BIN)/python tools/spelling.py
	$(BIN)/proselint check --config tools/proselint.json $(PROSE)

check: $(VENV)/.lint prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The benchmarks that need no arguments, one after the other (hours): make bench BENCHES="encode score" for some
BENCHES ?= encode score build judge mmbench chaos analysis coverage
bench: $(VENV)/.bench $(VENV)/.test
	@set -e; for name in $(BENCHES); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py $(BENCH_ARGS); done

# The pages and images that commands make
docs: $(VENV)/.runtime
	@$(BIN)/visualjudge demo --all --out demo-out --force
	@$(BIN)/python tools/gallery.py
	@rm -rf docs/prompts && $(BIN)/python tools/prompt_pages.py demo-out/dataset docs/prompts
	@$(BIN)/python tools/docs_pages.py
	@$(BIN)/python tools/poster.py docs/encodings.jpg
	@$(BIN)/python tools/docs_first.py

# The documentation as a site, in site/; a dead link or a missing page fails
$(VENV)/.docs: $(VENV)/.runtime
	@$(PIP) --group docs
	@touch $@

docs-site: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

docs-check: $(VENV)/.runtime
	@$(BIN)/python tools/gallery.py --check

# Wheel and sdist in dist/, checked, and equal when built twice; wheels for every platform resolved; a list of what is inside (SBOM);
# the wheel installed in a new environment, where it runs the demo
$(VENV)/.package: $(VENV)/.runtime
	@$(PIP) --group package
	@touch $@

PLATFORMS := x86_64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc
package: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
package: $(VENV)/.package
	@rm -rf dist && $(BIN)/python -m build --quiet && $(BIN)/twine check --strict dist/*
	@again=$$(mktemp -d) && $(BIN)/python -m build --quiet --outdir $$again && diff -r dist $$again && rm -r $$again
	@test $$(stat -c %s dist/*.whl) -le 2500000 || { echo "the wheel is larger than 2.5 MB"; exit 1; }
	@for platform in $(PLATFORMS); do for version in 3.11 3.12 3.13 3.14; do \
		$(BIN)/uv pip compile --quiet --only-binary :all: --python-platform $$platform --python-version $$version \
			pyproject.toml --extra studio >/dev/null && echo "resolves: $$platform, Python $$version" || exit 1; done; done
	@$(BIN)/cyclonedx-py requirements requirements.lock --output-reproducible -o dist/sbom.json
	@PYTHON=$(PYTHON) packaging/try_wheel.sh dist/*.whl

# Kills commands for an hour, builds every malicious record, and draws 300 random studies; every reader of foreign bytes, a minute each.
SOAK_SECONDS ?= 3600
soak: $(VENV)/.test
	@VISUALJUDGE_SOAK=$(SOAK_SECONDS) $(BIN)/python -m pytest --timeout 7200 tests/faults
	@VISUALJUDGE_STUDIES=300 $(BIN)/python -m pytest tests/analysis/test_one_voice.py

FUZZ_SECONDS ?= 60
fuzz: $(VENV)/.test
	@$(BIN)/python tests/faults/fuzz.py --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) demo-out

# The weights of the local judge, made again from the same scenes
train-local: $(VENV)/.test
	@$(BIN)/python tools/train_local.py
