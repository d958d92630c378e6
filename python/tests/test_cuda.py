# SPDX-License-Identifier: Apache-2.0
"""Arrays on a CUDA device, of PyTorch, CuPy and JAX. Without a device, or a build for one, nothing of it is tested."""
import json
import os
import subprocess
import sys

import numpy
import pytest

import tomostage as ts
from tomostage.results import program

torch = pytest.importorskip("torch", reason="!!!! no PyTorch: NOTHING IS TESTED ON A CUDA DEVICE !!!!")
if not torch.cuda.is_available():
    pytest.skip("!!!! no CUDA device: NOTHING IS TESTED ON A CUDA DEVICE !!!!", allow_module_level=True)
try:
    (ts.memory(numpy.zeros((1, 4, 4), "uint8")) | ts.box(radius=1)).check("cuda")
except ts.ChainError as error:
    if "no CUDA code" in str(error):
        pytest.skip("!!!! this build has no CUDA code: NOTHING IS TESTED ON A CUDA DEVICE !!!!", allow_module_level=True)

DEVICE = "cuda:0"


def random(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


def same(a, b, tolerance=1e-5):
    return torch.allclose(a.cpu(), torch.as_tensor(b).cpu(), rtol=tolerance, atol=tolerance)


# ---- stages


def test_a_tensor_stays_where_it_is():
    x = random(4, 64, 48)
    there = ts.gaussian(x.to(DEVICE), sigma=1.5)
    assert there.device == torch.device(DEVICE) and there.dtype == torch.float32
    assert same(there, ts.gaussian(x, sigma=1.5))
    whole = (1000 * x).to(torch.int16)
    assert torch.equal(ts.box(whole.to(DEVICE), radius=2).cpu(), ts.box(whole, radius=2))


def test_a_slice_and_a_batch_of_volumes():
    x = random(2, 3, 4, 32, 32)
    assert same(ts.gaussian(x.to(DEVICE), sigma=1.5, dimensions="3d"), ts.gaussian(x, sigma=1.5, dimensions="3d"))
    assert same(ts.gaussian(x[0, 0, 0].to(DEVICE), sigma=1.5), ts.gaussian(x[0, 0, 0], sigma=1.5))


def test_fbp_of_a_tensor():
    angles = numpy.arange(90) * 2.0
    sinogram = ts.radon(random(3, 64, 64).to(DEVICE), angles=angles)
    assert sinogram.device == torch.device(DEVICE) and sinogram.shape[:2] == (3, 90)
    assert same(ts.fbp(sinogram, angles=angles), ts.fbp(sinogram.cpu(), angles=angles), 1e-3)


def test_the_callers_stream_is_waited_for():
    stream, x = torch.cuda.Stream(), random(8, 512, 512).to(DEVICE)
    torch.cuda.synchronize()
    for _ in range(5):
        with torch.cuda.stream(stream):
            y = x.clone()
            for _ in range(50):
                y = y * 1.01 - 0.01 * y  # keeps the stream busy while the call begins
            there = ts.box(y, radius=1)
            stream.synchronize()
            assert same(there, ts.box(y.cpu(), radius=1))


def test_nothing_is_copied():
    x = random(16, 256, 256).to(DEVICE)
    ts.box(x, radius=1)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    there = ts.box(x, radius=1)
    assert torch.cuda.max_memory_allocated() - before == there.nbytes == x.nbytes


def test_a_chain_on_tensors_has_the_digest_of_the_program(ct, tmp_path):
    image = ts.read(ct)
    chain = ts.memory(torch.from_numpy(image.array).to(DEVICE)) | ts.box(radius=2) | ts.save(name="smooth") | ts.invert()
    result = chain.run()
    assert result["smooth"].device == torch.device(DEVICE)
    done = subprocess.run([program(), "run", f"dicom {ct} | box radius=2 | save name=smooth | invert", "-o", tmp_path / "r.h5",
                           "--device", "cuda", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with ts.open(tmp_path / "r.h5") as file:
        assert file["smooth"].attrs["sha256_tree"].decode() == ts.digest(result["smooth"])
        assert file["data"].attrs["sha256_tree"].decode() == result.digest


def test_images_go_to_tensors_of_the_caller():
    x = random(4, 32, 32).to(DEVICE)
    out = torch.empty_like(x)
    result = (ts.memory(x) | ts.box(radius=1)).run(out={"data": out})
    assert result["data"] is out and same(out, ts.box(x.cpu(), radius=1))
    there = (ts.memory(x.cpu()) | ts.box(radius=1)).run("cuda", out={"data": out})
    assert there["data"] is out
    assert (ts.memory(x.cpu()) | ts.box(radius=1)).run("cuda")["data"].device.type == "cpu"


def test_what_a_device_cannot_have_is_refused():
    x = random(4, 32, 32).to(DEVICE)
    with pytest.raises(ts.ChainError) as error:
        ts.box(x[:, ::2], radius=1)
    assert error.value.records[0].code == "memory-array"
    with pytest.raises(ts.ChainError):
        (ts.memory(x) | ts.box(radius=1)).run("cpu")
    with pytest.raises(TypeError, match="float64"):
        ts.box(x.double(), radius=1)


def test_an_image_of_a_device():
    image = ts.asimage(random(2, 8, 8).to(DEVICE), spacing=2)
    assert image.__dlpack_device__() == (2, 0) and image.__cuda_array_interface__["shape"] == (2, 8, 8)
    assert torch.from_dlpack(image).data_ptr() == image.array.data_ptr()
    assert isinstance(ts.box(image, radius=1).array, torch.Tensor)


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = random(4, 64, 48).numpy()
    there = ts.gaussian(cupy.asarray(x), sigma=1.5)
    assert isinstance(there, cupy.ndarray)
    assert cupy.asnumpy(there) == pytest.approx(ts.gaussian(x, sigma=1.5), abs=1e-5)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = cupy.asarray(x) * 2
        there = ts.box(y, radius=1)
        stream.synchronize()
    assert cupy.asnumpy(there) == pytest.approx(ts.box(2 * x, radius=1), abs=1e-5)
    assert isinstance(cupy.asarray(ts.asimage(cupy.asarray(x))), cupy.ndarray)
    A = ts.Projector((64, 48), ts.rays.parallel(20))
    assert cupy.asnumpy(A(cupy.asarray(x))) == pytest.approx(A(x), abs=1e-3)


def test_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of the memory
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no device here")
    x = random(4, 64, 48).numpy()
    there = ts.gaussian(jax.numpy.asarray(x), sigma=1.5)
    assert isinstance(there, jax.Array) and next(iter(there.devices())).platform == "gpu"
    assert numpy.asarray(there) == pytest.approx(ts.gaussian(x, sigma=1.5), abs=1e-5)


# ---- projectors


def test_a_projector_on_a_device():
    A = ts.Projector((48, 40), ts.rays.parallel(30))
    x = random(2, 5, 48, 40)
    y = A(x.to(DEVICE))
    assert y.device == torch.device(DEVICE) and y.shape == (2, 5, *A.out_shape) and same(y, A(x), 1e-4)
    assert same(A.T(y), A.T(y.cpu()), 1e-4) and same(A.normal(x.to(DEVICE)), A.normal(x), 1e-3)
    out = torch.empty_like(y)
    assert A(x.to(DEVICE), out=out) is out and torch.equal(out, y)
    u, v = random(*A.in_shape).to(DEVICE), random(*A.out_shape).to(DEVICE)
    assert torch.dot(A(u).ravel(), v.ravel()).item() == pytest.approx(torch.dot(u.ravel(), A.T(v).ravel()).item(), rel=1e-5)


def test_a_projector_follows_streams_and_graphs():
    A, x = ts.Projector((64, 64), ts.rays.parallel(60)), random(4, 64, 64).to(DEVICE)
    expected = A(x)
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    made = []
    for stream in streams:
        with torch.cuda.stream(stream):
            made.append(A(x * 1))
    torch.cuda.synchronize()
    assert all(torch.equal(y, expected) for y in made)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        out = A(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            A(x, out=out)
        out.zero_()
        graph.replay()
        stream.synchronize()
    assert torch.equal(out, expected)


def test_gradients_on_a_device():
    layer = ts.Projector((6, 5), ts.rays.parallel(4, 9)).torch()
    x = random(2, 6, 5).to(DEVICE).requires_grad_()
    assert torch.autograd.gradcheck(layer, x, eps=0.5, atol=1e-3, rtol=1e-3)
    first, second = (torch.autograd.grad((layer(x) ** 2).sum(), x)[0] for _ in range(2))
    assert torch.equal(first, second)
    torch.library.opcheck(torch.ops.tomostage.project.default, (x, id(layer.projector), False),
                          test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
    with torch.autocast("cuda", torch.float16):
        assert layer(x.half()).dtype == torch.float32
    compiled = torch.compile(lambda x: 2 * layer(x), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), 2 * layer(x))


def test_memory_does_not_grow():
    A, x = ts.Projector((64, 64), ts.rays.parallel(60)), random(4, 64, 64).to(DEVICE)

    def some(n):
        for _ in range(n):
            A(x)
            if n > 1000 and _ % 50 == 0:
                ts.box(x, radius=1)
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    some(100)
    ts.box(x, radius=1)
    before = some(100)
    assert before - some(10000) < 8 << 20


def test_import_orders():
    left = []
    for order in ("torch, tomostage", "tomostage, torch", "cupy, tomostage, torch", "tomostage, cupy, torch", "h5py, tomostage"):
        if any(subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode
               for name in order.split(", ")):
            left.append(order)
            continue
        text = f"import {order}, torch, tomostage as ts; x = torch.rand(2, 16, 16).cuda(); print(ts.box(x, radius=1).device)"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == "cuda:0\n", (order, done.stderr)
    if left:
        pytest.skip(f"packages of these orders are not installed: {left}")


def test_it_says_what_a_call_takes(capsys):
    """Times are printed, not compared: `pytest -s`."""
    A, x = ts.Projector((256, 256), ts.rays.parallel(256)), random(128, 256, 256).to(DEVICE)
    out, rows = A(x), {}
    small = ts.Projector((16, 16), ts.rays.parallel(8))
    tiny = random(16, 16).to(DEVICE)
    tiny_out, layer = small(tiny), small.torch()

    def measure(name, call, n):
        call()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(n):
            call()
        end.record()
        torch.cuda.synchronize()
        rows[name] = begin.elapsed_time(end) * 1000 / n

    measure("A(x, out) of 16 x 16, us a call", lambda: small(tiny, out=tiny_out), 2000)
    measure("layer(x) of 16 x 16, us a call", lambda: layer(tiny), 2000)
    measure("A(x, out) of 128 x 256 x 256, 256 views, us a call", lambda: A(x, out=out), 20)
    measure("A.T(y) of the same, us a call", lambda: A.T(out, out=x), 20)
    with capsys.disabled():
        print("\n" + json.dumps(rows, indent=1))
