# SPDX-License-Identifier: Apache-2.0
"""Stages on arrays: the caller's kind comes back."""
import warnings

import numpy
import pytest

import tomostage as ts


def test_a_stage_takes_an_array(volume):
    smooth = ts.gaussian(volume, sigma=1.5)
    assert type(smooth) is numpy.ndarray and smooth.dtype == numpy.float32 and smooth.shape == volume.shape
    scipy = pytest.importorskip("scipy.ndimage")
    assert smooth == pytest.approx(scipy.gaussian_filter(volume, [0, 1.5, 1.5]), abs=1e-5)


def test_leading_axes_are_a_batch(volume):
    smooth = ts.gaussian(volume, sigma=1.5, dimensions="3d")
    batch = numpy.stack([volume, volume[::-1]])
    assert numpy.array_equal(ts.gaussian(batch, sigma=1.5, dimensions="3d")[0], smooth)
    deep = ts.gaussian(batch[None, :, None], sigma=1.5, dimensions="3d")
    assert deep.shape == (1, 2, 1, *volume.shape) and numpy.array_equal(deep[0, 0, 0], smooth)
    flat = ts.gaussian(volume[0], sigma=1.5)
    assert flat.shape == volume[0].shape and numpy.array_equal(flat, ts.gaussian(volume, sigma=1.5)[0])


@pytest.mark.filterwarnings("ignore::tomostage.ChainWarning")
def test_a_batch_of_the_host_is_one_run(volume, monkeypatch):
    runs, run = [], ts.Result.__init__
    monkeypatch.setattr(ts.Result, "__init__", lambda self, *rest: runs.append(1) or run(self, *rest))
    angles = numpy.arange(32) * 5.625
    for function in (lambda x: ts.gaussian(x, sigma=1, dimensions="3d"), lambda x: ts.equalize(x),
                     lambda x: ts.fbp(x, angles=angles, rows=24, columns=24)):
        one, other = function(volume), function(volume[::-1])
        runs.clear()
        batch = function(numpy.stack([volume, volume[::-1], volume]).reshape(3, 1, *volume.shape))
        assert len(runs) == 1 and batch.shape == (3, 1, *one.shape)
        assert numpy.array_equal(batch[0, 0], one) and numpy.array_equal(batch[1, 0], other) and numpy.array_equal(batch[2, 0], one)


def test_strides_are_taken_as_they_are(volume):
    assert numpy.array_equal(ts.box(volume[::-1, ::2], radius=1), ts.box(volume[::-1, ::2].copy(), radius=1))
    with pytest.raises(ts.ChainError) as error:
        ts.box(volume[:, :, ::2], radius=1)
    assert error.value.records[0].code == "memory-array"


def test_an_image_gives_an_image(ct):
    image = ts.read(ct)
    smooth = ts.gaussian(image, sigma=1.5)
    assert isinstance(smooth, ts.Image) and smooth.origin == image.origin and smooth.quantity == "hu"


def test_references_may_be_arrays(volume):
    mask = volume > 0.5
    kept = ts.apply_mask(volume, mask=mask)
    assert kept[mask] == pytest.approx(volume[mask])
    chain = ts.memory(volume) | ts.apply_mask(mask=mask) | ts.statistics(mask=mask)
    assert chain.run("cpu").tables["statistics"]["count"] == mask.sum()


def test_fbp_finds_the_disc_again():
    y, x = numpy.mgrid[-31.5:32, -31.5:32]
    disc = (x**2 + y**2 < 20**2).astype(numpy.float32)
    angles = numpy.arange(120) * 1.5
    sinogram = ts.radon(disc, angles=angles, detectors=96)
    assert sinogram.shape == (120, 96)
    found = ts.fbp(sinogram, angles=angles, center=47.5, rows=64, columns=64)
    assert found.shape == (64, 64) and found[30:34, 30:34].mean() == pytest.approx(1, abs=0.05)
    batch = ts.fbp(numpy.stack([sinogram] * 3)[None], angles=angles, rows=64, columns=64)
    assert batch.shape == (1, 3, 64, 64) and numpy.array_equal(batch[0, 2], found)


def test_other_types_are_refused_with_a_way_out(volume):
    for dtype in ("float64", "float16", "int64", "complex64"):
        with pytest.raises(TypeError, match="astype"):
            ts.box(volume.astype(dtype), radius=1)
    assert ts.box(volume.astype("float64").astype("float32"), radius=1).dtype == numpy.float32


def test_what_has_a_buffer_is_an_array(volume):
    smooth = ts.box(memoryview(volume), radius=1)
    assert type(smooth) is numpy.ndarray and numpy.array_equal(smooth, ts.box(volume, radius=1))


def test_signatures_are_checked(volume):
    for wrong in (dict(), dict(radios=1), dict(radius=1, borders="wrap")):
        with pytest.raises(TypeError):
            ts.box(volume, **wrong)
    with pytest.raises(ts.ChainError) as error:
        ts.box(volume, radius=1, border="wrapped")
    assert "wrap" in str(error.value)
    assert numpy.array_equal(ts.box(volume, radius=1, border=None), ts.box(volume, radius=1))


def test_warnings_are_pythons(ct):
    with pytest.warns(ts.ChainWarning, match="radon-of-hu") as seen:
        ts.radon(ts.read(ct), views=20)
    assert seen[0].filename == __file__
    with pytest.warns(ts.ChainWarning, match="rows-cut-off") as seen:
        ts.fbp(numpy.random.default_rng(0).random((2, 1, 2, 60, 24), numpy.float32), angles=numpy.arange(60) * 3.0)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.box(numpy.zeros((1, 8, 8), numpy.float32), radius=1)


def test_torch(volume):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(volume)
    smooth = ts.gaussian(tensor, sigma=1.5)
    assert isinstance(smooth, torch.Tensor) and smooth.device.type == "cpu"
    assert numpy.array_equal(smooth.numpy(), ts.gaussian(volume, sigma=1.5))
    assert (ts.memory(tensor) | ts.box(radius=1)).run("cpu")["data"].dtype == torch.float32
    mask = tensor > 0.5
    assert torch.equal(ts.apply_mask(tensor, mask=mask)[mask], tensor[mask])
    with pytest.raises(ValueError, match="gradient"):
        ts.box(tensor.clone().requires_grad_(), radius=1)


def test_jax(volume):
    jax = pytest.importorskip("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        smooth = ts.gaussian(jax.numpy.asarray(volume), sigma=1.5)
    assert isinstance(smooth, jax.Array)
    assert numpy.array_equal(numpy.asarray(smooth), ts.gaussian(volume, sigma=1.5))
    assert numpy.asarray(jax.numpy.zeros(volume.shape)).sum() == 0
