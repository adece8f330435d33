#!/bin/sh
# static_libs.sh CC FOLDER: the libraries of a static build, for the machine that the compiler CC makes programs
# for, as FOLDER/include, lib/*.a and lib/pkgconfig.
#
# All come from Debian, of the release that this machine gets its packages from: the development packages of
# that architecture, and libcjson.a, which is in none of them, from the source package. apt keeps its lists in
# FOLDER, so that the machine needs no foreign architecture, no deb-src line and no rights.
set -eu

cc=$1
folder=$2
packages='libuv1-dev libcjson-dev libxxhash-dev libinih-dev libsodium-dev libyajl-dev'

triplet=$("$cc" -dumpmachine)
architecture=$(dpkg-architecture -f -t "$triplet" -q DEB_HOST_ARCH)
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$folder/work
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked"

# The machine's sources of packages, each also as one of source packages.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' "$file" >"$work/sources/${file##*/}"
done
for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$work/sources/${file##*/}"
done
[ ! -f "$work/sources/sources.list" ] || mv "$work/sources/sources.list" "$work/sources/main.list"

: >"$work/status"
cat >"$work/apt.conf" <<EOF
Dir::Etc::sourcelist "$work/none";
Dir::Etc::sourceparts "$work/sources";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architecture "$architecture";
APT::Architectures {"$architecture";};
APT::Sandbox::User "root";
EOF
export APT_CONFIG="$work/apt.conf"
apt-get update -q

cd "$work/unpacked"
# shellcheck disable=SC2086  # one word a package
apt-get download -q $packages
for package in *.deb; do
    dpkg-deb -x "$package" .
done
cp -r usr/include "$folder/"
mkdir -p "$folder/lib/pkgconfig"
cp "usr/lib/$triplet"/*.a "$folder/lib/"
# "-l:libuv.a" is what CMake would not look for in FOLDER; yajl's archive has a name of its own.
for file in "usr/lib/$triplet/pkgconfig"/*.pc; do
    sed "s|^prefix=.*|prefix=$folder|; s|^libdir=.*|libdir=$folder/lib|; s|^includedir=/usr/include|includedir=$folder/include|
         s|-l:lib\([a-z_]*\)\.a|-l\1|; s|-lyajl\$|-lyajl_s|" "$file" >"$folder/lib/pkgconfig/${file##*/}"
done

if [ ! -f "$folder/lib/libcjson.a" ]; then
    apt-get source -q cjson
    "$cc" -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -DENABLE_LOCALES -c cjson-*/cJSON.c -o cJSON.o
    "$triplet-ar" rc "$folder/lib/libcjson.a" cJSON.o
fi
rm -rf "$work"
