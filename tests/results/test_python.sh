#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package in a virtual environment, as `pip install` makes it, linked with the library of a build folder: its tests
# (python/tests), which carry out the examples of docs/python.md too.
#   test_python.sh SOURCE BUILD [PYTHON]
# It needs nanobind, scikit-build-core and pytest, which pip installs once. Exit code 77: pip cannot reach its index.
set -euo pipefail
source=$(cd "$1" && pwd) build=$(cd "$2" && pwd) python=${3:-/usr/bin/python3}
venv=$build/python/venv-$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".")')

skip() { printf '!!!! SKIPPED: %s: THE PYTHON PACKAGE IS NOT TESTED !!!!\n' "$1"; exit 77; }
mkdir -p "$build/python"
[ -x "$venv/bin/python" ] || "$python" -m venv --system-site-packages "$venv" >"$build/python/log" 2>&1 ||
    { rm -rf "$venv"; skip "$python makes no virtual environment (Debian: python3-venv)"; }
if ! "$venv/bin/python" -c 'import nanobind, pytest, scikit_build_core, numpy' 2>/dev/null; then
    "$venv/bin/pip" install -q 'nanobind>=3' 'scikit-build-core>=0.11' pytest numpy h5py >"$build/python/log" 2>&1 || {
        "$venv/bin/pip" index versions nanobind >/dev/null 2>&1 || skip "pip cannot reach its index"
        cat "$build/python/log"
        exit 1
    }
fi
PATH=$venv/bin:$PATH "$venv/bin/pip" install -q --no-build-isolation --no-deps --force-reinstall "$source/python" \
    --config-settings=cmake.source-dir=. --config-settings=build-dir="$build/python/{wheel_tag}" \
    --config-settings=cmake.define.TOMOSTAGE_BUILD="$build" \
    >"$build/python/log" 2>&1 || { cat "$build/python/log"; exit 1; }
cd "$build/python"
PATH=$build:$PATH PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider \
    "$source/python/tests"
