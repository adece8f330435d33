#!/bin/sh
# Shows mstore on this machine alone: builds it, starts a daemon on loopback with a temporary root, and
# takes a model-like folder of about 1 GB through push, ls, info, pull and rm. Leaves nothing running.
set -eu

cd "$(dirname "$0")/.."
sh tests/setup.sh

build=build/release
model=demo/tiny-llm
need_mb=3500 # source, store and pulled copy

say() {
    printf '\n== %s\n' "$*"
}

die() {
    echo "demo.sh: $*" >&2
    exit 1
}

# Ends the daemon and removes the folder, however the script ends; after a failure the daemon's log first.
clean_up() {
    status=$?
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" || true
    fi
    if [ "$status" -ne 0 ] && [ -s "$work/mstored.log" ]; then
        cat "$work/mstored.log" >&2
    fi
    rm -rf "$work"
}

# A file in the safetensors format: the header's length, the header, $2 random bytes as the tensor layer.$3.
make_shard() {
    header="{\"layer.$3\":{\"dtype\":\"U8\",\"shape\":[$2],\"data_offsets\":[0,$2]}}"
    length=$(printf '\\%03o\\0\\0\\0\\0\\0\\0\\0' "${#header}")
    {
        # shellcheck disable=SC2059  # the format is the eight bytes
        printf "$length"
        printf '%s' "$header"
        head -c "$2" /dev/urandom
    } >"$1"
}

make_model() {
    mkdir -p "$1/tokenizer"
    make_shard "$1/model-00001-of-00003.safetensors" 420000000 1
    make_shard "$1/model-00002-of-00003.safetensors" 420000000 2
    make_shard "$1/model-00003-of-00003.safetensors" 160000000 3
    echo '{"model_type":"demo","hidden_size":4096}' >"$1/config.json"
    for n in 1 2 3; do
        printf '"layer.%d":"model-%05d-of-00003.safetensors",' "$n" "$n"
    done | sed 's/^/{"weight_map":{/; s/,$/}}/' >"$1/model.safetensors.index.json"
    head -c 2000000 /dev/urandom >"$1/tokenizer/tokenizer.bin"
    : >"$1/tokenizer/added_tokens.txt"
}

start_daemon() {
    mkdir "$work/root"
    "$build/mstored" --root "$work/root" --listen 127.0.0.1:0 --config /dev/null \
        >"$work/ready" 2>"$work/mstored.log" &
    daemon=$!
    tries=100
    until grep -q '^mstored ready ' "$work/ready"; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! kill -0 "$daemon" 2>/dev/null; then
            die "the daemon did not start"
        fi
        sleep 0.1
    done
    server=$(sed -n 's/^mstored ready //p' "$work/ready")
}

mstore() {
    "$build/mstore" --server "$server" "$@"
}

# Runs a transfer and prints its rate, the time of the whole command taken.
timed() {
    what=$1
    shift
    begin=$(date +%s%N)
    "$@"
    end=$(date +%s%N)
    echo "$bytes $begin $end" |
        awk -v what="$what" '{ s = ($3 - $2) / 1e9; printf "%s: %.2f GB in %.2f s, %.0f MB/s\n", what, $1 / 1e9, s, $1 / 1e6 / s }'
}

daemon=
work=$(mktemp -d "${TMPDIR:-/var/tmp}/mstore-demo.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
export XDG_CONFIG_HOME="$work/no-config" XDG_STATE_HOME="$work/state"

free_mb=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
[ "$free_mb" -ge "$need_mb" ] ||
    die "only $free_mb MB are free in $work and $need_mb are needed; set TMPDIR to a larger place"

say "build"
cmake --preset release
cmake --build "$build" -j "$(nproc)" --target mstore mstored

say "make a model of about 1 GB"
make_model "$work/source"
bytes=$(find "$work/source" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d", n }')
ls -lR "$work/source"

say "start the daemon"
start_daemon
echo "mstored serves $work/root on $server"

say "push"
timed push mstore push "$work/source" "$model"

say "ls"
mstore ls

say "info"
mstore info "$model"

say "pull"
timed pull mstore pull "$model" "$work/copy"

say "compare"
diff -r --exclude=.mstore "$work/source" "$work/copy" || die "the copy differs"
diff -r "$work/source" "$work/root/$model" || die "the stored files differ"
echo "source, stored files and copy are equal"

say "push again: nothing to send"
mstore push "$work/source" "$model"

say "rm"
mstore rm -y "$model"
[ ! -e "$work/root/$model" ] || die "the model is still there"
mstore ls

say "done"
