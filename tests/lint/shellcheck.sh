#!/bin/sh
# Every shell script passes shellcheck.
set -eu
cd "$(dirname "$0")/../.."
files=$(git -c safe.directory='*' ls-files -co --exclude-standard | xargs grep -lE '^#!/bin/(sh|bash)' --)
[ -n "$files" ] || {
    echo "shellcheck.sh: no script found" >&2
    exit 1
}
# shellcheck disable=SC2086  # one word a file
shellcheck --format=gcc $files
