#!/bin/sh
# man.sh [BUILD]: the man pages are good mdoc, also the one in BUILD, which is made from docs/protocol.md. That the
# pages they refer to are not installed does not count.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/dev}
lines=$(mandoc -Tlint docs/*.[1-8] "$build/mstore-protocol.7" | grep -v 'referenced manual not found' || true)
[ -z "$lines" ] || {
    printf '%s\n' "$lines"
    exit 1
}
