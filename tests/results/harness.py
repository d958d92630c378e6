# SPDX-License-Identifier: Apache-2.0
"""Tests of the built program in functions: each has a folder of its own, and one that cannot run raises Skip with the reason.

The first argument of the script is the program. The public images are found through TOMOSTAGE_DATA."""
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PROGRAM = os.path.abspath(sys.argv[1])
DATA = os.environ.get("TOMOSTAGE_DATA")
TESTS = []


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


def need_data():
    if not DATA:
        raise Skip("TOMOSTAGE_DATA is not set")
    return DATA


def run(*arguments, expect=0, cwd=None):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, errors="replace", cwd=cwd)
    assert expect in (done.returncode, None), f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stderr}"
    return done


def digest(path):
    """The digest of a file, or of all files of a folder."""
    found = hashlib.sha256()
    names = [path] if os.path.isfile(path) else sorted(os.path.join(a, n) for a, _, names in os.walk(path) for n in names)
    assert names, f"{path} is missing"
    for name in names:
        found.update(os.path.relpath(name, path).encode())
        with open(name, "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def write_nifti(path, volumes, nz, ny, nx, value):
    """Writes floats; value(v, z, i) gives those of a slice."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4 if volumes > 1 else 3, nx, ny, nz, volumes, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<8f", header, 76, 1, 1, 1, 2, 1.5, 0, 0, 0)
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    header[123] = 2 | 8
    struct.pack_into("<2h", header, 252, 0, 1)
    for row in range(3):
        struct.pack_into("<4f", header, 280 + 16 * row, *[(row == k) * (2 if k == 2 else 1) for k in range(4)])
    header[344:348] = b"n+1\0"
    with open(path, "wb") as file:
        file.write(header)
        for v in range(volumes):
            for z in range(nz):
                file.write(struct.pack(f"<{ny * nx}f", *(value(v, z, i) for i in range(ny * nx))))


def try_test(function):
    """Its line, which begins with what became of it."""
    folder = tempfile.mkdtemp(prefix="tomostage-results-")
    try:
        function(folder)
        return f"ok      {function.__name__}"
    except Skip as reason:
        return f"SKIPPED {function.__name__}: {reason}"
    except Exception as error:
        return f"FAILED  {function.__name__}: {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_tests(names=(), threads=1):
    """Runs the named tests, or all, prints a line for each and one that counts them, and returns the exit code."""
    chosen, began = [function for function in TESTS if function.__name__ in names or not names], []
    with ThreadPoolExecutor(threads) as pool:
        for line in pool.map(try_test, chosen):
            began.append(line[0])
            print(line, flush=True)
    passed, failed, skipped = (began.count(letter) for letter in "oFS")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0
