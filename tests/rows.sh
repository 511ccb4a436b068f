#!/bin/sh
# The table of a folder, row by row; without one, the tests that stand in the folders of the tables.
# Usage: tests/rows.sh [tests/hostile]; ANSWERABLE_BIN names another binary than target/debug/answerable.
set -eu
cd "$(dirname "$0")/.."
. tests/peers.sh
peers tests/live
[ -n "${ANSWERABLE_BIN:-}" ] || cargo build --quiet --locked --bin answerable

[ -z "${1:-}" ] || exec node tests/rows.mjs "$1"
exec node --test --test-force-exit --test-concurrency=1 --test-reporter=dot tests/hostile/*.test.mjs tests/environment/*.test.mjs
