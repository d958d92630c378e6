# SPDX-License-Identifier: Apache-2.0
"""The landmarks of `tomostage batch --fit`, and the map of `nyul`, are those of TorchIO's HistogramStandardization, whose
formulas (train, _get_average_mapping, _normalize of 1.2) stand here in numpy.

usage: test_fit.py PROGRAM"""
import json
import sys

import h5py
import numpy as np

from harness import run, run_tests, test

PERCENTS = np.array([1, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 99.])
USED = [0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12]


def train(images, masks):
    database = np.vstack([np.percentile(image[mask], PERCENTS) for image, mask in zip(images, masks)])
    first, last = database[:, 0], database[:, -1]
    slopes = np.nan_to_num(100 / (last - first))
    return slopes.dot(database) / len(database) + np.mean(0 - slopes * first)


def normalize(image, mask, landmarks):
    found = np.percentile(image[mask], PERCENTS)[USED]
    scale, wide = landmarks[USED], np.diff(found)
    wide[wide < 1e-5] = np.inf
    slopes = np.diff(scale) / wide
    starts = scale[:-1] - slopes * found[:-1]
    bins = np.digitize(image, found[1:-1], right=False)
    return slopes[bins] * image + starts[bins]


def studies(folder, dtype):
    """Heads of three scanners, and where they are not air."""
    random, images, masks = np.random.default_rng(3), [], []
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in (6, 40, 37)), indexing="ij")
    head = z * z + y * y / .8 + x * x / .6 < 1
    for i, (gain, offset) in enumerate([(1, 0), (3.7, 11), (.4, 90)]):
        values = head * (300 + 200 * np.sin(7 * x + i) * np.cos(5 * y)) * gain + offset
        image = np.abs(values + 9 * gain * random.standard_normal(head.shape)).astype(dtype)
        mask = head.astype("u1")
        np.save(f"{folder}/s{i}.npy", image)
        np.save(f"{folder}/m{i}.npy", mask)
        images.append(image.astype("f8"))
        masks.append(mask > 0)
    return images, masks


def compare(folder, dtype, masked):
    images, masks = studies(folder, dtype)
    with open(f"{folder}/chain.yaml", "w", encoding="utf-8") as file:
        file.write("tomostage: 2\ninput: {npy: x}\n" + "inputs: {m: {npy: y}}\n" * masked
                   + "stages:\n  - nyul: {landmarks_file: std.json%s}\noutput: {hdf5: o.h5}\n" % (", mask: m" * masked))
    with open(f"{folder}/list.tsv", "w", encoding="utf-8") as file:
        file.write("input" + "\tm.npy" * masked + "\n")
        for i in range(3):
            file.write(f"s{i}.npy" + f"\tm{i}.npy" * masked + "\n")
    if not masked:
        masks = [np.ones(image.shape, bool) for image in images]
    run("batch", "chain.yaml", "list.tsv", "-o", "out", "--fit", cwd=folder)
    with open(f"{folder}/std.json", encoding="utf-8") as file:
        fitted = json.load(file)
    landmarks = train(images, masks)
    assert np.abs(np.array(fitted["landmarks"]) - landmarks).max() < 1e-12, fitted
    assert fitted["percentiles"] == list(PERCENTS) and fitted["cutoff"] == [1, 99] and fitted["studies"] == 3, fitted
    assert len(set(fitted["digests"])) == 3 and all(len(digest) == 64 for digest in fitted["digests"]), fitted
    for i in range(3):
        with h5py.File(f"{folder}/out/s{i}.h5") as file:
            found = file["entry/data/data"][()]
            percentiles = file["entry/process_1_nyul/tables/percentiles"][()]
        assert np.allclose(percentiles, np.percentile(images[i][masks[i]], PERCENTS), rtol=1e-15)
        expected = normalize(images[i], masks[i], landmarks)
        assert found.dtype == "f4" and np.allclose(found, expected, rtol=1e-6, atol=1e-5), np.abs(found - expected).max()


@test
def floats_within_masks(folder):
    compare(folder, "f4", True)


@test
def integers(folder):
    compare(folder, "u2", False)


@test
def bytes_within_masks(folder):
    compare(folder, "u1", True)


@test
def integers_of_32_bits(folder):
    compare(folder, "i4", False)


if __name__ == "__main__":
    sys.exit(run_tests())
