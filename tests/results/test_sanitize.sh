#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sanitize_cuda.sh tells apart what passed, found something, failed, was skipped, was left out and was not reached, and its
# shares are together the whole. With programs of a few lines in place of the GPU, compute-sanitizer and the tests.
# usage: test_sanitize.sh SOURCE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cat >"$folder/bin/nvidia-smi" <<'TEXT'
#!/bin/sh
TEXT
# --log-file F-%p.found ... TESTS -j1 --verbose --filter NAME. Finds what the tests plant.
cat >"$folder/bin/compute-sanitizer" <<'TEXT'
#!/usr/bin/env bash
while [ "$1" != --log-file ]; do [ "$1" != --tool ] || export TOOL=$2; shift; done
export FOUND=${2/\%p/1}
shift 2
# The shell above `timeout`, as one that runs out of memory would be killed.
case ${*: -1} in */kills_*) kill -KILL "$(cut -d ' ' -f 4 "/proc/$PPID/stat")" ;; esac
"$@"
TEXT
cat >"$folder/tests" <<'TEXT'
#!/usr/bin/env bash
if [ "$1" = --list ]; then
    printf 'box: 9 tests\n'
    printf '├── %s\n' on_the_cpu passes_on_cuda slow_on_cuda
    printf 'large: 1 test\n└── more_than_31_bits_of_pixels_and_16_of_slices_on_cuda\n'
    printf 'cuda_memory: 1 test\n└── leaks_where_it_is_asked_to\n'
    [ -z "${BAD:-}" ] || printf 'pad: 5 tests\n├── finds_on_cuda\n├── fails_on_cuda\n├── ends_on_cuda\n├── has_no_gpu_on_cuda\n'
    [ -z "${KILLED:-}" ] || printf 'pad: 1 test\n└── kills_on_cuda\n'
    [ -z "${SLEEPY:-}" ] || printf 'ring: 2 tests\n├── sleeps_on_cuda\n├── waits_on_cuda\n'
    exit
fi
name=${*: -1}
echo "$TOOL $name" >>"$RAN"
case $name in
*/slow_*) echo 'SKIPPED box/slow_on_cuda: too slow for tools' >&2; echo "[SKIP] ${name/\//::}: too slow" ;;
*/has_no_gpu*) echo 'SKIPPED: no CUDA driver' >&2; echo "[SKIP] ${name/\//::}: no CUDA device" ;;
*/finds_*) echo '========= ERROR SUMMARY: 1 error' >"$FOUND"; echo "[PASS] ${name/\//::}" ;;
*/fails_*) echo "[FAIL] ${name/\//::}"; exit 1 ;;
*/leaks_*) echo '========= LEAK SUMMARY: 8 bytes' >"$FOUND" ;;
*/ends_*) ;;
*/sleeps_*) sleep 30 ;;
*) echo "[SKIP] other::test: Test is disabled"; echo "stage: 3 images compared, 0 SKIPPED on this device" >&2; echo "[PASS] ${name/\//::}" ;;
esac
TEXT
chmod +x "$folder"/bin/* "$folder/tests"
fail() { echo "sanitize_cuda.sh: $1" >&2; cat "$folder/said" >&2; exit 1; }
suites=
run() { # EXPECTED-CODE [VARIABLE=VALUE]...
    local expected=$1 code=0
    shift
    : >"$folder/ran"
    env PATH="$folder/bin:$PATH" RAN="$folder/ran" TOMOSTAGE_JOBS=2 "$@" bash "$source/tests/sanitize_cuda.sh" "$folder/tests" "$suites" >"$folder/said" 2>&1 || code=$?
    [ $code = "$expected" ] || fail "exit code $code, not $expected"
}
says() { for text in "$@"; do grep -qxE "$text" "$folder/said" || fail "does not say '$text'"; done; }
source=$1

run 0
says 'no findings' ' *box/slow_on_cuda: too slow for tools' 'racecheck +1 +1 +[0-9]+' 'initcheck +2 +1 +[0-9]+' \
    'left out: racecheck large/.*: 2\^31 pixels.*'
! grep -q on_the_cpu "$folder/ran" || fail "runs what is not of the GPU"
sort "$folder/ran" | grep -v leaks >"$folder/whole"
[ "$(wc -l <"$folder/whole")" = 11 ] || fail "ran other than 3 tests by 4 tools, less one"

run 1 BAD=1
says 'racecheck pad/finds_on_cuda: exit code 0 .*' '=+ ERROR SUMMARY: 1 error' 'initcheck pad/fails_on_cuda: exit code 1 .*' \
    'memcheck pad/ends_on_cuda: exit code 0 .*' 'synccheck pad/has_no_gpu_on_cuda: exit code 0 .*, no CUDA device' \
    '16 runs with findings or failures, or not done' 'racecheck +1 +1 +[0-9]+'

run 1 SLEEPY=1 TOMOSTAGE_SECONDS=4 TOMOSTAGE_JOBS=1 TOMOSTAGE_TEST_SECONDS=2
says 'racecheck ring/sleeps_on_cuda: exit code 124 after [0-9]+ s, not done in time' 'not reached in time, [0-9]+:' ' *synccheck ring/waits_on_cuda'

# All of large, then the first of racecheck's: the third of those kills.
run 1 KILLED=1 TOMOSTAGE_JOBS=1
says 'never ran, or were killed: 10 of 15' '11 runs with findings or failures, or not done' 'racecheck +1 +1 +[0-9]+' 'synccheck +1 +0 +[0-9]+'

: >"$folder/shares"
for share in 1/3 2/3 3/3; do
    run 0 TOMOSTAGE_PART=$share
    says "part $share of the work, [34] of its runs"
    grep -v leaks "$folder/ran" >>"$folder/shares"
done
sort "$folder/shares" | cmp - "$folder/whole" || fail "three shares are not the whole"
run 2 TOMOSTAGE_PART=3/2
says 'TOMOSTAGE_PART=3/2: expected a share such as 1/3'

suites='box/passes_on_cuda large'
run 0
[ "$(grep -vc leaks "$folder/ran")" = 7 ] || fail "ran other than one test by 4 tools and one by 3"
suites='nosuch'
run 2
says 'no tests of: nosuch'
suites='box nosuch  bo large/none'
run 2
says 'no tests of: nosuch bo large/none'
[ ! -s "$folder/ran" ] || fail "ran tests beside unknown suites"
echo "sanitize_cuda.sh tells what it ran"
