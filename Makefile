# Set-up is part of every target: python3 (3.11 or later) with venv and make are enough for `make check`;
# `make test` wants Java 17 or later too, for Spark.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT    ?= rota-out

# Who forbids Python to keep what it has compiled has each of a thousand processes compile all of rota anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: check standard nightly walks bench-spark herd profiles reference test test-browser test-long test-kills lint style ready pin lock clean server-bench hunt-walks hunt-consumer-walks hunt-recordings offenders extremes frames docs test-docs tutorial nights test-clients test-libraries

# The mock cluster inside librdkafka deviates from Kafka: exit 1 is what its judgement must end with. What it
# does wrong fills a thousand lines; they go into a report. Two parts of the cases: each case has a mock of its own,
# which delays a group's first phase by three seconds, and all of them take minutes.
MOCK := $(OUT)/conform-librdkafka-mock
check: $(VENV)/ready-run
	$(BIN)/rota check --scope small --out $(OUT)
	$(BIN)/rota conform --embedded --out $(OUT)
	@mkdir -p $(OUT)
	$(BIN)/rota conform --target librdkafka-mock heartbeat leave --quiet \
	  --report json=$(MOCK).json --report junit=$(MOCK).junit.xml \
	  --report md=$(MOCK).md --report html=$(MOCK).html; code=$$?; \
	  test $$code -eq 1 || { echo "rota: librdkafka-mock deviates and must end with exit 1, not $$code" >&2; exit 1; }
	@echo
	@echo "The spec holds, rota's own server conforms; librdkafka's mock, asked about heartbeats and leaving, does not (as expected)."
	@echo "Reports in $(OUT): check.json, conform-rota.json and .junit.xml,"
	@echo "  conform-librdkafka-mock.json, .junit.xml, .md and .html (what it does otherwise, with dialogues)"

# Part after part, five processes at a time (tests/parts.py), types among them: some twelve minutes on two
# processors. Of families of tests that are alike it runs some (tests/harness/thinned.py). What drives pages in a
# browser is not in it, but with BROWSER=1: of that, too, what is not marked long.
PYTEST = $(BIN)/python -m pytest --junitxml=$(OUT)/tests-$(1).xml $(2)
test: $(VENV)/ready-test style
	@$(BIN)/python tests/parts.py $(if $(BROWSER),--browser) $(OUT)

# Every page, driven as a person would in headless Chromium; Debian's is installed where none is found. Some minutes
# at most. `make test-browser SHOTS=1` also leaves pictures of them in rota-out/screenshots, to be looked at; SOME=1
# leaves out what is marked long, as `make test BROWSER=1` does.
AXE := $(OUT)/browser/node_modules/axe-core/axe.min.js
test-browser: $(VENV)/ready-browser $(AXE) docs
	@tests/browser/chromium.sh
	@rm -f $(OUT)/tests-browser.xml
	$(call PYTEST,browser,tests/browser $(if $(SOME),,-m 'long or not long') $(if $(SHOTS),-o python_files='test_*.py screenshots.py' --screenshots=$(OUT)/screenshots))

$(AXE): tests/browser/package.json tests/browser/package-lock.json
	@command -v npm >/dev/null || { echo "rota: no npm found; axe-core, which judges accessibility, comes from it (Debian: apt-get install npm)" >&2; exit 2; }
	@mkdir -p $(OUT)/browser && cp $^ $(OUT)/browser
	@npm ci --prefix $(OUT)/browser --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

lint: style
	$(BIN)/python -m mypy

style: $(VENV)/ready-test
	@$(BIN)/rota doctor --require java
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check --quiet .

# All that is installed, in one go: for those who then run several targets at a time. The search is compiled meanwhile.
ready: $(VENV)/installed
	@$(MAKE) --no-print-directory $(VENV)/ready-run & compiling=$$!; \
	  $(MAKE) --no-print-directory $(VENV)/installed-test $(VENV)/installed-browser $(VENV)/installed-docs; failed=$$?; \
	  wait $$compiling && exit $$failed

