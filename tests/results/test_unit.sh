#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all unit tests with a temporary folder of their own, in which they leave no folders behind, those that are skipped
# included; nor does the run, where tests failed. In a build without CUDA code the tests of CUDA would each start a process
# and skip themselves: they are left out together. What failed is printed first, because whoever reads the output of a
# thousand tests may see its beginning alone.
# TOMOSTAGE_TESTS_WITHOUT in the environment names tests that are left out: patterns with | between them.
# usage: test_unit.sh TESTS [cpu]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
code=0 without=${TOMOSTAGE_TESTS_WITHOUT:-}
if [ "${2:-}" = cpu ]; then
    without+=${without:+|}*_on_cuda
    echo "SKIPPED $("$1" --list | grep -c _on_cuda) tests of CUDA: this build has no CUDA code"
fi
TMPDIR=$folder TOMOSTAGE_TESTS_WITHOUT=$without "$1" >"$folder/log" 2>&1 || code=1
grep -E '^\[(FAIL|CRASH|TIMEOUT|----|====)' "$folder/log" || true
grep -E '^SKIPPED' "$folder/log" | sort | uniq -c || true
grep -vE '^SKIPPED' "$folder/log" || true
grep -q 'Tested: [1-9]' "$folder/log" || { echo "no test was run" >&2; exit 1; }
left=$(find "$folder" -name 'tomostage-*')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
exit $code
