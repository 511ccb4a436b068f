#!/bin/sh
# A schema fuzzer over every query and mutation. What it finds fails: a fault of the server, or a status that is one.
# That an argument's value is refused is no finding: such rules stand beside the schema. CASES: for each operation.
set -eu
cd "$(dirname "$0")/../.."
suites=tests/live
if [ ! "$suites/.venv/installed" -nt "$suites/requirements.txt" ]; then
    python3 -m venv "$suites/.venv"
    "$suites/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$suites/requirements.txt"
    touch "$suites/.venv/installed"
fi
server=${ANSWERABLE_BIN:-target/debug/answerable}
folder=$(mktemp -d)
token=$("$server" token create --role operator --name fuzz --database "sqlite:$folder/fuzz.db" | cut -d ' ' -f 2)
"$server" serve --profile development --listen 127.0.0.1:0 --database "sqlite:$folder/fuzz.db" > "$folder/out" 2> "$folder/log" &
pid=$!
trap 'kill "$pid" 2>/dev/null; rm -rf "$folder"' EXIT
while ! grep -q 'http://' "$folder/out"; do kill -0 "$pid"; sleep 0.1; done
address=$(grep -o 'http://[0-9.:]*' "$folder/out" | head -n 1)
"$suites/.venv/bin/st" run "$address/graphql" -H "Authorization: Bearer $token" --no-color --seed "${SEED:-1}" \
    --phases fuzzing --checks not_a_server_error --max-examples "${CASES:-60}" > "$folder/found" || { cat "$folder/found"; exit 1; }
grep -E 'generated' "$folder/found"
# Nothing that the server itself calls a defect.
! grep -E 'ERROR|panicked' "$folder/log"
