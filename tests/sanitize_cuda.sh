#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the CUDA code under compute-sanitizer (memcheck, racecheck, initcheck, synccheck), on fewer cases than
# usual, several side by side. Fails where a tool finds anything, memory that was not given back too, where a test fails
# or does not end in time, and where nothing ran.
# usage: sanitize_cuda.sh [TESTS] [SUITES] [TOOLS]
#   TESTS   the test program; "": the one of the bundle or of the build
#   SUITES  "box radon"; "": all that have tests of the CUDA code, but for those that time or count memory
#   TOOLS   "memcheck"; "": all four
# environment: TOMOSTAGE_JOBS processes side by side (8), TOMOSTAGE_SECONDS for all of them (240)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=${1:-}
for candidate in "$here/../../../bin/tomostage-tests" "$here"/../build/*/tests/tomostage-tests "$here/../build/tests/tomostage-tests"; do
    [ -n "$tests" ] || { [ ! -x "$candidate" ] || tests=$candidate; }
done
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
[ -n "$sanitizer" ] || { echo "compute-sanitizer was not found; it is part of the CUDA toolkit" >&2; exit 2; }
[ -x "$tests" ] || { echo "no test program: '$tests'" >&2; exit 2; }
nvidia-smi -L >/dev/null || { echo "no GPU: nothing was checked" >&2; exit 2; }
tools=${3:-memcheck racecheck initcheck synccheck}
# Without those that lose the device or run out of its memory on purpose, and those that take long.
# Suites stand as "box: 3 tests", their tests below, each behind a branch of the tree.
names=$("$tests" --list | sed 's/\x1b\[[0-9;]*m//g' |
    awk '/^[a-z0-9_]+:/ {sub(":.*", ""); suite = $0; next}
        suite == "run_cuda" ? !/lost|too_little_memory|real_series/ : /_on_cuda/ && suite !~ /^(bench|cuda_memory)$/ {print suite "/" $NF}')
if [ -n "${2:-}" ]; then
    names=$(grep -E "^(${2// /|})/" <<<"$names")
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
end=$(($(date +%s) + ${TOMOSTAGE_SECONDS:-240}))
export TOMOSTAGE_TESTS_FEW=1 TOMOSTAGE_TESTS_LEAKS=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive tests sanitizer logs end
# shellcheck disable=SC2016,SC2317  # called through xargs
check() {
    local name=$1 tool=$2 start log options=()
    [ "$tool" != memcheck ] || options=(--leak-check full)
    start=$(date +%s)
    log=$logs/$tool-${name/\//-}
    # The test is a process of its own, started by Criterion: each process has a log.
    timeout $((end > start + 1 ? end - start : 1)) "$sanitizer" --tool "$tool" "${options[@]}" --target-processes all --error-exitcode 77 \
        --print-limit 20 --log-file "$log-%p.found" "$tests" -j1 --verbose --filter "$name" >"$log.out" 2>&1
    echo "$tool $name $? $(($(date +%s) - start)) $(grep -cE '\[PASS\]|TOMOSTAGE_DATA is not set' "$log.out") $(cat "$log"-*.found | grep -c 'SUMMARY: [1-9]')" >>"$logs/done"
}
export -f check
bad=0
if [[ " $tools " == *" memcheck "* ]]; then
    # One that leaks on purpose: else nothing would say that memcheck finds leaks.
    TOMOSTAGE_TESTS_LEAK=1 check cuda_memory/leaks_where_it_is_asked_to memcheck
    grep -q 'LEAK SUMMARY: [1-9]' "$logs"/memcheck-cuda_memory-leaks*.found || { echo "memcheck did not find a leak that is there" && bad=1; }
    sed -i '/leaks_where_it_is_asked_to/d' "$logs/done"
fi
for name in $names; do for tool in $tools; do echo "$name $tool"; done; done |
    xargs -P "${TOMOSTAGE_JOBS:-8}" -n 2 bash -c 'check "$0" "$1"'
while read -r tool name code seconds passed found; do
    if [ "$code" = 0 ] && [ "$passed" -gt 0 ] && [ "$found" = 0 ]; then
        continue
    fi
    bad=$((bad + 1))
    echo "$tool $name: exit code $code after $seconds s$([ "$code" != 124 ] || echo ', not done in time')"
    log=$logs/$tool-${name/\//-}
    grep -l 'SUMMARY: [1-9]' "$log"-*.found | xargs -r head -q -n 25
    grep -E 'FAIL|CRASH' "$log.out"
done < <(sort "$logs/done")
printf '%-10s %6s %9s\n' tool tests seconds
sort "$logs/done" | awk '{n[$1]++; s[$1] += $4} END {for (tool in n) printf "%-10s %6d %9d\n", tool, n[tool], s[tool]}'
echo "the longest:" && sort -k4 -rn "$logs/done" | head -n 5 | awk '{print "    " $1, $2, $4 " s"}'
[ -s "$logs/done" ] || { echo "nothing ran" >&2; exit 1; }
[ $bad = 0 ] || { echo "$bad tests with findings or failures"; exit 1; }
echo "no findings"
