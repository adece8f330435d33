#!/bin/sh
# setup.sh [PACKAGE...]: installs the Debian packages (12 or 13) that building and testing need, and those named.
# Does nothing, and asks for no rights, where all are there.
set -eu

packages='build-essential cmake ninja-build pkg-config
    libuv1-dev libcjson-dev libxxhash-dev libinih-dev libsodium-dev libyajl-dev libcmocka-dev
    python3 python3-pytest clang clang-format-19 shellcheck mandoc zsh fish
    git iproute2 librsvg2-bin strace systemd util-linux e2fsprogs btrfs-progs'

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "setup.sh: root or sudo is needed for: $*" >&2
        exit 1
    fi
}

# Installs those of its arguments that are missing.
install_missing() {
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "setup.sh: installing$missing"
    as_root apt-get update -q
    # shellcheck disable=SC2086  # one word a package
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

if ! command -v apt-get >/dev/null; then
    echo "setup.sh: no apt-get here; install what corresponds to: $packages" >&2
    exit 1
fi
# shellcheck disable=SC2086
install_missing $packages "$@"

# The fuzzer and the sanitizers of clang are in a package that has clang's version in its name.
version=$(clang -dumpversion)
install_missing "libclang-rt-${version%%.*}-dev"
