#!/bin/sh
# The man pages are good mdoc. That the pages they refer to are not installed does not count.
set -eu
cd "$(dirname "$0")/../.."
lines=$(mandoc -Tlint docs/*.[1-8] | grep -v 'referenced manual not found' || true)
[ -z "$lines" ] || {
    printf '%s\n' "$lines"
    exit 1
}
