# Sourced by the suites in JavaScript: installs what a folder's lock pins where it is missing or older than the lock.
peers() {
    if [ ! "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then
        npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts
        touch "$1/node_modules/.package-lock.json"
    fi
}
