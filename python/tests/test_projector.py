# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import threading

import numpy
import pytest

import tomostage as ts

BEAMS = {"parallel": ts.rays.parallel(30), "shifted": ts.rays.parallel([0, 10.5, 40, 170], 41, 1.5, center=18.25),
         "flat": ts.rays.fan(36, 200, 350, 60), "arc": ts.rays.fan(36, 200, 350, 60, flat=False)}


def random(shape, seed=0):
    return numpy.random.default_rng(seed).random(shape, numpy.float32)


@pytest.mark.parametrize("beam", BEAMS)
@pytest.mark.parametrize("shape", [(24, 20), (3, 24, 20)])
def test_adjoint_is_the_adjoint(beam, shape):
    A = ts.Projector(ts.Grid(shape, 1.25), BEAMS[beam])
    x, y = random(A.in_shape), random(A.out_shape, 1)
    assert numpy.vdot(A(x), y) == pytest.approx(numpy.vdot(x, A.T(y)), rel=1e-5)
    assert A.normal(x) == pytest.approx(A.T(A(x)), rel=1e-5)
    assert A.T.normal(y) == pytest.approx(A(A.T(y)), rel=1e-5)
    assert A.T.T(x) == pytest.approx(A(x), abs=0)


def test_it_is_the_stage():
    x, angles = random((3, 24, 20)), [0.0, 30.0, 75.0]
    assert numpy.array_equal(ts.Projector(x.shape, ts.rays.parallel(angles))(x), ts.radon(x, angles=angles))


@pytest.mark.parametrize("shape", [(24, 20), (3, 24, 20)])
def test_leading_axes_are_a_batch(shape):
    A = ts.Projector(shape, BEAMS["parallel"])
    x = random((2, 5, *shape))
    y = A(x)
    assert y.shape == (2, 5, *A.out_shape) and y[1, 3] == pytest.approx(A(x[1, 3]), rel=1e-5, abs=1e-5)
    assert A.T(y).shape == x.shape
    out = numpy.empty_like(y)
    assert A(x, out=out) is out and numpy.array_equal(out, y)


def test_what_does_not_fit_is_refused():
    A = ts.Projector((24, 20), BEAMS["parallel"])
    with pytest.raises(ValueError, match="shape"):
        A(random((20, 24)))
    with pytest.raises(ValueError, match="out has the shape"):
        A(random((24, 20)), out=random((24, 20)))
    with pytest.raises(ValueError, match="C order"):
        A(random((20, 24)).T)
    with pytest.raises(TypeError, match="float64"):
        A(numpy.zeros((24, 20)))
    with pytest.raises(ts.ChainError) as error:
        A(numpy.zeros((24, 20), numpy.int32))
    assert error.value.records[0].code == "operator-array"
    with pytest.raises(ts.ChainError):
        ts.Projector((24, 20), ts.rays.fan(36, 2, 350))


def test_arrays_of_any_kind_are_used_where_they_are():
    A, x = ts.Projector((24, 20), BEAMS["parallel"]), random((5, 24, 20))
    y = A(x)
    assert numpy.array_equal(A(memoryview(x)), y)
    assert numpy.array_equal(A(ts.asimage(x)), y) and numpy.array_equal(A(x[::-1][::-1]), y)
    out = numpy.empty((2, *y.shape), numpy.float32)
    assert A(x, out=out[1]) is not None and numpy.array_equal(out[1], y)
    assert A(x[:0]).shape == (0, *A.out_shape)
    one = random((1, 1, 24, 20))
    assert A(one.transpose(1, 0, 2, 3)).shape == (1, 1, *A.out_shape)
    for wrong in (x[:, :, ::-1], x[:, ::2].repeat(2, 1)[:, ::-1], numpy.asfortranarray(x)):
        with pytest.raises(ValueError, match="C order"):
            A(wrong)
    frozen = numpy.empty_like(y)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        A(x, out=frozen)
    with pytest.raises(TypeError, match="float64"):
        A(x, out=y.astype("float64"))
    with pytest.raises(ts.ChainError, match="overlaps"):
        A.normal(x, x)


def test_tensors_are_used_where_they_are():
    torch = pytest.importorskip("torch")
    A, x = ts.Projector((24, 20), BEAMS["parallel"]), torch.from_numpy(random((5, 24, 20)))
    y = A(x)
    assert isinstance(y, torch.Tensor) and numpy.array_equal(y.numpy(), A(x.numpy()))
    out = torch.empty_like(y)
    assert A(x, out=out) is out and torch.equal(out, y) and torch.equal(A(x[2:4]), y[2:4])
    assert torch.equal(A(torch.nn.Parameter(x, requires_grad=False)), y)
    mixed = numpy.empty(y.shape, numpy.float32)
    assert A(x, out=mixed) is mixed and numpy.array_equal(mixed, y.numpy())
    with pytest.raises(ValueError, match="requires a gradient"):
        A(x.clone().requires_grad_())
    with pytest.raises(ValueError, match="C order"):
        A(x.transpose(0, 1).contiguous().transpose(0, 1)[:, :, :])
    with pytest.raises(TypeError, match="float64"):
        A(x.double())
    with pytest.raises(ts.ChainError) as error:
        A(x.int())
    assert error.value.records[0].code == "operator-array"


