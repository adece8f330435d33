#!/bin/sh
# systemd.sh [BUILD]: systemd finds nothing wrong with the unit, and the unit is not more exposed than
# docs/deploy.md says. BUILD is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/dev}")
unit=systemd/mstored.service
page=docs/deploy.md

# The program is not installed here: the unit is checked with the one that was built.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
sed "s|^ExecStart=.*/mstored\$|ExecStart=$build/mstored|" "$unit" >"$copy/mstored.service"
lines=$(systemd-analyze verify --man=no "$copy/mstored.service" 2>&1) || true
[ -z "$lines" ] || {
    printf '%s\n' "$lines" | sed "s|^|$unit: |"
    exit 1
}

stated=$(sed -n 's/.*exposure score of \([0-9]\)\.\([0-9]\).*/\1\2/p' "$page")
[ -n "$stated" ] || {
    echo "$page:1: no 'exposure score of N.N' found"
    exit 1
}
systemd-analyze security --no-pager --offline=yes --threshold="$stated" "$copy/mstored.service" >"$copy/report" || {
    grep '✗' "$copy/report"
    tail -n 1 "$copy/report"
    echo "$page: states $stated (tenths), $unit is worse"
    exit 1
}
