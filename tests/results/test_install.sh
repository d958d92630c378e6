#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into an empty folder, moves that, builds the example there with pkg-config and with find_package, and compares
# what the library exports with what its header declares. The build's own generator builds the example, since a fresh
# Debian that has ninja need not have make.
# usage: test_install.sh BUILD SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "the installation: $1" >&2; exit 1; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
build=$1 source=$2
generator=$(cached CMAKE_GENERATOR)
# Stands in for a system without make.
if [[ $generator != *Makefiles* ]]; then
    mkdir "$folder/bin"
    printf '#!/bin/sh\necho "make was called" >&2\nexit 1\n' | tee "$folder/bin/make" >"$folder/bin/gmake"
    chmod +x "$folder"/bin/*
    export PATH=$folder/bin:$PATH
fi
cmake --install "$build" --prefix "$folder/first" >"$folder/log"
mv "$folder/first" "$folder/usr"
library=$(find "$folder/usr" -name 'libtomostage.so' -print -quit)
sanitizers=$(cached TOMOSTAGE_SANITIZE)
flags=()
[ -z "$sanitizers" ] || flags=("-fsanitize=$sanitizers")

for page in man/man1/tomostage.1 man/man1/tomostage-run.1 bash-completion/completions/tomostage zsh/site-functions/_tomostage \
    fish/vendor_completions.d/tomostage.fish; do
    [ -s "$folder/usr/share/$page" ] || fail "share/$page is missing"
done

# Nothing is corrected in tomostage.pc: it leads to where it lies.
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH
for name in prefix libdir includedir; do
    [[ $(realpath "$(pkg-config --variable=$name tomostage)") = "$folder/usr"* ]] ||
        fail "tomostage.pc says $name=$(pkg-config --variable=$name tomostage), but lies in $folder/usr"
done
read -ra found <<<"$(pkg-config --cflags --libs tomostage)"
cc "${flags[@]}" "$source/docs/example.c" "${found[@]}" -Wl,-rpath,"$(dirname "$library")" -o "$folder/with-pkg-config"
readelf -d "$folder/with-pkg-config" | grep 'NEEDED.*libtomostage' >/dev/null || fail "the example of pkg-config does not load the library"

# The lines of docs/install.md after the one that installs, in a home of their own.
mkdir "$folder/home" && ln -s ../usr "$folder/home/.local" && ln -s "$source/docs" "$folder/docs"
lines=$(grep -A3 '^    cmake --install build/release --prefix ~/.local$' "$source/docs/install.md" | grep -A3 PKG_CONFIG_PATH)
[ "$(wc -l <<<"$lines")" = 3 ] || fail "docs/install.md has other lines: $lines"
(
    cd "$folder" && export HOME=$folder/home && unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    cc() { command cc "${flags[@]}" "$@"; }
    eval "$lines"
) >"$folder/log" 2>&1 || fail "the lines of docs/install.md: $(cat "$folder/log")"
grep -q '^smoothed 65536 values, mean 31\.5$' "$folder/log" || fail "the example of arrays says: $(cat "$folder/log")"
cc "${flags[@]}" "$source/docs/example_arrays.c" "${found[@]}" -o "$folder/arrays"
LD_LIBRARY_PATH=$(dirname "$library") "$folder/arrays" >"$folder/log" 2>&1 || fail "with LD_LIBRARY_PATH: $(cat "$folder/log")"
cc "${flags[@]}" "$source/docs/example_threads.c" "${found[@]}" -pthread -Wl,-rpath,"$(dirname "$library")" -o "$folder/threads"
"$folder/threads" >"$folder/log" 2>&1 || fail "the example of threads: $(cat "$folder/log")"
[ "$(grep -c '^thread [0-3]: mean [1-4]$' "$folder/log")" = 4 ] || fail "the example of threads says: $(cat "$folder/log")"
cc -shared -fPIC -O2 -fopenmp "$source/datasets/plugins/sharpen_z.c" $(pkg-config --cflags tomostage) -o "$folder/sharpen_z.so"
"$folder/usr/bin/tomostage" --plugin "$folder/sharpen_z.so" stages | grep -q '^sharpen_z  *sharpen along z$' || fail "it does not load the plugin"

cc "${flags[@]}" "$source/docs/example_operator.c" "${found[@]}" -lm -Wl,-rpath,"$(dirname "$library")" -o "$folder/operator"
"$folder/operator" >"$folder/log" 2>&1 || fail "the example of operators: $(cat "$folder/log")"
grep -q '^off by 6 % after 50 iterations$' "$folder/log" || fail "the example of operators says: $(cat "$folder/log")"

compiler=$(cached CMAKE_CUDA_COMPILER)
if [[ $(cached TOMOSTAGE_CUDA) != off && -x $compiler ]]; then
    toolkit=$(dirname "$(dirname "$(realpath "$compiler")")")
    cc "${flags[@]}" "$source/docs/example_cuda.c" "${found[@]}" -I"$toolkit/include" -L"$toolkit/lib64" -lcudart -lm \
        -Wl,-rpath,"$(dirname "$library"):$toolkit/lib64" -o "$folder/norm"
    if nvidia-smi -L >"$folder/log" 2>&1; then
        "$folder/norm" >"$folder/log" 2>&1 || fail "the example of CUDA: $(cat "$folder/log")"
        grep -q '^the norm of the projection is 74\.6$' "$folder/log" || fail "the example of CUDA says: $(cat "$folder/log")"
    else
        echo "SKIPPED: the example of CUDA is compiled, but not run: there is no device"
    fi
fi

# The lines of docs/install.md for CMake come first.
lines=$(grep -A2 '^    find_package(tomostage REQUIRED)$' "$source/docs/install.md")
[ "$(wc -l <<<"$lines")" = 3 ] || fail "docs/install.md has other lines for CMake: $lines"
cat >"$folder/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.24)
project(example LANGUAGES C)
$lines
target_link_options(arrays PRIVATE ${flags[*]})
add_executable(example "$source/docs/example.c")
target_compile_options(example PRIVATE ${flags[*]})
target_link_options(example PRIVATE ${flags[*]})
target_link_libraries(example PRIVATE tomostage::tomostage)
CMAKE
{ cmake -S "$folder" -B "$folder/build" -G "$generator" -DCMAKE_PREFIX_PATH="$folder/usr" && cmake --build "$folder/build"; } \
    >"$folder/log" 2>&1 || fail "find_package: $(cat "$folder/log")"
"$folder/build/arrays" >"$folder/log" 2>&1 || fail "the example of arrays, built with CMake: $(cat "$folder/log")"
for example in "$folder/with-pkg-config" "$folder/build/example"; do
    if "$example" "$folder/missing.yaml" 2>"$folder/log"; then fail "$example does not refuse a missing chain"; fi
    grep -q 'missing.yaml' "$folder/log" || fail "$example says: $(cat "$folder/log")"
done
# The library starts the program of the sandbox that lies beside it, and without it says what is missing: for files that
# need it. Uncompressed DICOM slices do not.
env -u LD_LIBRARY_PATH "$folder/usr/bin/tomostage" phantom head --size 16 --slices 2 -o "$folder/study" >"$folder/log"
for input in 'dicom: study' 'result: slices.h5'; do
    printf 'tomostage: 2\ninput: {%s}\nstages: [box: {radius: 1}]\noutput: {hdf5: %s}\n' "$input" \
        "$([ "$input" = 'dicom: study' ] && echo slices.h5 || echo again.h5)" >"$folder/${input%%:*}.yaml"
done
run_example() { "$folder/with-pkg-config" "$folder/$1.yaml" >"$folder/log" 2>&1; }
mv "$folder/usr/libexec" "$folder/usr/hidden"
run_example dicom || fail "the example needs a sandbox for uncompressed slices: $(cat "$folder/log")"
if run_example result; then fail "the example reads HDF5 without a sandbox"; fi
grep -q 'libexec/tomostage/sandbox, is missing' "$folder/log" || fail "without a sandbox the example says: $(cat "$folder/log")"
mv "$folder/usr/hidden" "$folder/usr/libexec"
run_example result || fail "the example does not read HDF5: $(cat "$folder/log")"

# The library shows what the public headers declare, and to its own program of the sandbox one function more. A declaration
# may be wrapped.
nm -D --defined-only --with-symbol-versions "$library" |
    awk '$2 != "A" && $3 != "ts_sandbox_serve@@TOMOSTAGE_PRIVATE" {sub("@@TOMOSTAGE_0$", "", $3); print $3}' | sort >"$folder/exported"
cat "$source"/include/*.h | tr '\n' ' ' | grep -oE 'TS_PUBLIC [^;(]*\bts_[a-z0-9_]+\(' | grep -oE 'ts_[a-z0-9_]+\($' | tr -d '(' |
    sort >"$folder/declared"
diff "$folder/declared" "$folder/exported" || fail "its exports differ from the header"
for file in "$folder"/usr/lib*/*.so*; do
    if nm -D --defined-only "$file" | grep -E ' cuda[A-Z]'; then fail "$file shows its CUDA runtime"; fi
done
# No search path has an empty element, which would be the current folder.
for file in "$build"/tomostage* "$build"/tests/tomostage-* "$build"/lib*.so "$build"/public/lib/*.so "$folder"/usr/bin/* "$folder"/usr/lib*/*.so*; do
    [ -x "$file" ] && [ -f "$file" ] && readelf -d "$file" >"$folder/dynamic" 2>"$folder/log" || continue
    path=$(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' "$folder/dynamic")
    [[ :$path: != *::* || -z $path ]] || fail "$file looks for libraries in the current folder: '$path'"
    [[ $file != "$folder"/* || $path != */build* ]] || fail "$file looks for libraries in the build folder: '$path'"
done
# The installed program finds the installed library.
env -u LD_LIBRARY_PATH "$folder/usr/bin/tomostage" stages >"$folder/log"
echo "$(wc -l <"$folder/declared") functions exported, all declared"
