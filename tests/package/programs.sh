#!/bin/sh
# What the scripts here share, to be sourced at the top of the tree: building a preset, and using a daemon and a
# client. Sets `work`, a folder that goes away at the end, as does the daemon.
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

step() {
    echo "== $*"
}

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

build() {
    step "build $1"
    cmake --preset "$1"
    cmake --build "build/$1"
}

# start COMMAND...: starts a daemon and sets `server` and `address`.
start() {
    "$@" >"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        address=$(sed -n 's/^mstored ready //p' "$work/log")
        [ -z "$address" ] || return 0
        sleep 0.1
    done
    cat "$work/log"
    fail "no daemon after 10 s: $*"
}

stop() {
    kill "$server"
    wait "$server" || fail "the daemon ended with $?"
    server=
}

# make_source FOLDER: a model of some blocks, a small file and an empty one.
make_source() {
    mkdir -p "$1/sub"
    head -c 40000000 /dev/urandom >"$1/model.safetensors"
    echo '{}' >"$1/config.json"
    : >"$1/sub/empty"
}

# round_trip SRC DST CLIENT...: pushes SRC, pulls it as DST and compares, and uses the other commands. If CLIENT is
# in a chroot, `inside` is its folder: SRC and DST are in it.
inside=
round_trip() {
    src=$1
    dst=$2
    shift 2
    "$@" -s "$address" push -q "${src#"$inside"}" ns/model
    "$@" -s "$address" ls | grep -q 'ns/model .*complete' || fail "ls does not show the model"
    "$@" -s "$address" verify -q ns/model
    "$@" -s "$address" pull -q ns/model "${dst#"$inside"}"
    diff -r "$src" "$dst" || fail "what was pulled differs from what was pushed"
    "$@" -s "$address" rm -y -q ns/model
}
