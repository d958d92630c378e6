#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a simulated tomography scan as NXtomo: counts of a parallel beam through cylinders, with two darks and two flats
before the projections. The line integrals are exact; a detector gain that differs from pixel to pixel makes stripes,
a few zingers make outliers, and Poisson noise does the rest.

usage: make_scan.py OUT.nxs [--wide] [--detectors N] [--views N] [--rows N] [--zingers N]
  --wide  a whole turn with the rotation axis at a quarter of the detector, for `stitch`; else half a turn with the axis
          1.5 detector pixels right of the middle"""
import argparse

import h5py
import numpy as np

# Center and radius as shares of the object's radius, attenuation in 1/mm.
CYLINDERS = ((0, 0, 1, .01), (.3, .15, .25, .01), (-.4, .25, .15, .02), (.1, -.5, .2, -.006), (-.35, -.4, .08, .03))
PIXEL_MM, BEAM, DARK = .5, 40000, 100


def line_integrals(angles, positions_mm, radius_mm):
    """[view][detector pixel], dimensionless."""
    theta = np.radians(angles)[:, None]
    lines = np.zeros((len(angles), len(positions_mm)))
    for x, y, radius, attenuation in CYLINDERS:
        center = radius_mm * (x * np.cos(theta) + y * np.sin(theta))
        half = np.maximum((radius * radius_mm) ** 2 - (positions_mm[None, :] - center) ** 2, 0)
        lines += 2 * attenuation * np.sqrt(half)
    return lines


def write_scan(path, angles, axis, n_detectors=96, n_rows=5, zingers=0, radius=None):
    """The rotation axis stands at detector pixel `axis`; radius: of the object, in detector pixels."""
    random = np.random.default_rng(3)
    positions = (np.arange(n_detectors) - axis) * PIXEL_MM
    lines = line_integrals(angles, positions, PIXEL_MM * (radius or .4 * n_detectors))
    gain = BEAM * (1 + .1 * random.random(n_detectors))
    frames = [np.full((n_rows, n_detectors), DARK)] * 2 + [np.tile(DARK + gain, (n_rows, 1))] * 2
    # The gain drifts after the flats were taken.
    gain = gain * (1 + .02 * random.standard_normal(n_detectors))
    frames += [np.tile(DARK + gain * np.exp(-line), (n_rows, 1)) for line in lines]
    data = random.poisson(np.array(frames)).clip(0, 65535).astype("u2")
    for _ in range(zingers):
        data[tuple(random.integers((4, 0, 0), data.shape))] = 65535
    keys = [2, 2, 1, 1] + [0] * len(angles)
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"] = "NXtomo"
        detector = entry.create_group("instrument/detector")
        detector.attrs["NX_class"], entry["instrument"].attrs["NX_class"] = "NXdetector", "NXinstrument"
        detector["data"], detector["image_key"] = data, np.array(keys, "i4")
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name] = PIXEL_MM
            detector[name].attrs["units"] = "mm"
        entry.create_group("sample").attrs["NX_class"] = "NXsample"
        entry["sample/rotation_angle"] = np.concatenate([np.zeros(4), angles])
        entry["sample/rotation_angle"].attrs["units"] = "degree"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--wide", action="store_true")
    for name, value in (("detectors", 192), ("views", 240), ("rows", 3), ("zingers", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    n = options.detectors
    arc, axis, radius = (360, n / 4, .65 * n) if options.wide else (180, (n - 1) / 2 + 1.5, None)
    write_scan(options.out, np.arange(options.views) * arc / options.views, axis, n, options.rows, options.zingers, radius)


if __name__ == "__main__":
    main()
