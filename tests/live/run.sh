#!/bin/sh
# Audits of GraphQL over HTTP, the rules of its sockets and streams, and real clients, against the real server.
# Installs the pinned peers where they are missing. Usage: tests/live/run.sh [file of a suite]; ANSWERABLE_BIN names
# another binary than target/debug/answerable.
set -eu
cd "$(dirname "$0")/../.."
suites=tests/live

. tests/peers.sh
peers "$suites"
[ -n "${ANSWERABLE_BIN:-}" ] || cargo build --quiet --locked --bin answerable

# One suite at a time, each with servers of its own; only what went wrong is told, and the sums.
node --test --test-force-exit --test-concurrency=1 --test-reporter=dot ${1:-$suites/*.test.mjs}
[ -n "${1:-}" ] || exec "$suites/fuzz.sh"
