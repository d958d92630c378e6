# SPDX-License-Identifier: Apache-2.0
"""Projectors as functions of JAX: values, gradients, compiled and mapped."""
import gc
import threading

import numpy
import pytest

import tomostage as ts

jax = pytest.importorskip("jax", reason="JAX is not installed: Projector.jax() is not tested")
RAYS = {"parallel": ts.rays.parallel(30), "fan": ts.rays.fan(36, 200, 350, 61, 1.5, 27.0),
        "flipped": ts.rays.Rays(ts.rays.fan(36, 200, 350, 61, 1.5, 27.0).parameters, True)}


def random(shape, seed=0):
    return numpy.random.default_rng(seed).random(shape, numpy.float32)


def devices():
    """Returns a CPU, and a CUDA device if JAX and this build have one."""
    found = [jax.devices("cpu")[0]]
    try:
        (ts.memory(numpy.zeros((1, 4, 4), "uint8")) | ts.box(radius=1)).check("cuda")
        found.append(jax.devices("cuda")[0])
    except (RuntimeError, ts.ChainError):
        found.append(pytest.param(None, marks=pytest.mark.skip(reason="!!!! no CUDA device for JAX, or no CUDA code in this build")))
    return found


@pytest.fixture(params=devices(), ids=["cpu", "cuda"])
def device(request):
    with jax.default_device(request.param):
        yield request.param


def close(a, b, tolerance=1e-4):
    a = numpy.asarray(a)
    return a.shape == b.shape and a.dtype == numpy.float32 and numpy.abs(a - b).max() <= tolerance * numpy.abs(b).max()


@pytest.mark.parametrize("name", RAYS)
@pytest.mark.parametrize("shape", [(24, 20), (3, 24, 20)])
def test_values_and_gradients(device, name, shape):
    A = ts.Projector(shape, RAYS[name])
    layer, x = A.jax(), random((2, *shape))
    y = A(x)
    weight = random(y.shape, 1)
    assert close(layer(x), y) and close(jax.jit(layer)(x), y) and close(layer.T(y), A.T(y)) and close(layer.T.T(x), y)
    loss = jax.jit(jax.grad(lambda x: (layer(x) * weight).sum()))
    assert close(loss(x), A.T(weight)) and list(layer(x).devices()) == [device]
    square = jax.grad(lambda x: 0.5 * (layer(x) ** 2).sum())
    assert close(square(x), A.normal(x), 1e-4)
    twice = jax.grad(lambda x: (square(x) * x).sum())
    assert close(twice(x), 2 * A.normal(x), 1e-4)


def test_it_is_mapped_over_any_axis(device):
    A = ts.Projector((24, 20), RAYS["parallel"])
    layer, x = A.jax(), random((3, 2, 24, 20))
    y = A(x)
    assert close(jax.vmap(layer)(x), y) and close(jax.vmap(jax.vmap(layer))(x), y)
    assert close(jax.jit(jax.vmap(layer, 2, 1))(numpy.moveaxis(x, 0, 2)), numpy.moveaxis(y, 0, 1))
    gradients = jax.vmap(jax.grad(lambda x: (layer(x) ** 2).sum()))(x)
    assert close(gradients, 2 * A.normal(x), 1e-4)


def test_other_types_become_floats_and_gradients_their_types(device):
    layer = ts.Projector((24, 20), RAYS["parallel"]).jax()
    x = jax.numpy.asarray(random((24, 20)), jax.numpy.bfloat16)
    assert layer(x).dtype == numpy.float32 and close(layer(x), numpy.asarray(layer(numpy.asarray(x, numpy.float32))))
    assert jax.grad(lambda x: layer(x).sum())(x).dtype == jax.numpy.bfloat16


def test_what_does_not_fit_is_refused(device):
    A = ts.Projector((24, 20), RAYS["parallel"])
    for wrong in ((20, 24), (24,), ()):
        with pytest.raises(ValueError, match="does not end in"):
            A.jax()(random(wrong))
        with pytest.raises(ValueError, match="does not end in"):
            jax.jit(A.jax())(random(wrong))
    assert A.jax()(random((0, 24, 20))).shape == (0, *A.out_shape)


def test_it_may_be_compiled_and_outlive_its_projector(device):
    def compiled():
        return jax.jit(ts.Projector((24, 20), RAYS["parallel"]).jax())

    function, x = compiled(), random((24, 20))
    gc.collect()
    rest = [ts.Projector((8, 8), ts.rays.parallel(8)) for _ in range(20)]
    assert close(function(x), ts.Projector((24, 20), RAYS["parallel"])(x)) and len(rest) == 20


def test_gradients_have_the_same_bytes_each_time(device):
    layer, x = ts.Projector((32, 32), ts.rays.parallel(50)).jax(), random((4, 32, 32))
    function = jax.jit(jax.grad(lambda x: (layer(x) ** 2).sum()))
    assert numpy.array_equal(function(x), function(x))


def test_threads_run_it_at_once(device):
    A, x = ts.Projector((24, 20), RAYS["parallel"]), random((4, 24, 20))
    function, expected, wrong = jax.jit(A.jax()), A(x), []

    def work():
        with jax.default_device(device):
            for i in range(50):
                if not close(function(x[: 1 + i % 4]), expected[: 1 + i % 4]):
                    wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_image_is_found_through_it(device):
    A = ts.Projector((16, 16), ts.rays.parallel(24))
    layer, truth = A.jax(), numpy.zeros((16, 16), numpy.float32)
    truth[5:11, 4:9] = 1
    y, step = layer(truth), 1 / A.norm() ** 2
    gradient = jax.grad(lambda x: 0.5 * ((layer(x) - y) ** 2).sum())
    x = jax.lax.fori_loop(0, 60, lambda _, x: x - step * gradient(x), jax.numpy.zeros((16, 16)))
    assert numpy.abs(layer(x) - y).max() < 0.1 * numpy.abs(y).max()
