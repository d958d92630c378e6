#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the README's commands where nothing is installed: makes a Debian 12 (minbase) with debootstrap, clones the commit
# that is checked out into it, and there runs the lines of README.md that begin with ./bootstrap.sh demo and test. It is run
# before every release, since a developer's machine has packages that bootstrap.sh may have forgotten. It needs root,
# debootstrap, a network, 6 GB and some twenty minutes; apt's sources and proxies of this machine are used where it has any.
# usage: fresh_debian.sh [FOLDER], which is made for it and removed where all has passed; KEEP=1 leaves it
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "fresh_debian: debootstrap and chroot need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh_debian: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
root=${1:-$(mktemp -d /tmp/fresh-debian.XXXXXX)}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$root"
root=$(cd "$root" && pwd)
[ -z "$(ls -A "$root")" ] || { echo "fresh_debian: $root is not empty" >&2; exit 2; }

# Mounts go in the reverse order, and nothing is deleted by that: a folder of this machine would be emptied through a mount.
unmount() {
    local point
    for point in dev/pts dev proc; do
        if mountpoint -q "$root/$point"; then umount "$root/$point" || umount -l "$root/$point"; fi
    done
}
finish() {
    local code=$?
    unmount
    if grep -qF " $root/" /proc/mounts; then
        echo "fresh_debian: something is still mounted in $root, which is left" >&2
    elif [ $code = 0 ] && [ -z "${KEEP:-}" ]; then
        rm -rf --one-file-system "$root"
    else
        echo "fresh_debian: $root is left to look into: chroot $root" >&2
    fi
    exit $code
}
trap finish EXIT
trap 'exit 130' INT TERM

step() { printf '\n== %s (after %s s)\n' "$1" "$SECONDS"; }
step "debootstrap"
debootstrap --variant=minbase --include=ca-certificates,git bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp -rL /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
if [ -f /etc/apt/apt.conf ]; then cp /etc/apt/apt.conf "$root/etc/apt/"; fi
git clone -q --no-hardlinks "$source" "$root/root/tomostage"

inside() { # COMMAND; with nothing of this shell's variables but the network's proxies and CI's
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" bash -c "cd /root/tomostage && $1" </dev/null
}
commands=$(grep -oE '^ *\./bootstrap\.sh (demo|test)\b' "$source/README.md" | sed 's/^ *//')
[ "$(wc -l <<<"$commands")" = 2 ] || { echo "fresh_debian: README.md names not demo and test, but: $commands" >&2; exit 1; }
while read -r command; do
    step "$command"
    inside "$command"
done <<<"$commands"
step "done"
