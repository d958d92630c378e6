#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the working tree in two folders with paths of different lengths, and compares all that would be installed: every
# byte has to be the same, debug information and the list of parts included. It takes two builds of the CPU program, which
# is why .ci/run calls it and ctest does not. They are made with -O1, since paths and times, which make builds differ, reach
# the objects in the same way at every level; CMakeLists.txt sets the flags of a Release itself.
# usage: test_reproducible.sh SOURCE
set -euo pipefail
source=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SOURCE_DATE_EPOCH=0
places=(one another/and/longer/path/to)
# Both are made at once, since one processor configures and links.
processors=$((($(nproc) + 1) / 2))
build() { # PLACE
    local at=$folder/$1
    mkdir -p "$at/source"
    (cd "$source" && { git ls-files -z; git ls-files -z --others --exclude-standard; } | tar c --null --files-from=-) |
        tar x -C "$at/source"
    cmake -S "$at/source" -B "$at/out" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTOMOSTAGE_CUDA=off \
        -DTOMOSTAGE_TESTS=OFF -DTOMOSTAGE_SHARED=ON \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g -DNDEBUG"
    cmake --build "$at/out" -j "$processors"
    DESTDIR="$at/installed" cmake --install "$at/out"
}
builds=()
for i in 0 1; do
    build "${places[i]}" >"$folder/log$i" 2>&1 &
    builds+=($!)
done
failed=
for i in 0 1; do wait "${builds[i]}" || failed=$i; done
[ -z "$failed" ] || { tail -n 40 "$folder/log$failed" >&2; exit 1; }
diff -r "$folder/${places[0]}/installed" "$folder/${places[1]}/installed" || { echo "the two builds differ" >&2; exit 1; }
library=$(find "$folder/${places[0]}/installed" -name 'libtomostage.so.*.*')
if grep -qaF "$folder" "$library"; then echo "the library holds the path that it was built in" >&2; exit 1; fi
echo "two builds are equal: $(find "$folder/${places[0]}/installed" -type f | wc -l) files, $(du -sh "$folder/one/installed" | cut -f1)"
