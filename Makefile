# Everything sets itself up: git, make and some python3 >= 3.11 are enough. See tools/setup.
PY := .venv/bin/python
READY := .venv/.ready

.PHONY: demo test check agents bench torture docs format lock setup clean distclean

demo: $(READY)            ## the bundled suite, two harnesses, from pinning to a second store
	sh tools/demo.sh

test: $(READY)            ## all tests
	$(PY) tools/run_tests.py $(ARGS)

check: $(READY)           ## lint, format, types, import directions, house rules, generated docs
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) tools/docs_gen.py --check
	$(PY) -m pytest -q tests/test_house_rules.py tests/test_docs.py

bench: $(READY)           ## the benchmarks of docs/benchmarks.md
	$(PY) -m tools.bench $(ARGS)

agents: $(READY)          ## the real agents that tests run, where they can be had
	$(PY) -m tools.install_agents $(ARGS)

torture: $(READY)         ## the long tests
	$(PY) -m pytest -m torture $(ARGS)

docs: $(READY)            ## docs/commands.md and docs/events.md from the code
	$(PY) tools/docs_gen.py

format: $(READY)          ## put the code into the one layout
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lock: $(READY)            ## pin what pyproject.toml asks for; ARGS=--upgrade for the newest versions
	PATH=".venv/bin:$$PATH" $(PY) tools/lock.py $(ARGS)

setup: $(READY)           ## .venv from uv.lock

$(READY): pyproject.toml uv.lock tools/setup
	@sh tools/setup

clean:                    ## what was built, not what was downloaded
	rm -rf .venv build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.tools/*' -prune -exec rm -rf {} +

distclean: clean          ## also what was downloaded
	rm -rf .tools
