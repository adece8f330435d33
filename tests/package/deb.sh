#!/bin/sh
# Builds the Debian packages, has lintian look at them, and installs, boots, uses, removes and purges them in a fresh
# Debian of this machine's release. Needs root, for the chroot.
set -eu
cd "$(dirname "$0")/../.."
sh tests/setup.sh lintian mmdebstrap systemd-container
. tests/package/programs.sh
out=build/package
version=$(sed -n 's/^project(mstore VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

build release
step 'packages'
mkdir -p "$out"
rm -f "$out"/*.deb
cpack --config build/release/CPackConfig.cmake -B "$PWD/$out"
architecture=$(dpkg --print-architecture)
client=$out/mstore_${version}_$architecture.deb
daemon=$out/mstored_${version}_$architecture.deb
[ "$(dpkg-parsechangelog -l systemd/debian/changelog -S Version)" = "$version" ] ||
    fail "systemd/debian/changelog is of another version than $version"
for package in "$client" "$daemon"; do
    dpkg-deb -I "$package"
    dpkg-deb -c "$package"
done

step 'lintian'
lintian --fail-on error "$client" "$daemon"

step 'a fresh Debian'
# The machine's sources, but those of others than Debian.
sources=$(grep -liE '^(URIs:|deb ).*debian' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources \
    /etc/apt/sources.list.d/*.list 2>/dev/null || true)
# With what the packages depend on, so that in the end what they themselves left behind is to be seen.
depends=$({ dpkg-deb -f "$client" Depends && dpkg-deb -f "$daemon" Depends; } | tr ',' '\n' |
    sed 's/^ *\([a-z0-9.+-]*\).*/\1/' | sort -u | paste -sd ,)
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
root=$work/root
# shellcheck disable=SC2086  # one word a file
mmdebstrap --quiet --mode=root --variant=essential --include="$depends,systemd-sysv,dbus" "$release" "$root" $sources
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
cp "$client" "$daemon" "$root/tmp/"

# inside COMMAND...: runs in it, with processes of its own.
inside() {
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" env DEBIAN_FRONTEND=noninteractive "$@"
}

# What lies there, but what package tools note.
list_files() {
    (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \
        -o -path ./dev -o -path ./proc -o -path ./root -o -path ./run \
        -o -path ./tmp \) -prune -o -print | sort)
}

step 'install'
list_files >"$work/before"
inside dpkg -i "/tmp/${client##*/}" "/tmp/${daemon##*/}"
for file in etc/mstore/mstored.conf etc/systemd/system/multi-user.target.wants/mstored.service usr/bin/mstore \
    usr/lib/sysctl.d/90-mstore.conf usr/lib/systemd/system/mstored.service usr/sbin/mstored \
    usr/share/bash-completion/completions/mstore usr/share/fish/vendor_completions.d/mstored.fish \
    usr/share/zsh/vendor-completions/_mstore; do
    [ -e "$root/$file" ] || [ -L "$root/$file" ] || fail "/$file is not there"
done
[ "$(inside stat -c '%U:%G %a' /srv/models)" = 'mstore:mstore 755' ] || fail "/srv/models is not the user's"
inside systemd-analyze verify --man=no /usr/lib/systemd/system/mstored.service

step 'boot, and use it'
make_source "$root/root/src"
cp tests/package/boot.sh "$root/root/"
cat >"$root/etc/systemd/system/probe.service" <<EOF
[Unit]
After=mstored.service
[Service]
Type=oneshot
ExecStart=/bin/sh /root/boot.sh $version
ExecStopPost=/bin/systemctl poweroff --no-block
StandardOutput=file:/root/boot.log
StandardError=inherit
TimeoutStartSec=120
EOF
ln -s ../probe.service "$root/etc/systemd/system/multi-user.target.wants/"
timeout 300 systemd-nspawn -q --boot -D "$root" --private-network --register=no --keep-unit >"$work/console" 2>&1 ||
    fail "it does not boot: $(cat "$work/console")"
cat "$root/root/boot.log"
grep -qx 'all is well' "$root/root/boot.log" || fail "it does not work under systemd"
rm "$root/etc/systemd/system/multi-user.target.wants/probe.service" "$root/etc/systemd/system/probe.service"

step 'install again, with changed settings'
echo 'timeout = 30' >>"$root/etc/mstore/mstored.conf"
inside dpkg -i "/tmp/${daemon##*/}"
grep -q 'timeout = 30' "$root/etc/mstore/mstored.conf" || fail "the settings were overwritten"

step 'remove, and purge'
inside dpkg -r mstore mstored
grep -q 'timeout = 30' "$root/etc/mstore/mstored.conf" || fail "remove took the settings"
inside dpkg -P mstored
[ -f "$root/srv/models/ns/model/config.json" ] || fail "the models are gone"
list_files | grep -v '^\./srv/models' >"$work/after"
# Systemd's own: copies of the files in which it notes users, and what a boot leaves.
own='(etc|var)/\.updated|etc/(passwd|group|shadow|gshadow)-|etc/localtime|var/lib/dbus/machine-id'
own="$own|var/lib/systemd/(linger|timers(/stamp-.*)?)"
diff "$work/before" "$work/after" | grep '^[<>]' | grep -vE "^> \./($own)\$" && fail "this is left, or gone"
step 'done'
