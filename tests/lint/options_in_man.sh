#!/bin/sh
# options_in_man.sh [BUILD]: every option and command that --help shows is in the man page, and the other
# way round; the same for the settings of the configuration file. BUILD is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/dev}
found=0

report() {
    echo "$1"
    found=1
}

# The options of a program, from the column of its help in which they stand: "-n, --streams", "--all".
options_of_help() {
    printf '%s\n' "$1" | sed -n 's/^  \(-[a-z], \|    \)\(--[a-z0-9-]*\).*/\1\2/p' | tr -d ' '
}

# The options of a page, from the tags of its list.
options_of_page() {
    sed -n 's/^\.It Fl //p' "$1" |
        sed 's/^\([a-z]\) , Fl -/-\1,--/; s/^-/--/; s/^---*\([a-z]\),/-\1,/; s/ .*//'
}

# compare PAGE WHAT HELP_LIST PAGE_LIST
compare() {
    [ -n "$3" ] || report "$1:1: no $2 found in --help"
    for name in $3; do
        printf '%s\n' "$4" | grep -qxF -e "$name" || report "$1:1: $2 '$name' is in --help and not in the page"
    done
    for name in $4; do
        printf '%s\n' "$3" | grep -qxF -e "$name" ||
            report "$1:$(grep -nF "${name##*-}" "$1" | head -n 1 | cut -d : -f 1): $2 '$name' is not in --help"
    done
}

client_help=$("$build/mstore" --help)
server_help=$("$build/mstored" --help)

compare docs/mstore.1 option "$(options_of_help "$client_help")" "$(options_of_page docs/mstore.1)"
compare docs/mstored.8 option "$(options_of_help "$server_help")" "$(options_of_page docs/mstored.8)"
compare docs/mstore.1 command \
    "$(printf '%s\n' "$client_help" | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')" \
    "$(sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' docs/mstore.1)"
compare docs/mstored.conf.5 setting \
    "$(options_of_help "$server_help" | sed -n 's/^--//p' | grep -vxE 'config|make-token|version')" \
    "$(sed -n '/^\.Sh DESCRIPTION/,/^Switches/s/^\.Cm \([a-z-]*\).*/\1/p' docs/mstored.conf.5 | sort -u)"

exit "$found"
