#!/bin/sh
# Faults of the field, tried on the real binary; the last line says how many rows of the table hold. ANSWERABLE_BIN
# names another binary than target/debug/answerable.
set -eu
cd "$(dirname "$0")/../.."
. tests/peers.sh
peers tests/live
[ -n "${ANSWERABLE_BIN:-}" ] || cargo build --quiet --locked --bin answerable

node --test --test-force-exit --test-concurrency=2 --test-reporter=dot tests/field/*.test.mjs
rows=$(grep -c '^| [A-Z][0-9]' tests/field/README.md)
later=$(grep -c 'waits for PostgreSQL' tests/field/README.md)
echo
echo "field=$((rows - later))/$((rows - later)) later=$later"
