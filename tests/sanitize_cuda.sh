#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the CUDA code under compute-sanitizer (memcheck, racecheck, initcheck, synccheck), on fewer cases than
# usual, several side by side. Fails where a tool finds anything, memory that was not given back too, where a test fails,
# does not end, was not reached in time or never ran, and where nothing ran. Lists what skips itself, and why.
# usage: sanitize_cuda.sh [TESTS] [SUITES] [TOOLS]
#   TESTS   the test program; "": the one of the bundle or of the build
#   SUITES  "box radon/agrees_with_the_oracle_on_cuda", suites or tests; "": all that have tests of the CUDA code, but for
#           those that time or count memory
#   TOOLS   "memcheck"; "": all four
# environment: TOMOSTAGE_JOBS processes side by side (8), TOMOSTAGE_SECONDS for all of them (1500; all take about 1,200
# with 8), TOMOSTAGE_TEST_SECONDS for one of them (200), TOMOSTAGE_PART=1/3 for the first of three shares of the work,
# where one command may not take as long as all of it: the three together are all.
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
tools=${3:-racecheck initcheck memcheck synccheck}
part=${TOMOSTAGE_PART:-1/1}
if ! [[ $part =~ ^[1-9][0-9]?/[1-9][0-9]?$ ]] || [ "${part%/*}" -gt "${part#*/}" ]; then
    echo "TOMOSTAGE_PART=$part: expected a share such as 1/3" >&2
    exit 2
fi

# Too slow for one tool: "tool test reason". They run under the others.
left_out() {
    cat <<'TEXT'
racecheck large/more_than_31_bits_of_pixels_and_16_of_slices_on_cuda 2^31 pixels: had not ended after 198 s
racecheck run_cuda/a_reference_of_another_height_reaches_the_map whole chains, slice by slice: had not ended after 99 s
racecheck run_cuda/chains_give_the_same_on_both_devices whole chains, slice by slice: had not ended after 86 s
TEXT
}
# Tests that took longest, under any tool, begin first, so that nothing long is left for the end.
longest='^(fan_in_study|radon_studies|large|run_cuda)/|/(gives_the_same_bytes|agrees_in_every_grouping|agrees_with_the_(oracle|definition)|matches_a_reference|distances_to|every_merge|a_warp_adds|stays_where)'

