#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the CUDA code under compute-sanitizer (memcheck, racecheck, initcheck, synccheck), on fewer cases than
# usual, each suite in a process of its own, several side by side. Fails where a tool finds anything, where a test fails
# or does not end in time, and where nothing ran.
# usage: sanitize_cuda.sh [TESTS] [SUITES] [TOOLS]
#   TESTS   the test program; "": the one of the bundle or of the build
#   SUITES  "box radon"; "": all that have tests of the CUDA code, but for the benchmark's
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
# Suites stand as "name: 3 tests", their tests below.
suites=${2:-$("$tests" --list | sed 's/\x1b\[[0-9;]*m//g' | awk '/^[a-z0-9_]+:/ {sub(":.*", ""); suite = $0} /_on_cuda/ {print suite}' | sort -u | grep -vx bench)}
tools=${3:-memcheck racecheck initcheck synccheck}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export TOMOSTAGE_TESTS_FEW=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive tests sanitizer logs
check() {
    local tool=$1 suite=$2 left=$((end - $(date +%s))) start
    start=$(date +%s)
    [ "$left" -gt 1 ] || left=1
    # Criterion runs each test in a process of its own, so each process has a log.
    timeout "$left" "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 77 --print-limit 20 \
        --log-file "$logs/$tool-$suite-%p.found" "$tests" -j1 --verbose --filter "$suite/*_on_cuda" >"$logs/$tool-$suite.out" 2>&1
    echo "$tool $suite $? $(($(date +%s) - start)) $(sed -n 's/.*Tested: [^0-9]*\([0-9]*\).*/\1/p' "$logs/$tool-$suite.out")" >>"$logs/done"
}
export -f check
end=$(($(date +%s) + ${TOMOSTAGE_SECONDS:-240}))
export end
for tool in $tools; do for suite in $suites; do echo "$tool $suite"; done; done |
    xargs -P "${TOMOSTAGE_JOBS:-8}" -n 2 bash -c 'check "$0" "$1"'
findings=0
printf '%-10s %-12s %9s %8s %6s\n' tool suite seconds tests code
while read -r tool suite code seconds n; do
    printf '%-10s %-12s %9s %8s %6s\n' "$tool" "$suite" "$seconds" "${n:--}" "$code"
    if [ "$code" != 0 ] || [ "${n:-0}" = 0 ] || grep -q 'SUMMARY: [1-9]' "$logs/$tool-$suite"-*.found; then
        findings=1
        case $code in
        124) echo "    not done in time; done: $(grep -c "PASS" "$logs/$tool-$suite.out") tests" ;;
        *) grep -l 'SUMMARY: [1-9]' "$logs/$tool-$suite"-*.found | xargs -r head -q -n 25; grep -E 'FAIL|CRASH' "$logs/$tool-$suite.out" ;;
        esac
    fi
done < <(sort "$logs/done")
[ -s "$logs/done" ] || findings=1
[ $findings = 0 ] && echo "no findings"
exit $findings
