#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reads the marks of every program and library of a build: position-independent, read-only relocations bound at start, no
# executable stack, stack canaries, checked C library calls, marks for control-flow enforcement (CET), no path of this
# machine. The linker drops the marks of CET where one of the system's own start files lacks them; that is reported, and
# each of the project's own objects has to have them. usage: test_hardening.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2 bad=0 n=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$1" >&2; bad=1; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
sanitizers=$(cached TOMOSTAGE_SANITIZE)
fortified=
if [ "$(cached CMAKE_BUILD_TYPE)" = Release ] && [ -z "$sanitizers" ]; then fortified=yes; fi

for file in "$build"/tomostage* "$build"/lib*.so.*.* "$build"/public/lib/*.so.*.* "$build"/tests/tomostage-*; do
    [ -x "$file" ] && [ -f "$file" ] && readelf -hW "$file" >"$folder/head" 2>/dev/null || continue
    n=$((n + 1))
    name=${file#"$build"/}
    readelf -lW "$file" >"$folder/segments"
    readelf -dW "$file" >"$folder/dynamic"
    nm -D "$file" >"$folder/symbols"
    grep -q 'Type: *DYN' "$folder/head" || fail "$name is not position-independent"
    grep -q GNU_RELRO "$folder/segments" || fail "$name has writable relocations"
    grep -qE '\(BIND_NOW\)|FLAGS.* NOW' "$folder/dynamic" || fail "$name binds calls late"
    grep -q 'GNU_STACK.*RW ' "$folder/segments" || fail "$name has an executable stack"
    ! grep -qE '\(TEXTREL\)' "$folder/dynamic" || fail "$name has relocations in its code"
    # The example is a page of documentation that needs no checked call.
    if [[ $name != *example ]]; then
        grep -q __stack_chk_fail "$folder/symbols" || fail "$name has no stack canaries"
        [ -z "$fortified" ] || grep -q '_chk@' "$folder/symbols" || fail "$name has no checked calls of the C library"
    fi
    path=$(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' "$folder/dynamic")
    [[ $path != *"$build"* && :$path: != *::* || -z $path ]] || fail "$name looks for libraries in '$path'"
    # The tests find their data through the path of the source, and sanitizers name it in their reports.
    if [[ $name != tests/* && -z $sanitizers ]] && grep -qaF -e "$source/" -e "$build/" "$file"; then fail "$name holds a path of this machine"; fi
done
[ $n -ge 3 ] || fail "only $n programs and libraries were looked at"

if [ "$(uname -m)" = x86_64 ]; then
    ar t "$build/libtomostage_core.a" >"$folder/objects"
    readelf -nW "$build/libtomostage_core.a" 2>/dev/null >"$folder/notes"
    marked=$(grep -c 'x86 feature: IBT, SHSTK' "$folder/notes" || true)
    objects=$(wc -l <"$folder/objects")
    [ "$marked" = "$objects" ] || fail "$((objects - marked)) of $objects objects lack the marks of CET"
    if ! readelf -nW "$build/tomostage" | grep 'IBT, SHSTK' >/dev/null; then
        echo 'int main(void) { return 0; }' >"$folder/empty.c"
        lacking=$(cc -fcf-protection=full -Wl,-z,cet-report=warning "$folder/empty.c" -o "$folder/empty" 2>&1 |
            grep -oE '[^ /]+\.[oa]: warning: missing' | cut -d: -f1 | sort -u | tr '\n' ' ')
        [ -n "$lacking" ] || [ -f "$folder/empty" ] || fail "the linker says nothing of CET"
        for file in $lacking; do
            grep -qF "\`$file\`" "$source/docs/SECURITY.md" || fail "docs/SECURITY.md does not name $file, which has no marks of CET"
        done
        echo "no marks of CET in the programs, because these files of the system have none: ${lacking:-other libraries\' start files}"
    fi
fi
[ $bad = 0 ] || exit 1
echo "$n programs and libraries have every mark${fortified:+, checked calls too}"