@pytest.mark.parametrize("value", ["None", "5", "missing"])
def test_tensors_of_versions_without_fast_functions(value):
    """PyTorch before 2.10 has no __dlpack_c_exchange_api__."""
    pytest.importorskip("torch")
    text = f"""
import torch, tomostage as ts
if {value!r} != "missing":
    torch.Tensor.__dlpack_c_exchange_api__ = {value if value != "missing" else None}
elif hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    del torch.Tensor.__dlpack_c_exchange_api__
A, x = ts.Projector((24, 20), ts.rays.parallel(30)), torch.rand(3, 24, 20)
out = torch.empty(3, *A.out_shape)
assert A(x, out=out) is out and torch.equal(out, torch.from_numpy(A(x.numpy())))
try:
    A(x.requires_grad_())
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0 and "requires a gradient" in done.stdout, done.stderr


def test_threads_share_a_projector():
    A, x = ts.Projector((24, 20), BEAMS["parallel"], threads=1), random((6, 24, 20))
    expected, wrong = A(x), []

    def work(n):
        for i in range(200):
            part = slice(0, 1 + (i + n) % 6)
            if not numpy.array_equal(A(x[part]), expected[part]):
                wrong.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_calls_keep_no_memory():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    A, x = ts.Projector((24, 20), BEAMS["parallel"], threads=1), random((12, 24, 20))

    def some(n):
        for i in range(n):
            A(x[: 1 + i % 12])  # of more sizes than there are operators kept
            with pytest.raises(ValueError):
                A(x[:, :3])

    some(300)
    before = resident()
    some(1500)
    assert resident() - before < 4 << 20


def test_norm_is_the_largest_singular_value():
    A = ts.Projector((9, 8), ts.rays.parallel(7))
    matrix = numpy.stack([A(row.reshape(9, 8)).ravel() for row in numpy.eye(72, dtype=numpy.float32)])
    assert A.norm() == pytest.approx(numpy.linalg.svd(matrix, compute_uv=False)[0], rel=1e-3)
    assert A.T.norm() == pytest.approx(A.norm(), rel=1e-3)


def test_scipy_solves_with_it():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = ts.Projector((16, 16), ts.rays.parallel(40, 24))
    x = random(A.in_shape)
    found = linalg.lsqr(A.linop(), A(x).ravel(), iter_lim=200)[0].reshape(x.shape)
    assert numpy.abs(found - x).max() < 0.02
    assert A.T.linop().shape == A.linop().shape[::-1]


@pytest.mark.filterwarnings("ignore:.*double precision")
def test_torch_gradients():
    torch = pytest.importorskip("torch")
    layer = ts.Projector((6, 5), ts.rays.parallel(4, 9)).torch()
    x = torch.rand(2, 6, 5, requires_grad=True)
    y = layer(x)
    assert y.shape == (2, 4, 9) and y.requires_grad
    weight = torch.rand_like(y)
    gradient, = torch.autograd.grad((y * weight).sum(), x)
    assert torch.allclose(gradient, layer.T(weight), rtol=1e-6)
    # The operator is linear: differences of large steps are exact up to rounding.
    check = dict(eps=0.5, atol=1e-3, rtol=1e-3)
    assert torch.autograd.gradcheck(layer, x, **check) and torch.autograd.gradgradcheck(layer, x, **check)


def test_gradients_have_the_same_bytes_each_time():
    torch = pytest.importorskip("torch")
    layer, x = ts.Projector((32, 32), ts.rays.parallel(50)).torch(), torch.rand(4, 32, 32, requires_grad=True)
    first, second = (torch.autograd.grad((layer(x) ** 2).sum(), x)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_torch_compiles_it():
    torch = pytest.importorskip("torch")
    layer = ts.Projector((6, 5), ts.rays.parallel(4, 9)).torch()
    compiled = torch.compile(lambda x: 2 * layer(x), fullgraph=True, backend="aot_eager")
    x = torch.rand(2, 6, 5, requires_grad=True)
    assert torch.equal(compiled(x), 2 * layer(x))
    assert torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], torch.autograd.grad(2 * layer(x).sum(), x)[0])


def test_torch_knows_the_operator():
    torch = pytest.importorskip("torch")
    layer = ts.Projector((6, 5), ts.rays.parallel(4, 9)).torch()
    other = ts.Projector((6, 5), ts.rays.Rays(ts.rays.fan(4, 50, 90, 9, 3.0).parameters, True)).torch()
    for one, shape, adjoint in ((layer, (6, 5), False), (layer, (4, 9), True), (other, (6, 5), False), (other, (4, 9), True)):
        torch.library.opcheck(torch.ops.tomostage.project.default,
                              (torch.rand(2, *shape, requires_grad=True), id(one.projector), adjoint))
    x = torch.rand(3, 2, 6, 5)
    assert torch.equal(torch.func.vmap(layer)(x), layer(x)) and torch.equal(torch.func.vmap(layer, 1, 1)(x), layer(x))
    assert torch.equal(layer(x.transpose(0, 1)), layer(x).transpose(0, 1))
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(x.to(torch.bfloat16)).dtype == torch.float32


def test_a_network_learns_through_it():
    torch = pytest.importorskip("torch")
    A = ts.Projector((16, 16), ts.rays.parallel(24))
    layer, truth = A.torch(), torch.zeros(16, 16)
    truth[5:11, 4:9] = 1
    y, x = layer(truth), torch.zeros(16, 16, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1 / A.norm() ** 2)
    first = None
    for _ in range(60):
        optimizer.zero_grad()
        loss = 0.5 * ((layer(x) - y) ** 2).sum()
        first = first or loss.item()
        loss.backward()
        optimizer.step()
    assert loss.item() < first / 100


def test_what_is_kept_to_the_end_prints_nothing():
    text = """
import sys, tomostage as ts
A = ts.Projector((6, 5), ts.rays.parallel(4, 9))
sys.kept = [A, A.T, ts.memory(__import__("numpy").zeros((1, 4, 4), "uint8")) | ts.box(radius=1), A]
sys.kept.append(sys.kept)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
