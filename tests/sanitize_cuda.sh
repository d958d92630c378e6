#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of every stage's CUDA code under compute-sanitizer (memcheck, racecheck, initcheck, synccheck), on fewer
# shapes and slabs than usual, some of them side by side. Fails where a tool finds anything, and where no test ran.
# usage: sanitize_cuda.sh [TESTS] [FILTER] [TOOL]...     TESTS: the test program, else the one of the bundle or the build
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=${1:-}
for candidate in "$here/../../../bin/tomostage-tests" "$here"/../build/*/tests/tomostage-tests "$here/../build/tests/tomostage-tests"; do
    [ -n "$tests" ] || { [ ! -x "$candidate" ] || tests=$candidate; }
done
filter=${2:-*/*_on_cuda}
tools=("${@:3}")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck initcheck synccheck)
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
[ -n "$sanitizer" ] || { echo "compute-sanitizer was not found; it is part of the CUDA toolkit" >&2; exit 2; }
[ -x "$tests" ] || { echo "no test program: '$tests'" >&2; exit 2; }
nvidia-smi -L >/dev/null || { echo "no GPU: nothing was checked" >&2; exit 2; }

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export TOMOSTAGE_TESTS_FEW=1 OMP_WAIT_POLICY=passive
findings=0
for tool in "${tools[@]}"; do
    start=$SECONDS
    # Each test is a process of its own; so is, for speed, each tool's watch over it.
    "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 77 --log-file "$logs/$tool-%p" --print-limit 20 \
        "$tests" -j"${TOMOSTAGE_JOBS:-8}" --timeout 600 --filter "$filter" >"$logs/$tool.out" 2>&1
    code=$?
    synthesis=$(grep -o 'Tested:.*' "$logs/$tool.out")
    bad=$(grep -l 'ERROR SUMMARY: [1-9]\|RACECHECK SUMMARY: [1-9]' "$logs/$tool"-* 2>/dev/null)
    watched=$(grep -l 'SUMMARY: 0\|SUMMARY: [1-9]' "$logs/$tool"-* 2>/dev/null | wc -l)
    echo "$tool: $((SECONDS - start)) s, $synthesis, $watched processes watched, exit code $code, $(echo "$bad" | grep -c .) with findings"
    if [ -n "$bad" ] || [ "$code" != 0 ] || ! grep -q 'Tested: [1-9]' "$logs/$tool.out"; then
        findings=1
        grep -E '^\[(FAIL|CRASH)' "$logs/$tool.out" | head -n 10
        for log in $bad; do head -n 30 "$log"; done | head -n 120
    fi
done
exit $findings