# Tests are left out that lose the device or run out of its memory on purpose, and those that take long.
# Suites stand as "box: 3 tests", their tests below, each behind a branch of the tree.
names=$("$tests" --list | sed 's/\x1b\[[0-9;]*m//g' |
    awk '/^[a-z0-9_]+:/ {sub(":.*", ""); suite = $0; next}
        suite == "run_cuda" ? !/lost|too_little_memory|real_series/ : /_on_cuda/ && suite !~ /^(bench|bench_error|cuda_memory)$/ {print suite "/" $NF}')
read -ra suites <<<"${2:-}"
unknown=()
for suite in "${suites[@]}"; do
    grep -qE "^($suite)(/|\$)" <<<"$names" || unknown+=("$suite")
done
[ -n "$names" ] || { echo "no tests of the CUDA code in '$tests'" >&2; exit 2; }
[ ${#unknown[@]} = 0 ] || { echo "no tests of: ${unknown[*]}" >&2; exit 2; }
if [ ${#suites[@]} -gt 0 ]; then
    names=$(grep -E "^($(IFS='|' && echo "${suites[*]}"))(/|\$)" <<<"$names")
fi
# The tests of one tool after the other, the long ones of all tools first; of these lines each share takes every third.
work=$(for tool in $tools; do grep -E "$longest" <<<"$names" | sed "s/\$/ $tool/"; done
    for tool in $tools; do grep -vE "$longest" <<<"$names" | sed "s/\$/ $tool/"; done)
work=$(grep . <<<"$work" | grep -vxFf <(left_out | awk '{print $2, $1}') |
    awk -v part="${part%/*}" -v parts="${part#*/}" 'NR % parts == part % parts')

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
touch "$logs/done" "$logs/not_reached"
end=$(($(date +%s) + ${TOMOSTAGE_SECONDS:-1500}))
limit=${TOMOSTAGE_TEST_SECONDS:-200}
export TOMOSTAGE_TESTS_FEW=1 TOMOSTAGE_TESTS_LEAKS=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive tests sanitizer logs end limit
# Appends to $logs/done: tool, test, exit code, seconds, passed?, findings, and why it was skipped.
# shellcheck disable=SC2016,SC2317  # called through xargs
check() {
    local name=$1 tool=$2 start log code left reason at_length options=()
    [ "$tool" != memcheck ] || options=(--leak-check full)
    start=$(date +%s)
    left=$((end - start))
    if [ $left -le 1 ]; then
        echo "$tool $name" >>"$logs/not_reached"
        return
    fi
    log=$logs/$tool-${name/\//-}
    # The test is a process of its own, started by Criterion: each process has a log.
    timeout $((left < limit ? left : limit)) "$sanitizer" --tool "$tool" "${options[@]}" --target-processes all --error-exitcode 77 \
        --print-limit 20 --log-file "$log-%p.found" "$tests" -j1 --verbose --filter "$name" >"$log.out" 2>&1
    code=$?
    # "[SKIP] suite::test: reason", and at more length in a line of its own, which may say of a part alone that it is.
    reason=$(sed -n "s/\x1b\[[0-9;]*m//g; s/^\[SKIP\] ${name/\//::}: //p" "$log.out")
    if [ -n "$reason" ] && [[ ! $reason =~ ^no\ CUDA ]]; then
        at_length=$(sed -n 's/^SKIPPED[^:]*: //p' "$log.out" | tail -n 1)
        reason=${at_length:-$reason}
    fi
    echo "$tool $name $code $(($(date +%s) - start)) $(grep -cF '[PASS]' "$log.out")" \
        "$(cat "$log"-*.found 2>/dev/null | grep -c 'SUMMARY: [1-9]') $reason" >>"$logs/done"
}
export -f check
bad=0
if [[ " $tools " == *" memcheck "* ]]; then
    # This test leaks on purpose: else nothing would say that memcheck finds leaks.
    TOMOSTAGE_TESTS_LEAK=1 check cuda_memory/leaks_where_it_is_asked_to memcheck
    grep -q 'LEAK SUMMARY: [1-9]' "$logs"/memcheck-cuda_memory-leaks*.found || { echo "memcheck did not find a leak that is there" && bad=1; }
    sed -i '/leaks_where_it_is_asked_to/d' "$logs/done"
fi
# It stops where a child dies of a signal, and begins none of those that are left.
# shellcheck disable=SC2016  # the shells that it starts expand them
[ -z "$work" ] || xargs -P "${TOMOSTAGE_JOBS:-8}" -n 2 bash -c 'check "$0" "$1"' <<<"$work" || bad=$((bad + 1))
while read -r tool name code seconds passed found reason; do
    if [ "$code$found" = 00 ]; then
        [ "$passed" = 0 ] || continue
        # There is a GPU: that none was found is no reason.
        if [ -n "$reason" ] && [[ ! $reason =~ ^no\ CUDA ]]; then
            echo "$tool $name: $reason" >>"$logs/skipped"
            continue
        fi
    fi
    bad=$((bad + 1))
    echo "$tool $name: exit code $code after $seconds s$([ "$code" != 124 ] || echo ', not done in time')${reason:+, $reason}"
    log=$logs/$tool-${name/\//-}
    grep -sl 'SUMMARY: [1-9]' "$log"-*.found | xargs -r head -q -n 25
    grep -E 'FAIL|CRASH' "$log.out"
done < <(sort "$logs/done")
if [ -s "$logs/not_reached" ]; then
    bad=$((bad + $(wc -l <"$logs/not_reached")))
    echo "not reached in time, $(wc -l <"$logs/not_reached"):"
    sort "$logs/not_reached" | sed 's/^/    /'
fi
wanted=$(grep -c . <<<"$work")
never=$((wanted - $(cat "$logs/done" "$logs/not_reached" | wc -l)))
if [ $never != 0 ]; then
    bad=$((bad + never))
    echo "never ran, or were killed: $never of $wanted"
fi
printf '%-10s %6s %7s %8s\n' tool passed skipped seconds
touch "$logs/skipped"
for tool in $tools; do
    printf '%-10s %6d %7d %8d\n' "$tool" "$(awk -v tool="$tool" '$1 == tool && $3 == 0 && $5 > 0 && $6 == 0' "$logs/done" | wc -l)" \
        "$(grep -c "^$tool " "$logs/skipped")" "$(awk -v tool="$tool" '$1 == tool {s += $4} END {print s}' "$logs/done")"
done
echo "the longest:" && sort -k4 -rn "$logs/done" | head -n 8 | awk '{print "    " $1, $2, $4 " s"}'
[ ! -s "$logs/skipped" ] || { echo "skipped:" && sed 's/^[a-z]* /    /' "$logs/skipped" | sort -u; }
left_out | while read -r tool name reason; do
    [[ " $tools " != *" $tool "* ]] || ! grep -qxF "$name" <<<"$names" || echo "left out: $tool $name: $reason"
done
[ "$part" = 1/1 ] || echo "part $part of the work, $wanted of its runs"
grep -qE '^[^ ]+ [^ ]+ [0-9]+ [0-9]+ [1-9]' "$logs/done" || { echo "nothing ran" >&2; exit 1; }
[ $bad = 0 ] || { echo "$bad runs with findings or failures, or not done"; exit 1; }
echo "no findings"
