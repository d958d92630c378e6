#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times handing an image of 1 GiB to and from other packages, and says whether the memory is the same.
usage: asarray.py [MiB]"""
import sys

import numpy

import tomostage as ts
from table import Table, host_microseconds, median_seconds

mib = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
space = numpy.zeros((mib << 20) + 64, numpy.uint8)  # at a multiple of 64, without which JAX copies
start = -space.ctypes.data % 64
values = space[start : start + (mib << 20)].view(numpy.float32).reshape(mib, 512, 512)
image = ts.asimage(values, spacing=(1, 0.5, 0.5), origin=(0, 0, 0))
table = Table(f"An image of {mib} MiB", "call", "us", "memory")


def row(name, call, address):
    made = call()
    table.row(name, host_microseconds(call, 200), "the same" if address(made) == values.ctypes.data else "COPIED")


def numpy_address(array):
    return numpy.asarray(array).__array_interface__["data"][0]


def with_torch():
    import torch

    row("torch.from_dlpack(image)", lambda: torch.from_dlpack(image), lambda tensor: tensor.data_ptr())
    tensor = torch.from_numpy(values)
    row("ts.asimage(tensor)", lambda: ts.asimage(tensor), lambda image: image.array.data_ptr())


def with_jax():
    import jax

    row("jax.numpy.from_dlpack(image)", lambda: jax.numpy.from_dlpack(image), lambda array: array.unsafe_buffer_pointer())


def with_cupy():
    import cupy

    there = ts.asimage(cupy.zeros((mib, 512, 512), "float32"))
    table.row("cupy.from_dlpack(image on the device)", host_microseconds(lambda: cupy.from_dlpack(there), 200),
              "the same" if cupy.from_dlpack(there).data.ptr == there.array.data.ptr else "COPIED")


def with_torch_cuda():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("no CUDA device")
    there = ts.asimage(torch.zeros((mib, 512, 512), device="cuda"))
    table.row("torch.from_dlpack(image on the device)", host_microseconds(lambda: torch.from_dlpack(there), 200),
              "the same" if torch.from_dlpack(there).data_ptr() == there.array.data_ptr() else "COPIED")


def with_sitk():
    import SimpleITK

    seconds, _ = median_seconds(image.to_sitk, 3)
    table.row("image.to_sitk()", seconds * 1e6, "copied, as SimpleITK always does")
    theirs = SimpleITK.GetImageFromArray(values[:8])
    made = ts.asimage(theirs)
    same = made.array.__array_interface__["data"][0] == SimpleITK.GetArrayViewFromImage(theirs).__array_interface__["data"][0]
    table.row("ts.asimage(SimpleITK image)", host_microseconds(lambda: ts.asimage(theirs), 200), "the same" if same else "COPIED")


def with_nibabel():
    import nibabel  # noqa: F401

    row("image.to_nibabel()", image.to_nibabel, lambda made: made.dataobj.__array_interface__["data"][0])


def with_xarray():
    import xarray  # noqa: F401

    row("image.to_xarray()", image.to_xarray, lambda made: made.values.__array_interface__["data"][0])


row("numpy.asarray(image)", lambda: numpy.asarray(image), numpy_address)
row("numpy.from_dlpack(image)", lambda: numpy.from_dlpack(image), numpy_address)
row("ts.asimage(array)", lambda: ts.asimage(values), lambda image: numpy_address(image.array))
seconds, _ = median_seconds(lambda: ts.memory(image).check("cpu"), 3)
table.row("a plan with it as input", seconds * 1e6, "")
for name, measure in (("PyTorch", with_torch), ("PyTorch on CUDA", with_torch_cuda), ("JAX", with_jax), ("CuPy", with_cupy),
                      ("SimpleITK", with_sitk), ("nibabel", with_nibabel), ("xarray", with_xarray)):
    table.peer(name, measure)
table.print()
