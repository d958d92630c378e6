# SPDX-License-Identifier: Apache-2.0
"""TIFF and PNG as tifffile and ImageJ's rules read them."""
import os
import struct
import zlib

import h5py
import numpy as np
import tifffile

from harness import run, test
from outputs_support import phantom, result


@test
def tiff_for_imagej(folder):
    chain = phantom(folder)
    for stage in "save name=same", "gaussian sigma=1 unit=pixel", "rescale out_low=0 out_high=255 dtype=u8":
        run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | tiff {folder}/a.tif", "--force")
        run("export", f"{folder}/a.h5", "--format", "tiff", "-o", f"{folder}/pages", "--force")
        data, lps = result(f"{folder}/a.h5")
        with tifffile.TiffFile(f"{folder}/a.tif") as file:
            assert np.array_equal(file.asarray(), data) and file.asarray().dtype == data.dtype, stage
            facts, tags = file.imagej_metadata, file.pages[0].tags
            assert facts["unit"] == "mm" and facts["slices"] == 7 and abs(facts["spacing"] - lps[2, 2]) < 1e-6, facts
            for name, spacing in ("XResolution", lps[0, 0]), ("YResolution", lps[1, 1]):
                over, under = tags[name].value
                assert abs(under / over / spacing - 1) < 1e-6, (name, over, under)
        assert sorted(os.listdir(f"{folder}/pages")) == [f"slice_{z + 1:04d}.tif" for z in range(7)]
        for z in range(7):
            assert np.array_equal(tifffile.imread(f"{folder}/pages/slice_{z + 1:04d}.tif"), data[z])


@test
def tiff_of_few_and_small_pages(folder):
    """tifffile takes the values of an ImageJ stack for one piece where the second directory leaves room for that."""
    random = np.random.default_rng(4)
    for shape in (3, 8, 10), (2, 10, 8), (4, 3, 5), (3, 4, 4), (2, 200, 100):
        for dtype in np.uint8, np.uint16, np.float32:
            values = (random.random(shape) * 200).astype(dtype)
            with h5py.File(f"{folder}/in.h5", "w") as file:
                file["d"] = values
            run("run", f"hdf5 {folder}/in.h5 path=/d axes=z,y,x spacing=1,1,1 | tiff {folder}/a.tif", "--force")
            assert np.array_equal(tifffile.imread(f"{folder}/a.tif"), values), (shape, dtype)


def read_png(path, comment=True):
    """The gray values of a picture whose rows are filtered by differences (Sub), and its comment."""
    with open(path, "rb") as file:
        data = file.read()
    at, chunks = 8, {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name], at = body, at + 12 + length
    width, height, bits = struct.unpack(">IIB", chunks[b"IHDR"][:9])
    bytes_each = bits // 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * bytes_each)
    assert (rows[:, 0] == 1).all()
    gray = np.cumsum(rows[:, 1:].reshape(height, width, bytes_each), axis=1, dtype=np.uint64).astype(np.uint8)
    gray = gray[..., 0] if bits == 8 else gray[..., 0].astype(np.uint16) * 256 + gray[..., 1]
    return (gray, chunks[b"tEXt"].decode(), struct.unpack(">IIB", chunks[b"pHYs"])) if comment else (gray,)


def shade(values, low, high):
    return np.clip(np.rint((values.astype(float) - low) / (high - low) * 255), 0, 255).astype(np.uint8)


@test
def png_with_a_window(folder):
    chain = phantom(folder)
    run("run", f"{chain} | save name=same | hdf5 {folder}/a.h5 | png {folder}/given window=40,400")
    data, lps = result(f"{folder}/a.h5")
    for z in range(7):
        gray, comment, physical = read_png(f"{folder}/given/slice_{z:04d}.png")
        assert np.array_equal(gray, shade(data[z], -160, 240)) and "black is -160, white is 240" in comment, comment
        assert physical == (round(1000 / lps[0, 0]), round(1000 / lps[1, 1]), 1)
    # Without one: that of soft tissue for HU, else the same window for all slices, from percentiles of the whole.
    run("export", f"{folder}/a.h5", "--format", "png", "-o", f"{folder}/soft")
    for z in range(7):
        assert np.array_equal(read_png(f"{folder}/soft/slice_{z:04d}.png")[0], shade(data[z], -160, 240))
    run("run", f"{chain} | window center=0 width=4096 out_low=-2048 out_high=2048 dtype=f32 | hdf5 {folder}/w.h5 | png {folder}/own")
    data, _ = result(f"{folder}/w.h5")
    low, high = np.sort(data.ravel())[[(data.size - 1) // 100, data.size - 1 - (data.size - 1) // 100]]
    for z in range(7):
        assert np.array_equal(read_png(f"{folder}/own/slice_{z:04d}.png")[0], shade(data[z], low, high))
    # Values without a sign are kept.
    for dtype, limit in ("u8", 255), ("u16", 65535):
        run("run", f"{chain} | rescale out_low=0 out_high={limit} dtype={dtype} | hdf5 {folder}/b.h5 | png {folder}/kept", "--force")
        data, _ = result(f"{folder}/b.h5")
        for z in range(7):
            gray = read_png(f"{folder}/kept/slice_{z:04d}.png")[0]
            assert np.array_equal(gray, data[z]) and gray.dtype == data.dtype
    run("run", f"{chain} | save name=same | png {folder}/one.png", expect=2)
    for name in "a.tif", "a.nii":
        assert "has no window" in run("export", f"{folder}/a.h5", "--window", "40,400", "-o", f"{folder}/{name}", expect=2).stderr


@test
def png_is_turned_as_a_preview(folder):
    """Whichever way the axes of a volume run, its slices are turned as previews are; names are the indices of the slices."""
    chain = phantom(folder)
    run("run", f"{chain} | hdf5 {folder}/a.h5")
    for axes in "LPS", "RAS", "PIR", "SRA", "ILP", "RSA":
        run("run", f"result {folder}/a.h5 | reorient to={axes} | save name=same | hdf5 {folder}/t.h5 | png {folder}/{axes} window=40,400", "--force")
        names = sorted(os.listdir(f"{folder}/{axes}"))
        assert names == [f"slice_{z:04d}.png" for z in range(len(names))], names
        for z in 0, len(names) - 1:
            run("preview", f"{folder}/t.h5", "--plain", "--window", "40/400", "--slice", f"{z}", "--dataset", "same", "-o", f"{folder}/p.png", "--force")
            gray, comment, _ = read_png(f"{folder}/{axes}/{names[z]}")
            shown, *_ = read_png(f"{folder}/p.png", comment=False)
            assert gray.shape == shown.shape and np.abs(gray.astype(int) - shown).max() <= 1, axes
            assert f"slice {z} (0 to {len(names) - 1}) at " in comment, comment
            assert any(f" {letters};" in comment for letters in ("RLAP", "RLSI", "APSI")) or "from the first, " in comment, comment
