#!/bin/sh
# docs/protocol.md names every error code and every message type that the programs know.
set -eu
cd "$(dirname "$0")/../.."
page=docs/protocol.md
found=0

# check FILE PREFIX: the names in the rows `[PREFIX_X] = {"name"` of a table stand in the page, as `name` or in a
# sequence, as "C  name {".
check() {
    names=$(sed -n "s/^ *\\[$2_[A-Z0-9_]*\\] = {\"\\([^\"]*\\)\".*/\\1/p" "$1")
    [ -n "$names" ] || {
        echo "$1:1: no row [$2_...] found"
        found=1
    }
    for name in $names; do
        grep -qE "\`$name\`|^ +[CS] +$name +\{" "$page" && continue
        echo "$1:$(grep -nF "\"$name\"" "$1" | head -n 1 | cut -d : -f 1): '$name' is not in $page"
        found=1
    done
}

check proto/error.c ERROR
check proto/message.c MESSAGE
exit "$found"
