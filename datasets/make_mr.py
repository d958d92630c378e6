#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a head as an MR shows it, with the bias field of a coil: white and gray matter that are folded, ventricles, a scalp, and
Rician noise, as .npy of floats (z, y, x). The field is known: --field writes it too.

usage: make_mr.py OUT.npy [--size N] [--slices N] [--noise PERCENT] [--field FIELD.npy]"""
import argparse

import numpy as np

SCALP, SKULL, GRAY, WHITE, FLUID = 600, 60, 480, 700, 180


def head(z, y, x):
    """The values without field and noise, at places from -1 to 1."""
    radius = np.sqrt((z / .9) ** 2 + (y / .88) ** 2 + (x / .74) ** 2)
    folds = np.sin(9 * x + 2 * np.sin(5 * y)) * np.sin(8 * y + 2 * np.cos(6 * z)) * np.sin(7 * z + 2 * np.sin(4 * x))
    values = np.where(radius < 1, SCALP, 0)
    values = np.where(radius < .92, SKULL, values)
    values = np.where(radius < .86, GRAY, values)
    values = np.where(radius < .78 + .12 * folds, WHITE, values)
    ventricles = (z / .35) ** 2 + ((y + .05) / .3) ** 2 + ((abs(x) - .12) / .08) ** 2 < 1
    return np.where(ventricles, FLUID, values)


def bias(z, y, x):
    """The field of a coil that is nearer to one side."""
    return np.exp(.3 * x - .2 * y + .1 * z + .15 * np.cos(1.5 * x + .7 * z) - .15 * y * y)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--slices", type=int, default=48)
    parser.add_argument("--noise", type=float, default=2, help="in percent of white matter")
    parser.add_argument("--field")
    given = parser.parse_args()
    random = np.random.default_rng(5)
    places = [np.linspace(-1, 1, n) for n in (given.slices, given.size, given.size)]
    z, y, x = np.meshgrid(*places, indexing="ij")
    field, noise = bias(z, y, x), WHITE * given.noise / 100
    signal = head(z, y, x) * field + noise * random.standard_normal(field.shape)
    np.save(given.out, np.hypot(signal, noise * random.standard_normal(field.shape)).astype("f4"))
    if given.field:
        np.save(given.field, field.astype("f4"))


if __name__ == "__main__":
    main()
