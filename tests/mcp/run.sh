#!/bin/sh
# Real MCP clients against the real server. Installs the pinned peers where they are missing.
# Usage: tests/mcp/run.sh [part of a case's name]; ANSWERABLE_BIN names another binary than target/debug/answerable.
set -eu
cd "$(dirname "$0")/../.."
peers=tests/mcp/peers

. tests/peers.sh
peers "$peers"
if [ ! "$peers/.venv/installed" -nt "$peers/requirements.txt" ]; then
    python3 -m venv "$peers/.venv"
    "$peers/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$peers/requirements.txt"
    touch "$peers/.venv/installed"
fi
[ -n "${ANSWERABLE_BIN:-}" ] || cargo build --quiet --bin answerable

node=$(ls -d "$peers"/node_modules/node-linux-*/bin/node) # the inspector needs Node 22
if [ -z "${1:-}" ]; then
    "$node" tests/mcp/conformance.mjs
    "$node" tests/mcp/access.mjs
    "$node" tests/mcp/deadlines.mjs
fi
"$node" tests/mcp/matrix.mjs "${1:-}"
