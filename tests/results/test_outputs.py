#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads outputs of every format with the libraries that people use, and compares values and geometry with the HDF5 output of
the same run.

usage: test_outputs.py PROGRAM. The public images are found through TOMOSTAGE_DATA. Ends with 77, which counts as
skipped, where a module is missing; tests of data are left out, with a line that says so, where the data are."""
import shutil
import sys
import tempfile

try:
    import outputs_dicom
    import outputs_files
    import outputs_nifti
    import outputs_pictures
    from outputs_support import TESTS, Skip
except ModuleNotFoundError as missing:
    if missing.name.startswith("outputs_"):
        raise
    print(f"SKIPPED: {missing}; ./bootstrap.sh test installs what the tests need")
    sys.exit(77)


def main():
    failed = skipped = 0
    for function in TESTS:
        folder = tempfile.mkdtemp()
        try:
            function(folder)
            print("passed:", function.__name__)
        except Skip:
            skipped += 1
            print("SKIPPED:", function.__name__, "- TOMOSTAGE_DATA is not set, or dcm2niix is missing")
        except AssertionError as error:
            failed += 1
            print("FAILED:", function.__name__, error)
        finally:
            shutil.rmtree(folder)
    print(f"{len(TESTS) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main())
