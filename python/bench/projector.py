#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times A(x) and A.T(y) of parallel rays: what a call costs the host, and a batch on the device, beside ASTRA, diffct and
torch-radon where these are installed. A peer counts only if its sinogram is ours.
usage: projector.py [--device cuda] [--batch 128] [--size 256] [--views 256]"""
import argparse

import numpy

import tomostage as ts
from table import Table, host_microseconds, median_seconds

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--device", default=None, help="cuda or cpu (default: cuda if there is one)")
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--size", type=int, default=256)
parser.add_argument("--views", type=int, default=256)
given = parser.parse_args()
try:
    import torch
except ImportError:
    torch = None
device = given.device or ("cuda" if torch is not None and torch.cuda.is_available() else "cpu")
shape, views = (given.size, given.size), given.views
detectors = int(numpy.ceil(given.size * 2**0.5 / 2)) * 2
rays = ts.rays.parallel([i * 180 / views for i in range(views)], detectors, 1.0)
A = ts.Projector(shape, rays)
image = numpy.zeros((given.batch, *shape), numpy.float32)
image[:, given.size // 4 : given.size // 2, given.size // 3 : given.size // 2] = 1
image[:, given.size // 3, given.size // 4 : 3 * given.size // 4] = 1


def seconds_of(call):
    """Returns the seconds of one call on the device: by events on CUDA, else by the clock."""
    if device == "cpu":
        return median_seconds(call)[0]
    call()
    torch.cuda.synchronize()
    begin, end, times = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True), []
    for _ in range(7):
        begin.record()
        for _ in range(5):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 5e3)
    return sorted(times)[3]


# ---- the host

host = Table(f"What a call costs the host, in us, on {device}", "call", "us")
small = ts.Projector((16, 16), ts.rays.parallel(8))


def host_rows(kind, x):
    y = small(x)
    back = small.T
    host.row(f"A(x, out) of {kind}, 16 x 16, 8 views", host_microseconds(lambda: small(x, out=y)))
    host.row(f"A(x) of {kind}", host_microseconds(lambda: small(x)))
    host.row(f"A.T(y, out) of {kind}", host_microseconds(lambda: back(y, out=x)))


def host_torch():
    x = torch.rand(16, 16, device=device)
    host_rows("PyTorch", x)
    layer = small.torch()
    host.row("a layer of PyTorch", host_microseconds(lambda: layer(x), 500))


def host_jax():
    import jax

    layer = jax.jit(small.jax())
    x = jax.device_put(jax.numpy.ones((16, 16)), jax.devices(device)[0])
    host.row("jit(A.jax()) of JAX, until it is done", host_microseconds(lambda: layer(x).block_until_ready(), 500))


def host_cupy():
    import cupy

    if device == "cpu":
        raise ImportError("it has arrays of CUDA devices only")
    host_rows("CuPy", cupy.ones((16, 16), "float32"))


host_rows("NumPy, on the CPU", numpy.ones((16, 16), numpy.float32))
host.peer("PyTorch", host_torch if torch is not None else lambda: __import__("torch"))
host.peer("CuPy", host_cupy)
host.peer("JAX", host_jax)
host.print()

# ---- a batch

table = Table(f"{given.batch} images of {given.size} x {given.size}, {views} views, {detectors} detectors, on {device}",
              "package", "forward, ms", "back, ms", "images/s", "correlation")
expected = A(image[:1])[0]


def counted(name, forward, back, sinogram):
    there, here = seconds_of(forward), seconds_of(back)
    same = float(likeness(numpy.asarray(sinogram, numpy.float64)))
    note = f"{same:.6f}" if same > 0.99 else f"{same:.4f}: ANOTHER GEOMETRY, not comparable"
    table.row(name, there * 1e3, here * 1e3, given.batch / there, note)


def likeness(sinogram):
    """Returns the correlation with our sinogram, of the detector as it is or turned round, which a peer may have otherwise."""
    return max(numpy.corrcoef(one.ravel(), expected.ravel())[0, 1] for one in (sinogram, sinogram[:, ::-1]))


def best_sense(make):
    """Returns make(sense) of the sense of rotation, 1 or -1, whose sinogram is ours: its first entry."""
    return max((make(sense) for sense in (1, -1)), key=lambda made: likeness(made[0]))


def ours():
    x = image if torch is None else torch.from_numpy(image).to(device)
    y = A(x)
    z = A.T(y)
    first = y[0] if torch is None else y[0].cpu().numpy()
    counted("tomostage", lambda: A(x, out=y), lambda: A.T(y, out=z), first)


def astra_cuda():
    """A stack of slices, as the 3D projector of ASTRA takes them from tensors."""
    import astra
    from astra import experimental

    x = torch.from_numpy(image).to(device)
    y = torch.empty(given.batch, views, detectors, device=device)
    z = torch.empty_like(x)

    def make(sense):
        geometry = astra.create_proj_geom("parallel3d", 1.0, 1.0, given.batch, detectors, sense * numpy.radians(_angles()))
        projector = astra.create_projector("cuda3d", geometry, astra.create_vol_geom(given.size, given.size, given.batch))
        experimental.direct_FP3D(projector, x, y)
        torch.cuda.synchronize()
        return y[0].cpu().numpy(), projector

    first, projector = best_sense(make)
    counted(f"ASTRA {astra.__version__} (cuda3d)", lambda: experimental.direct_FP3D(projector, x, y),
            lambda: experimental.direct_BP3D(projector, z, y), first)


def astra_cpu():
    import astra

    projector = astra.create_projector("linear", astra.create_proj_geom("parallel", 1.0, detectors, numpy.radians(_angles())),
                                       astra.create_vol_geom(given.size, given.size))
    operator = astra.OpTomo(projector)
    y = numpy.empty((given.batch, views, detectors), numpy.float32)
    z = numpy.empty_like(image)

    def forward():
        for i in range(given.batch):
            operator.FP(image[i], out=y[i])

    def back():
        for i in range(given.batch):
            operator.BP(y[i], out=z[i])

    forward()
    counted(f"ASTRA {astra.__version__} (linear, one image a call)", forward, back, y[0])


def diffct():
    import diffct

    x = torch.from_numpy(image).to(device)

    def project(frames):
        return [diffct.ParallelProjectorFunction.apply(one, *frames, detectors, 1.0, 1.0) for one in x]

    def make(sense):
        angles = torch.tensor(sense * numpy.radians(_angles()), dtype=torch.float32, device=device)
        frames = diffct.circular_trajectory_2d_parallel(angles)
        sinograms = project(frames)
        return sinograms[0].cpu().numpy(), frames, sinograms

    first, frames, sinograms = best_sense(make)
    counted("diffct (one image a call)", lambda: project(frames),
            lambda: [diffct.ParallelBackprojectorFunction.apply(one, *frames, 1.0, given.size, given.size, 1.0)
                     for one in sinograms], first)


def torch_radon():
    import torch_radon

    x = torch.from_numpy(image).to(device)

    def make(sense):
        angles = torch.tensor(sense * numpy.radians(_angles()), dtype=torch.float32, device=device)
        parallel = getattr(torch_radon, "ParallelBeam", None)
        operator = parallel(detectors, angles) if parallel else torch_radon.Radon(given.size, angles, det_count=detectors)
        y = operator.forward(x)
        return y[0].cpu().numpy(), operator, y

    first, operator, y = best_sense(make)
    back = getattr(operator, "backward", None) or operator.backprojection
    counted("torch-radon", lambda: operator.forward(x), lambda: back(y), first)


def _angles():
    return [i * 180 / views for i in range(views)]


table.peer("tomostage", ours)
table.peer("ASTRA", astra_cpu if device == "cpu" else astra_cuda)
for name, measure in (("diffct", diffct), ("torch-radon", torch_radon)):
    if device == "cpu":
        table.missing.append(f"{name}: has no code for the CPU")
    else:
        table.peer(name, measure)
table.print()
