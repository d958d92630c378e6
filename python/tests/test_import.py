# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import pytest

import tomostage as ts


def python(text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_import_is_light_and_silent():
    """What takes long to import is imported when it is used, and no driver is loaded."""
    text = """
import sys
before = set(sys.modules)
import tomostage
new = {name.partition(".")[0] for name in set(sys.modules) - before}
heavy = {"numpy", "torch", "h5py", "scipy", "pandas", "xarray", "inspect", "dataclasses"} & new
assert not heavy, heavy
assert len(set(sys.modules) - before) < 60, sorted(set(sys.modules) - before)
assert "libcuda" not in open("/proc/self/maps").read()
"""
    assert python(text) == ""


def test_a_run_is_silent(ct):
    assert python(f"import tomostage as ts; (ts.dicom({ct!r}) | ts.box(radius=2)).run('cpu')") == ""


def test_orders_of_import():
    """Two orders, in which each package comes before and after each other; import_orders.py has all."""
    script = pathlib.Path(__file__).with_name("import_orders.py")
    done = subprocess.run([sys.executable, script, "--two"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    if "not installed" in done.stdout:
        pytest.skip(done.stdout.splitlines()[0])


def test_all_that_is_public_is_there_and_documented():
    for name in ts.__all__:
        thing = getattr(ts, name)
        assert thing.__doc__, name
    assert ts.box.__wrapped__.__kwdefaults__["border"] is None
    assert "half width" in ts.box.__doc__


def test_versions_are_those_of_the_library():
    from importlib.metadata import version

    assert ts.__version__ == version("tomostage")
