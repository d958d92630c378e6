# SPDX-License-Identifier: Apache-2.0
"""Tests of the built program in functions: each has a folder of its own, and one that cannot run raises Skip with the reason.

The first argument of the script is the program. The public images are found through TOMOSTAGE_DATA."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

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


def run_tests():
    """Runs all tests, prints a line for each and one that counts them, and returns the exit code."""
    passed = failed = skipped = 0
    for function in TESTS:
        folder = tempfile.mkdtemp(prefix="tomostage-results-")
        try:
            function(folder)
            passed += 1
            print(f"ok      {function.__name__}")
        except Skip as reason:
            skipped += 1
            print(f"SKIPPED {function.__name__}: {reason}")
        except Exception as error:
            failed += 1
            print(f"FAILED  {function.__name__}: {type(error).__name__}: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0
