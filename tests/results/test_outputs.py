#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads outputs of every format with the libraries that people use, and compares values and geometry with the HDF5 output of
the same run.

usage: test_outputs.py PROGRAM. The public images are found through TOMOSTAGE_DATA. Ends with 77, which counts as
skipped, where a module is missing; tests of data are left out, with a line that says so, where the data are."""
import sys

try:
    import outputs_dicom
    import outputs_files
    import outputs_netcdf
    import outputs_nifti
    import outputs_pictures
    import outputs_volumes
    from harness import run_tests
except ModuleNotFoundError as missing:
    if missing.name.startswith("outputs_"):
        raise
    print(f"SKIPPED: {missing}; ./bootstrap.sh test installs what the tests need")
    sys.exit(77)

sys.exit(run_tests())
