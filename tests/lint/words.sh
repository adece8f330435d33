#!/bin/sh
# Words that may not stand in the sources: calls that write without a bound or read numbers without
# errors, notes to oneself, sums of a result that may be -1, and more than one umask.
set -eu
cd "$(dirname "$0")/../.."
found=0

# forbid REASON REGEX FILES...: fails on lines that match.
forbid() {
    reason=$1
    regex=$2
    shift 2
    lines=$(grep -nHE "$regex" "$@" || true)
    [ -z "$lines" ] || {
        printf '%s\n' "$lines" | sed "s|\$|  ($reason)|"
        found=1
    }
}

tracked() {
    git -c safe.directory='*' ls-files -co --exclude-standard "$@"
}

sources=$(tracked '*.c' '*.h')
texts=$(tracked | grep -v '^tests/lint/words\.sh$' | xargs grep -lI '' --)
programs=$(tracked 'proto/*.[ch]' 'common/*.[ch]' 'server/*.[ch]' 'client/*.[ch]')
call='[[:space:]]*\('
before='(^|[^A-Za-z0-9_])'

# shellcheck disable=SC2086  # one word a file, here and below
forbid 'unsafe call' "$before(strcpy|stpcpy|strcat|v?sprintf|gets|ato(i|l|ll|f)|strtok(_r)?)$call" \
    $sources
# shellcheck disable=SC2086
forbid 'a thread is asked to stop, never cancelled' "${before}pthread_cancel$call" $sources
# shellcheck disable=SC2086
forbid 'finish it or leave it' "$before(TODO|FIXME)([^A-Za-z0-9_]|\$)" $texts
# shellcheck disable=SC2086
forbid 'a result of -1 would be added' \
    "[+-]=[[:space:]]*(\([a-z0-9_ ]+\)[[:space:]]*)?(p?read(v2?)?|p?write(v2?)?|recv(from|msg)?|send(to|msg|file)?|splice|copy_file_range|v?snprintf)$call" \
    $sources

# shellcheck disable=SC2086
umasks=$(grep -nHE "${before}umask$call" $programs || true)
[ "$(printf '%s' "$umasks" | grep -c '')" -le 1 ] || {
    printf '%s\n' "$umasks" | sed 's|$|  (umask belongs to the whole process: set it once)|'
    found=1
}

exit "$found"
