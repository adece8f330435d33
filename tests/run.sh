#!/bin/sh
# Installs what is missing, builds all variants and runs every test but the slow ones. The summaries of
# all variants stand last; the exit status is 0 only if everything passed.
set -eu

cd "$(dirname "$0")/.."
sh tests/setup.sh

jobs=$(nproc)
failed=

build() {
    echo "== $1: build"
    cmake --preset "$1"
    cmake --build "build/$1" -j "$jobs"
}

# The tests of a variant, with the other arguments for ctest. A failure is kept for the end, so that one
# run shows all of them.
run_tests() {
    variant=$1
    shift
    echo "== $variant: test"
    ctest --test-dir "build/$variant" -j "$jobs" --no-tests=error --output-on-failure \
        --output-log "build/$variant/ctest.log" "$@" || failed="$failed $variant"
}

for variant in dev asan tsan fuzz; do
    build "$variant"
done
run_tests fuzz -L fuzz
run_tests asan -LE slow
run_tests tsan -LE slow
run_tests dev -LE slow

if [ -n "$failed" ]; then
    echo "== failed:$failed"
fi
for variant in fuzz asan tsan dev; do
    echo "== $variant: summary"
    sed -n '/tests passed/,$p' "build/$variant/ctest.log"
done
[ -z "$failed" ]