$(VENV)/python-ok:
	@command -v $(PYTHON) >/dev/null || { echo "rota: no $(PYTHON) found; install Python 3.11 or later, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rota: $$($(PYTHON) --version) is too old; install Python 3.11 or later, or name it: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "rota: $(PYTHON) has no venv module; install it (Debian: apt-get install python3-venv)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/ready-build: $(VENV)/python-ok locks/build.txt
	@echo "rota: setting up $(VENV)"
	@$(PIP) install --require-hashes -r locks/build.txt
	@touch $@

$(VENV)/installed: $(VENV)/ready-build locks/run.txt pyproject.toml
	@$(PIP) install --require-hashes -r locks/run.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/ready-run: $(VENV)/installed
	@echo "rota: compiling the search (once, some twenty seconds)"
	@$(BIN)/python -m compileall -q model impl proofs kit
	@$(BIN)/python -m rota.explore.fast.ahead
	@touch $@

$(VENV)/installed-test: $(VENV)/installed locks/test.txt
	@command -v java >/dev/null || { echo "rota: no java found; Spark needs Java 17 or later (Debian: apt-get install openjdk-17-jre-headless)" >&2; exit 2; }
	@echo "rota: installing the test tools and Spark (about 500 MB, once)"
	@$(PIP) install --no-build-isolation --require-hashes -r locks/test.txt
	@touch $@

$(VENV)/installed-browser: $(VENV)/installed locks/browser.txt
	@echo "rota: installing what drives a browser (about 50 MB, once)"
	@$(PIP) install --require-hashes -r locks/browser.txt
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed locks/docs.txt
	@$(PIP) install --require-hashes -r locks/docs.txt
	@touch $@

# Installed, and compiled.
$(VENV)/ready-test $(VENV)/ready-browser $(VENV)/ready-docs: $(VENV)/ready-%: $(VENV)/installed-% $(VENV)/ready-run
	@touch $@

# The site, from docs and from the spec itself; a warning is an error. Its pages use no network.
docs: $(VENV)/ready-docs
	$(BIN)/python -m rota.report.site $(OUT)/docs-source
	$(BIN)/python -m sphinx -q -j 2 -W --keep-going -n -b html -d $(OUT)/docs-doctrees $(OUT)/docs-source $(OUT)/docs
	@echo "rota: open $(OUT)/docs/index.html"

# Commands in the docs that take long, a quarter of an hour together; `make test` runs the quick ones.
test-docs: $(VENV)/ready-test
	$(BIN)/python -m pytest -m docs -s tests/docs

# The commands of the tutorial, in a folder and a home of their own, up to the bug it is about.
tutorial: $(VENV)/ready-test
	$(BIN)/python tests/docs/tutorial.py

# Larger worlds: minutes; then an hour, one configuration after the other, each going on where it was ended.
standard: $(VENV)/ready-run
	$(BIN)/rota check --scope standard --out $(OUT)/standard

nightly: $(VENV)/ready-run
	@for name in $$($(BIN)/python -c 'from rota.cli.check_protocols import plan; from rota.cli.options import Selection; print(*(one.name for one in plan(Selection(scope="nightly")).jobs))'); do \
	  $(BIN)/rota check --scope nightly --configuration $$name --memory 3000 \
	    --checkpoint $(OUT)/nightly/$$name --resume-if-any --out $(OUT)/nightly || exit $$?; done

# Ten minutes of seeded walks through them. Without a violation walks are undecided (exit 3), never more.
walks: $(VENV)/ready-run
	@$(BIN)/rota simulate --scope nightly --seconds 600 --out $(OUT)/walks; test $$? -eq 3

# Exactly what `make test` leaves out: executors, drivers and workers killed, a cluster with two workers, every release
# of Kafka, the whole of sweeps of which it plays a part, and the other cases of families that it has some of.
# Pages in a browser aside, which are driven all by `make test-browser`.
test-long: $(VENV)/ready-test
	$(BIN)/python -m pytest -m long

# Consumers of every client library on rota's server, Streams, Connect and the examples of the docs: ten minutes. Go,
# npm, javac and Maven fetch and build them once; what one of them does not have is skipped, and told.
test-clients: $(VENV)/ready-test
	$(BIN)/python -m pytest -m clients tests/clients

# The libraries' own suites on rota's server and on Kafka, an hour; LIBRARIES says which. What was played is kept in
# the cache: LIBRARIES='--again --only franz-go' plays it anew. The tables of docs/libraries.md are written from it.
test-libraries: $(VENV)/ready-test
	$(BIN)/python -m bench.libraries --write $(LIBRARIES)

# Incidents whose cause is known, played with real clients and explained: minutes. NIGHTS says which, and on what.
nights: $(VENV)/ready-test
	PYTHONPATH=tests $(BIN)/python -m nights $(NIGHTS)

# Hours, on a quiet machine; goes on where it was ended.
bench-spark: $(VENV)/ready-test
	$(BIN)/python -m bench.spark --group warm --group main --group growth --group naive --group executors \
	  --plot docs/images/spark.svg

PROFILES := kafka-4.x kafka-3.x kafka-2.1 rota
# What holds everywhere: judged alone it lets a profile be explored to the end in which something else does not.
HARMLESS := shape.fields-match-state

# Everything under every profile, endless runs included: some ten minutes. Kafka 2.1 has a bug that ends with exit 1.
profiles: $(VENV)/ready-run
	@for profile in $(PROFILES); do \
	  wanted=0; test $$profile = kafka-2.1 && wanted=1; \
	  $(BIN)/rota check --scope small --profile $$profile --out $(OUT)/$$profile; code=$$?; \
	  test $$code -eq $$wanted || { echo "rota: $$profile must end with exit $$wanted, not $$code" >&2; exit 1; }; \
	  $(BIN)/rota check --liveness --profile $$profile --out $(OUT)/$$profile/endless || exit 1; done

# After a change of the spec that is meant to change the counts: review the diff. No tables of earlier runs.
pin: export ROTA_TABLES := off
pin: $(VENV)/ready-test
	-@for profile in $(PROFILES); do \
	  only=; test $$profile = kafka-2.1 && only="--property $(HARMLESS)"; \
	  $(BIN)/rota check --protocol classic --scope small --profile $$profile $$only --out $(OUT)/pin/$$profile --quiet; done
	$(BIN)/python tests/pin_counts.py $(foreach profile,$(PROFILES),$(OUT)/pin/$(profile)/check.json)
	-@for profile in $(PROFILES); do \
	  $(BIN)/rota check --protocol classic --liveness --profile $$profile --out $(OUT)/pin/$$profile/endless --quiet; done
	$(BIN)/python tests/pin_counts.py $(foreach profile,$(PROFILES),$(OUT)/pin/$(profile)/endless/check.json)
	-@for profile in kafka-4.x kafka-3.x; do \
	  $(BIN)/rota check --protocol classic --scope standard --profile $$profile --out $(OUT)/pin/$$profile/standard --quiet; done
	$(BIN)/python tests/pin_counts.py $(foreach profile,kafka-4.x kafka-3.x,$(OUT)/pin/$(profile)/standard/check.json)
	-@for scope in small standard; do \
	  $(BIN)/rota check --protocol consumer --scope $$scope --out $(OUT)/pin/consumer/$$scope --quiet; done
	$(BIN)/python tests/pin_counts.py $(OUT)/pin/consumer/small/check.json $(OUT)/pin/consumer/standard/check.json
	$(BIN)/python tests/designs/pin_designs.py
	$(BIN)/python tests/oracle/pin.py
	PYTHONPATH=tests $(BIN)/python tests/oracle/consumer_pin.py

# From the spec and the scopes; a test fails if they are out of date:
# docs/reference, and the tables of docs/designs.md, docs/scopes.md and docs/proofs.md.
reference: $(VENV)/ready-run
	$(BIN)/python -m rota.report.reference docs/reference
	$(BIN)/python tests/designs/designs_page.py
	$(BIN)/python tests/scopes/scopes_page.py
	$(BIN)/python -m rota.report.prove_page

# Every field of every request at its extremes, some minutes; `make extremes NAME=JoinGroup`: only that API.
extremes: $(VENV)/ready-test
	$(BIN)/python tests/harness/extremes.py $(NAME)

# Ten million mutated frames, a quarter of an hour; goes on where it was ended.
frames: $(VENV)/ready-test
	$(BIN)/python tests/harness/mutated_frames.py --out $(OUT)/frames.jsonl

# Which planted bugs of the coordinator walks find, with three seeds: five minutes of two processors; goes on where it
# was ended. `make hunt-walks HUNT="--seeds 1 BUG"`: only that.
hunt-walks: $(VENV)/ready-test
	PYTHONPATH=tests $(BIN)/python tests/harness/walk_hunt.py --lines $(OUT)/hunt.jsonl $(HUNT)

# The same for bugs planted in the consumer protocol; the table of what was found is written in the end.
hunt-consumer-walks: $(VENV)/ready-test
	PYTHONPATH=tests $(BIN)/python tests/harness/consumer_walk_hunt.py --lines $(OUT)/hunt-consumer.jsonl $(HUNT)

# Whether planted bugs of the coordinator are found in recordings in whose answers they show, with three seeds: a quarter
# of an hour of two processors; goes on where it was ended. `make hunt-recordings HUNT="--seeds 1 BUG"`: only that.
hunt-recordings: $(VENV)/ready-test
	PYTHONPATH=tests $(BIN)/python tests/harness/recording_hunt.py --lines $(OUT)/recordings.jsonl $(HUNT)

# What one client can do to the others: forty minutes, on a quiet machine. `make offenders NAME=gzip-bomb`: only that;
# `make offenders OLDEST=10`: the ten rows that were measured first. Each row is kept as soon as it is measured.
offenders: $(VENV)/ready-run
	$(BIN)/python -m bench.offenders $(if $(NAME),--only $(NAME)) $(if $(OLDEST),--oldest $(OLDEST)) --docs docs

# A thousand kills of a server that keeps its groups, half of them within a call to the disk: half an hour.
test-kills: $(VENV)/ready-test
	ROTA_KILLS=1000 $(BIN)/python -m pytest tests/log/test_kills.py -s

herd: $(VENV)/ready-test
	$(BIN)/python -m bench.herd

# Some ten minutes, on a quiet machine with Java and a compiler for C: rota's server beside Apache Kafka, each
# ratio beside the committed one; exit 1 where one has fallen. SERVER_BENCH=--write commits to the new ones.
server-bench: $(VENV)/ready-run
	$(BIN)/python -m bench.server $(SERVER_BENCH)

# Needs uv on PATH; the locks carry hashes and no registry addresses.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
# Of everything but the site and the browser's tests, which have locks of their own.
TESTED := fast spark proofs liveness targets capture compression bench test dev
lock:
	$(LOCK) pyproject.toml $(foreach extra,$(TESTED),--extra $(extra)) -o locks/test.txt
	$(LOCK) pyproject.toml --extra fast --extra proofs --extra liveness --extra targets --extra capture --extra compression -c locks/test.txt -o locks/run.txt
	$(LOCK) pyproject.toml -c locks/test.txt -o locks/conform.txt
	$(LOCK) pyproject.toml --extra docs -c locks/test.txt -o locks/docs.txt
	$(LOCK) pyproject.toml --extra browser --extra test -c locks/test.txt -o locks/browser.txt
	$(LOCK) locks/build.in -c locks/test.txt -o locks/build.txt

clean:
	rm -rf $(VENV) $(OUT) .hypothesis .mypy_cache .ruff_cache .pytest_cache
