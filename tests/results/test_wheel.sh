#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheels of the Python package, with the library, the program and all that they need in them: cp311, and one of the stable ABI
# for Python 3.12 and later. Each is installed in clean virtual environments, where python/tests passes. Versions that are not at
# hand are named.
#   test_wheel.sh SOURCE BUILD OUT [DEFINITION...]    BUILD: a folder for CMake; OUT: gets the wheels; DEFINITION: of CMake, NAME=VALUE
set -euo pipefail
source=$(cd "$1" && pwd) build=$2 out=$3
shift 3
mkdir -p "$build" "$out"
build=$(cd "$build" && pwd) out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "the wheel: $1" >&2; exit 1; }

pythons=()
for version in 3.11 3.12 3.13; do
    found=
    for place in /usr/bin/python$version "$HOME"/.pyenv/versions/$version.*/bin/python; do
        [ -z "$found" ] && [ -x "$place" ] && "$place" -c 'import ensurepip' 2>/dev/null && found=$place
    done
    if [ -n "$found" ]; then pythons+=("$version=$found"); else echo "!!!! SKIPPED: there is no Python $version: NOT TRIED !!!!"; fi
done
[ ${#pythons[@]} -gt 0 ] || exit 77

# Both wheels are of one build: only the extension differs.
for entry in "${pythons[@]}"; do
    version=${entry%%=*}
    tag=$([ "$version" = 3.11 ] && echo cp311-cp311 || echo cp312-abi3)
    wheel=$(find "$out" -name "tomostage-*-$tag-*.whl" -newer "$work")
    "${entry#*=}" -m venv "$work/$version"
    if [ -z "$wheel" ]; then
        "$work/$version/bin/pip" install -q 'nanobind>=3' 'scikit-build-core>=0.11' wheel
        definitions=("${@/#/--config-settings=cmake.define.}")
        PATH=$work/$version/bin:$PATH "$work/$version/bin/pip" wheel -q --no-build-isolation --no-deps "$source/python" -w "$work/$tag" \
            --config-settings=build-dir="$build" "${definitions[@]}"
        glibc=$(objdump -T "$build"/public/lib/*.so* "$build/tomostage" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
        glibc=${glibc#GLIBC_}
        "$work/$version/bin/wheel" tags --remove --platform-tag "manylinux_${glibc/./_}_$(uname -m)" "$work/$tag"/*.whl >/dev/null
        mv "$work/$tag"/*.whl "$out"
        wheel=$(find "$out" -name "tomostage-*-$tag-*.whl" -newer "$work")
    fi
    [ "$(stat -c %s "$wheel")" -lt 60000000 ] || fail "$wheel has more than 60 MB"
    rm -rf "$work/$version"
    "${entry#*=}" -m venv "$work/$version"
    "$work/$version/bin/pip" install -q "$wheel" pytest h5py
    (cd "$work" && PATH=$work/$version/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 "$work/$version/bin/python" -m pytest -q -rs -p no:cacheprovider \
        "$source/python/tests") >"$work/log" 2>&1 || fail "Python $version: $(cat "$work/log")"
    grep '^SKIPPED' "$work/log" || true
    "$work/$version/bin/tomostage" --version >/dev/null || fail "Python $version: the command does not run"
    echo "Python $version: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1000)) kB, $(tail -n 1 "$work/log")"
done
