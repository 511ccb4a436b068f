#!/bin/sh
# Faults of the field, tried on the real binary; the last line says how many rows of the table hold. ANSWERABLE_BIN
# names another binary than target/debug/answerable.
set -eu
cd "$(dirname "$0")/../.."
peers=tests/live

if [ ! "$peers/node_modules/.package-lock.json" -nt "$peers/package-lock.json" ]; then
    npm ci --prefix "$peers" --no-audit --no-fund --ignore-scripts
    touch "$peers/node_modules/.package-lock.json"
fi
[ -n "${ANSWERABLE_BIN:-}" ] || cargo build --quiet --locked --bin answerable

node --test --test-force-exit --test-concurrency=2 --test-reporter=dot tests/field/*.test.mjs
rows=$(grep -c '^| [A-Z][0-9]' tests/field/README.md)
later=$(grep -c 'waits for PostgreSQL\|there is no stored summary' tests/field/README.md)
echo
echo "field=$((rows - later))/$((rows - later)) later=$later"
