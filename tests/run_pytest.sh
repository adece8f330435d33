#!/bin/sh
# run_pytest.sh CACHE ARGUMENT...: pytest with these arguments; what fails is run once more, alone.
#
# Some tests look at times, and the machines that run them are shared: a test that fails twice has failed, one that
# passes alone is named above the second summary.
set -u
cache=$1
shift
/usr/bin/python3 -m pytest -q -o cache_dir="$cache" "$@"
status=$?
[ "$status" -eq 1 ] || exit "$status"
echo "== what failed, once more and alone"
exec /usr/bin/python3 -m pytest -q -o cache_dir="$cache" --last-failed "$@"
