#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the documentation's example program on a phantom. usage: test_example.sh PROGRAM EXAMPLE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" phantom disc -o "$folder/study"
cat >"$folder/chain.yaml" <<YAML
tomostage: 2
input: {dicom: study}
stages:
  - box: {radius: 1}
output: {hdf5: out.h5}
YAML
"$2" "$folder/chain.yaml"
"$1" verify "$folder/out.h5"
if "$2" "$folder/missing.yaml" 2>"$folder/errors"; then
    echo "a missing chain was not refused" >&2
    exit 1
fi
grep -q 'missing.yaml' "$folder/errors"
