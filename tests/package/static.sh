#!/bin/sh
# Builds the static programs for x86_64 and aarch64 and uses them: in an empty chroot, with names from
# /etc/hosts, and the aarch64 ones under qemu. Needs root, for the chroot.
set -eu
cd "$(dirname "$0")/../.."
sh tests/setup.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user file
. tests/package/programs.sh
arm=build/static-aarch64

build static
build static-aarch64

step 'no interpreter, no library'
for program in build/static/mstore build/static/mstored "$arm/mstore" "$arm/mstored"; do
    file "$program"
    file "$program" | grep -qE 'static-pie linked|statically linked' || fail "$program is not static"
    ! readelf -d "$program" | grep NEEDED || fail "$program needs libraries"
    ! readelf -l "$program" | grep INTERP || fail "$program needs an interpreter"
done
LC_ALL=C ldd build/static/mstored | grep -q 'statically linked' || fail "ldd finds libraries"

step 'x86_64 in an empty chroot'
chroot=$work/chroot
make_source "$chroot/src"
mkdir "$chroot/root"
cp build/static/mstore build/static/mstored "$chroot/"
start chroot "$chroot" /mstored --root /root --listen 127.0.0.1:0
inside=$chroot
round_trip "$chroot/src" "$chroot/dst" chroot "$chroot" /mstore
inside=

step 'a name from /etc/hosts, whatever nsswitch.conf wants, and no library is opened'
mkdir "$chroot/etc"
echo '127.0.0.1 nas' >"$chroot/etc/hosts"
echo 'hosts: mdns4_minimal [NOTFOUND=return] resolve winbind' >"$chroot/etc/nsswitch.conf"
strace -f -qq -e trace=open,openat,chroot -o "$work/trace" chroot "$chroot" /mstore -s "nas:${address##*:}" ls
sed -i '1,/chroot(/d' "$work/trace"
grep -q '/etc/hosts' "$work/trace" || fail "the trace shows no look at /etc/hosts"
! grep '\.so' "$work/trace" || fail "a static program looks for libraries"
status=0
chroot "$chroot" /mstore -s nowhere.invalid --retries 0 ls 2>"$work/err" || status=$?
[ "$status" -eq 6 ] || fail "a host that is not there: exit status $status"
grep -q 'nowhere.invalid' "$work/err" || fail "the message does not name the host"
stop

step 'aarch64 under qemu'
qemu-aarch64 "$arm/mstore" --version
qemu-aarch64 "$arm/mstored" --version
start qemu-aarch64 "$arm/mstored" --root "$chroot/root" --listen 127.0.0.1:0
round_trip "$chroot/src" "$work/dst-arm" qemu-aarch64 "$arm/mstore"

step 'x86_64 client, aarch64 server'
round_trip "$chroot/src" "$work/dst-mixed" build/static/mstore
stop
step 'done'
