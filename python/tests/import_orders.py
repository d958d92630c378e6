#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports tomostage, PyTorch, CuPy, h5py and SimpleITK in each of their 120 orders, in a fresh process each, and has all of them do
something: libraries that are in several of them (HDF5, OpenMP, CUDA) must not get into each other's way. Packages that are not
installed are named, and the orders of the others are run.
usage: import_orders.py [--two]    --two: one order and its reverse"""
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PACKAGES = ("tomostage", "torch", "cupy", "h5py", "SimpleITK")
USES = """
import numpy, os, sys, tempfile
x = numpy.random.default_rng(0).random((4, 32, 32), numpy.float32)
def use_tomostage():
    smooth = tomostage.gaussian(x, sigma=1)
    with tempfile.TemporaryDirectory() as folder:
        result = (tomostage.memory(x) | tomostage.box(radius=1)).run("cpu", write=os.path.join(folder, "r.h5"))
        assert numpy.array_equal(tomostage.read(os.path.join(folder, "r.h5")).array, result["data"])
        if "h5py" in sys.modules:
            with h5py.File(os.path.join(folder, "r.h5")) as file:
                assert numpy.array_equal(file["entry/data/data"][()], result["data"])
def use_torch():
    assert torch.allclose(torch.from_numpy(x) @ torch.eye(32), torch.from_numpy(x))
    if torch.cuda.is_available():
        there = torch.from_numpy(x).cuda()
        assert torch.allclose(there @ torch.eye(32, device="cuda"), there)
        try:
            made = tomostage.box(there, radius=1)
        except tomostage.ChainError as error:
            assert "no CUDA code" in str(error)
        else:
            assert torch.allclose(made.cpu(), torch.from_numpy(tomostage.box(x, radius=1)), atol=1e-5)
def use_cupy():
    assert float(cupy.asarray(x).sum()) > 0
def use_h5py():
    with tempfile.TemporaryDirectory() as folder, h5py.File(os.path.join(folder, "a.h5"), "w") as file:
        file.create_dataset("a", data=x, compression="gzip")
        assert numpy.array_equal(file["a"][()], x)
def use_SimpleITK():
    assert SimpleITK.GetArrayFromImage(SimpleITK.Mean(SimpleITK.GetImageFromArray(x))).shape == x.shape
"""


def installed(name):
    done = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True)
    return done.returncode == 0


def run(order):
    """Returns the order and what went wrong, or None. The packages are used in the order of their import, and in its reverse."""
    uses = "; ".join(f"use_{name}()" for name in (*order, *reversed(order)))
    text = "\n".join([*(f"import {name}" for name in order), USES, uses, "print('done')"])
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    return order, None if done.returncode == 0 and done.stdout == "done\n" else f"exit code {done.returncode}\n{done.stderr[-2000:]}"


def main():
    there = [name for name in PACKAGES if installed(name)]
    missing = [name for name in PACKAGES if name not in there]
    if missing:
        print(f"not installed, and so not among the orders: {', '.join(missing)}")
    if "tomostage" not in there:
        sys.exit("tomostage cannot be imported")
    orders = [tuple(there), tuple(reversed(there))] if "--two" in sys.argv else list(itertools.permutations(there))
    with ThreadPoolExecutor(max_workers=max(1, min(8, (os.cpu_count() or 2) // 2))) as pool:
        wrong = [(order, error) for order, error in pool.map(run, orders) if error]
    for order, error in wrong:
        print(f"FAILED: {', '.join(order)}: {error}")
    print(f"{len(orders) - len(wrong)} of {len(orders)} orders of {', '.join(there)} work")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
