#!/bin/sh
# Makes the container images build/package/mstored-VERSION-ARCHITECTURE.tar from the static daemon, checks them, and
# runs what is in the one of this machine, as its configuration says. Needs root, for the chroot.
set -eu
cd "$(dirname "$0")/../.."
sh tests/setup.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross skopeo umoci
. tests/package/programs.sh
version=$(sed -n 's/^project(mstore VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p build/package

# make_image PRESET ARCHITECTURE
make_image() {
    build "$1"
    step "image of $1"
    image=build/package/mstored-$version-$2.tar
    python3 tests/package/oci.py "build/$1/mstored" "$2" "$version" "$image"
    python3 tests/package/oci.py "build/$1/mstored" "$2" "$version" "$work/again.tar"
    cmp "$image" "$work/again.tar" || fail "the same input gave another image"
    python3 tests/package/oci_check.py "$image" "build/$1/mstored" "$2" || fail "$image is not what it says"
    for format in oci-archive docker-archive; do
        found=$(skopeo inspect --override-arch "$2" --format '{{.Os}}/{{.Architecture}}' "$format:$image")
        [ "$found" = "linux/$2" ] || fail "skopeo finds '$found' in $format:$image"
    done
    skopeo copy -q --override-arch "$2" --insecure-policy "oci-archive:$image" "oci:$work/$2:$version"
}

make_image static amd64
make_image static-aarch64 arm64

step 'what umoci unpacks, run as the image says'
umoci unpack --image "$work/amd64:$version" "$work/bundle"
# The configuration as it stands for a container runtime.
python3 - "$work/bundle/config.json" >"$work/run" <<'EOF'
import json, shlex, sys
process = json.load(open(sys.argv[1]))["process"]
print(shlex.join([str(process["user"]["uid"]), *process["env"]]))
print(shlex.join(process["args"]))
EOF
{
    read -r user environment
    read -r arguments
} <"$work/run"

# shellcheck disable=SC2086  # several words each
set -- chroot --userspec="$user:$user" "$work/bundle/rootfs" $arguments
status=0
# shellcheck disable=SC2086
env -i $environment "$@" 2>"$work/err" || status=$?
[ "$status" -eq 2 ] || fail "without authentication it serves everyone: exit status $status"
grep -q 'no-auth' "$work/err" || fail "the refusal does not say the way out"
make_source "$work/src"
# shellcheck disable=SC2086
start env -i $environment MSTORED_NO_AUTH=yes MSTORED_LISTEN=0.0.0.0:0 "$@"
address=127.0.0.1:${address##*:}
round_trip "$work/src" "$work/dst" build/static/mstore
stop
step 'done'
