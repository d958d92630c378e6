#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/stages/clahe/clahe_fixtures.inc: what cv2.createCLAHE and skimage.exposure.equalize_adapthist make of images
that tests/stages/clahe/test_clahe.c can make again. Usage: clahe_fixtures.py > ../../tests/stages/clahe/clahe_fixtures.inc"""
import cv2
import numpy as np
import skimage
from skimage.exposure import equalize_adapthist

# dtype, ny, nx, highest value, tiles y, tiles x, clip limit (inf: none)
OPENCV = [
    ("uint8", 32, 40, 255, 8, 8, 40.0),
    ("uint8", 33, 41, 255, 8, 8, 2.0),
    ("uint8", 32, 41, 200, 4, 4, 3.5),
    ("uint8", 30, 24, 255, 5, 3, np.inf),
    ("uint8", 5, 3, 255, 8, 8, 4.0),
    ("uint8", 12, 20, 0, 2, 2, 4.0),
    ("uint16", 40, 48, 4095, 4, 6, 100.0),
    ("uint16", 37, 53, 65535, 8, 8, 40.0),
    ("uint16", 31, 29, 4095, 1, 1, 5000.0),
    ("uint16", 29, 31, 65535, 3, 2, np.inf),
    ("uint16", 1, 17, 1000, 8, 8, 9.0),
]
# dtype, ny, nx, highest value, kernel y, kernel x (0: default), bins, clip limit (inf: none)
SKIMAGE = [
    ("uint8", 32, 40, 255, 0, 0, 256, 0.01),
    ("uint8", 33, 41, 200, 7, 9, 100, 0.05),
    ("uint16", 40, 48, 4095, 0, 0, 256, 0.02),
    ("uint16", 29, 31, 65535, 10, 40, 64, np.inf),
    ("uint16", 9, 5, 1000, 0, 0, 256, 0.5),
    ("uint16", 12, 20, 0, 0, 0, 256, 0.01),
]


def image(dtype, ny, nx, highest):
    y, x = np.mgrid[0:ny, 0:nx].astype(np.uint64)
    mixed = ((x * 73856093) ^ (y * 19349663)) & 0xFFFFFFFF
    noise = (mixed >> 5) % (highest // 6 + 1)
    return (x * highest // (2 * nx) + y * highest // (3 * ny) + noise).astype(dtype)


def rows(values, form):
    values = [form % v for v in values.ravel()]
    for i in range(0, len(values), 24):
        print("    " + ", ".join(values[i:i + 24]) + ",")


print("/* SPDX-License-Identifier: Apache-2.0")
print(" * Made by lab/peers/clahe_fixtures.py with OpenCV %s, scikit-image %s. */" % (cv2.__version__, skimage.__version__))
print("/* clang-format off */")
print("static const uint16_t opencv_values[] = {")
for dtype, ny, nx, highest, tiles_y, tiles_x, clip in OPENCV:
    clahe = cv2.createCLAHE(0.0 if np.isinf(clip) else clip, (tiles_x, tiles_y))
    rows(clahe.apply(image(dtype, ny, nx, highest)), "%d")
print("};\nstatic const struct clahe_fixture opencv_fixtures[] = {")
for dtype, *rest in OPENCV:
    print("    {TS_%s, %d, %d, %d, \"tiles_y=%d tiles_x=%d clip_limit=%g\"}," % ("U8" if dtype == "uint8" else "U16", *rest))
print("};\nstatic const float skimage_values[] = {")
for dtype, ny, nx, highest, kernel_y, kernel_x, bins, clip in SKIMAGE:
    kernel = (kernel_y, kernel_x) if kernel_y else None
    result = equalize_adapthist(image(dtype, ny, nx, highest), kernel, 0.0 if np.isinf(clip) else clip, bins)
    rows(result.astype(np.float32), "%.9g")
print("};\nstatic const struct clahe_fixture skimage_fixtures[] = {")
for dtype, ny, nx, highest, kernel_y, kernel_x, bins, clip in SKIMAGE:
    kernel = "kernel_y=%d kernel_x=%d " % (kernel_y, kernel_x) if kernel_y else ""
    print("    {TS_%s, %d, %d, %d, \"%sbins=%d clip_limit=%g\"}," % ("U8" if dtype == "uint8" else "U16", ny, nx, highest, kernel, bins, clip))
print("};\n/* clang-format on */")
