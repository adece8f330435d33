#!/bin/sh
# Every C file is as clang-format leaves it: version 19, which Debian 12 and 13 both have, for versions
# differ in details.
set -eu
cd "$(dirname "$0")/../.."
files=$(git -c safe.directory='*' ls-files -co --exclude-standard '*.c' '*.h')
[ -n "$files" ] || {
    echo "format.sh: no C file found" >&2
    exit 1
}
# shellcheck disable=SC2086  # one word a file
lines=$(clang-format-19 --dry-run --ferror-limit=0 -Werror $files 2>&1) && exit 0
# One line a place is enough: the remedy is the same for all.
printf '%s\n' "$lines" | grep -E '^[^ ]+:[0-9]+:[0-9]+: error:' | sort -u -t : -k 1,1 -k 2,2n
echo "format.sh: clang-format-19 -i mends it"
exit 1
