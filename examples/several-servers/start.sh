#!/bin/sh
# Two servers on one PostgreSQL database, and nginx before them at http://127.0.0.1:8787/. Ends all of them with Ctrl-C.
# Usage: DATABASE_URL=postgres://… examples/several-servers/start.sh; BIN names another binary than target/release/answerable.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-$here/../../target/release/answerable}
: "${DATABASE_URL:?is to name the database, such as postgres://answerable:PASSWORD@localhost/answerable}"
work=$(mktemp -d)
pids=
end() {
    trap - EXIT INT TERM
    kill $pids 2>/dev/null || :
    wait
    rm -rf "$work"
    exit 0
}
trap end EXIT INT TERM

for port in 8788 8789; do
    ANSWERABLE_DATABASE=$DATABASE_URL "$bin" serve --listen "127.0.0.1:$port" --server-name "server-$port" &
    pids="$pids $!"
done
nginx -e stderr -p "$work/" -c "$here/nginx.conf" &
pids="$pids $!"
wait
