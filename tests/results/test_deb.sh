#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian's packages of a build: lintian finds no errors; each needs what its programs load; in a Debian in which nothing was installed,
# apt installs them, a chain runs there as another user, a program is built with the headers, and removing leaves nothing.
#   test_deb.sh BUILD SOURCE OUT [ROOT]    OUT: gets the packages; ROOT: a bare Debian (debootstrap), which is not changed
set -euo pipefail
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd) out=$3 root=${4:-}
mkdir -p "$out" && out=$(cd "$out" && pwd)
fail() { echo "the packages: $1" >&2; exit 1; }
rm -f "$out"/*.deb
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$out" >"$out/log" 2>&1 || fail "$(tail -n 20 "$out/log")"
rm -rf "$out/_CPack_Packages"
lintian --fail-on error "$out"/*.deb >"$out/lintian" 2>&1 || fail "lintian says: $(grep '^E' "$out/lintian")"
for name in tomostage libtomostage-dev; do
    [ "$(find "$out" -name "${name}_*.deb" | wc -l)" = 1 ] || fail "there is no package $name"
done
# dpkg-shlibdeps names what the programs load, and no package brings a path of its own.
for library in hdf5 dcmtk yaml; do
    dpkg-deb -f "$out"/tomostage_*.deb Depends | grep -q "lib$library" || fail "tomostage does not depend on lib$library"
done
dpkg-deb --fsys-tarfile "$out"/tomostage_*.deb | tar t >"$out/files"
for file in man/man1/tomostage-run.1.gz bash-completion/completions/tomostage doc/tomostage/copyright tomostage/chains/demo.yaml; do
    grep -q "^\./usr/share/$file$" "$out/files" || fail "tomostage has no share/$file"
done
dpkg-deb --fsys-tarfile "$out"/tomostage_*.deb | tar xO --wildcards './usr/lib/*.so.*' >"$out/libraries"
if grep -qa cudaErrorInvalidValue "$out/libraries"; then
    grep -q '/doc/tomostage/licenses/nvidia-cuda-runtime$' "$out/files" || fail "there is no license of the CUDA runtime"
fi
rm "$out/libraries"
printf '%s kB\n' "$(($(cat "$out"/*.deb | wc -c) / 1000))" >"$out/size"
[ -n "$root" ] || { echo "$(ls "$out"/*.deb | wc -l) packages, $(cat "$out/size"), lintian without errors; NOT INSTALLED: no bare Debian was named"; exit 0; }

work=$(mktemp -d /var/tmp/tomostage-deb.XXXXXX)
unmount() { for point in dev/pts dev proc; do ! mountpoint -q "$work/$point" || umount "$work/$point" || umount -l "$work/$point"; done; }
finish() {
    unmount
    if grep -qF " $work/" /proc/mounts; then echo "the packages: something is still mounted in $work, which is left" >&2; else rm -rf --one-file-system "$work"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM
cp -a "$root/." "$work"
mount -t proc proc "$work/proc"
mount --bind /dev "$work/dev"
mount --bind /dev/pts "$work/dev/pts"
cp /etc/resolv.conf /etc/hosts "$work/etc/"
cp -rL /etc/apt/apt.conf.d/. "$work/etc/apt/apt.conf.d/"
rm -f "$work"/etc/dpkg/dpkg.cfg.d/docker*
inside() { chroot "$work" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" bash -euc "$1" </dev/null >"$out/log" 2>&1 || fail "$2: $(tail -n 20 "$out/log")"; }
mkdir "$work/packages" && cp "$out"/*.deb "$work/packages" && cp "$source"/docs/example.c "$work/packages"
inside 'dpkg-query -l | tail -n +6 | wc -l >/packages/before; find /usr /etc -xdev | sort >/packages/there' "nothing is installed yet"
inside 'apt-get update -qq && apt-get install -y --no-install-recommends /packages/tomostage_*.deb' "apt does not install tomostage"
inside 'useradd -m somebody && su somebody -c "cd && tomostage phantom shepp-logan -o study && cp /usr/share/tomostage/chains/demo.yaml . &&
    tomostage check demo.yaml && tomostage run demo.yaml && tomostage verify demo.h5 --inputs study && tomostage preview demo.h5 -o demo.png"' "the demo fails"
chain=$(sed -n 2,20p "$out/log")
[[ $chain = *radon* ]] || fail "the demo printed: $chain"
inside 'gzip -dc /usr/share/man/man1/tomostage-run.1.gz | grep -q device' "there is no manual page"
inside 'apt-get install -y --no-install-recommends /packages/tomostage-view_*.deb && tomostage-view --version' "the windows' program does not start"
inside 'apt-get install -y --no-install-recommends gcc libc6-dev pkg-config /packages/libtomostage-dev_*.deb && cd /home/somebody &&
    gcc /packages/example.c $(pkg-config --cflags --libs tomostage) -o /usr/local/bin/example && su somebody -c "cd && rm demo.h5 && /usr/local/bin/example demo.yaml && tomostage verify demo.h5"' "the example in C fails"
inside 'apt-get purge -y tomostage && ! command -v tomostage && ! ls /usr/lib/libtomostage* && ! ls -d /usr/share/tomostage /usr/share/doc/tomostage' "something is left"
echo "$(ls "$out"/*.deb | wc -l) packages, $(cat "$out/size"), lintian without errors; a bare Debian installs them and runs the demo and the example"
