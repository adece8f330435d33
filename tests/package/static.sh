#!/bin/sh
# Builds the static programs for x86_64 and aarch64 and uses them: in an empty chroot, with names from
# /etc/hosts, and the aarch64 ones under qemu. Needs root, for the chroot.
set -eu
cd "$(dirname "$0")/../.."
sh tests/setup.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user file
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
step() { echo "== $*"; }
fail() {
    echo "static.sh: $*" >&2
    exit 1
}

# start LOG COMMAND...: starts a daemon and sets `server` and `address`.
start() {
    log=$1
    shift
    "$@" >"$log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        address=$(sed -n 's/^mstored ready //p' "$log")
        [ -z "$address" ] || return 0
        sleep 0.1
    done
    cat "$log"
    fail "no daemon after 10 s: $*"
}

stop() {
    kill "$server"
    wait "$server" || fail "the daemon ended with $?"
    server=
}

# round_trip IN OUT CLIENT...: pushes IN, pulls it as OUT, and uses the other commands. Both are paths as the
# client sees them.
round_trip() {
    in=$1
    out=$2
    shift 2
    "$@" -s "$address" push -q "$in" ns/model
    "$@" -s "$address" ls | grep -q 'ns/model .*complete' || fail "ls does not show the model"
    "$@" -s "$address" verify -q ns/model
    "$@" -s "$address" pull -q ns/model "$out"
    "$@" -s "$address" rm -y -q ns/model
}

same() {
    diff -r "$1" "$2" >/dev/null || fail "what was pulled differs from what was pushed"
}

for preset in static static-aarch64; do
    step "build $preset"
    cmake --preset "$preset"
    cmake --build "build/$preset"
done

step 'no interpreter, no library'
for program in build/static/mstore build/static/mstored build/static-aarch64/mstore build/static-aarch64/mstored; do
    file "$program"
    file "$program" | grep -qE 'static-pie linked|statically linked' || fail "$program is not static"
    [ -z "$(readelf -d "$program" | grep NEEDED)" ] || fail "$program needs libraries"
    [ -z "$(readelf -l "$program" | grep INTERP)" ] || fail "$program needs an interpreter"
done
LC_ALL=C ldd build/static/mstored | grep -q 'statically linked' || fail "ldd finds libraries"

mkdir -p "$work/chroot/src/sub" "$work/chroot/root"
src=$work/chroot/src
head -c 40000000 /dev/urandom >"$src/model.safetensors"
echo '{}' >"$src/config.json"
: >"$src/sub/empty"

step 'x86_64 in an empty chroot'
cp build/static/mstore build/static/mstored "$work/chroot/"
start "$work/log" chroot "$work/chroot" /mstored --root /root --listen 127.0.0.1:0
round_trip /src /dst chroot "$work/chroot" /mstore
same "$src" "$work/chroot/dst"

step 'a name from /etc/hosts, whatever nsswitch.conf wants, and no library is opened'
mkdir -p "$work/chroot/etc"
echo '127.0.0.1 nas' >"$work/chroot/etc/hosts"
echo 'hosts: mdns4_minimal [NOTFOUND=return] resolve winbind' >"$work/chroot/etc/nsswitch.conf"
strace -f -qq -e trace=open,openat,chroot -o "$work/trace" chroot "$work/chroot" /mstore -s "nas:${address##*:}" ls
sed -i '1,/chroot(/d' "$work/trace"
grep -q '/etc/hosts' "$work/trace" || fail "the trace shows no look at /etc/hosts"
! grep '\.so' "$work/trace" || fail "a static program looks for libraries"
status=0
chroot "$work/chroot" /mstore -s nowhere.invalid --retries 0 ls 2>"$work/err" || status=$?
[ "$status" -eq 6 ] || fail "a host that is not there: exit status $status"
grep -q 'nowhere.invalid' "$work/err" || fail "the message does not name the host"
stop

step 'aarch64 under qemu'
arm=build/static-aarch64
qemu-aarch64 "$arm/mstore" --version
qemu-aarch64 "$arm/mstored" --version
start "$work/log" qemu-aarch64 "$arm/mstored" --root "$work/chroot/root" --listen 127.0.0.1:0
round_trip "$src" "$work/dst-arm" qemu-aarch64 "$arm/mstore"
same "$src" "$work/dst-arm"

step 'x86_64 client, aarch64 server'
round_trip "$src" "$work/dst-mixed" build/static/mstore
same "$src" "$work/dst-mixed"
stop
step 'done'
