#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests leave no folders behind, those that are skipped included; nor does the run, where tests failed.
# usage: test_folders.sh TESTS
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
export TMPDIR=$folder OMP_WAIT_POLICY=passive
"$1" --filter '@(device|run_cuda|hdf5)/*' >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }
grep -q 'Tested: [1-9]' "$folder/log" || { echo "no test was run" >&2; exit 1; }
left=$(find "$folder" -name 'tomostage-*')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
