#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes codecs.nxs: a dataset for each compressor of hdf5plugin, option and type, as h5py users write them.

Element (i, j, k) of each is (7 i + 31 j + 3 k) mod 251, and of those named noise_* also what `noise` adds. The test
tests/io/hdf5/test_hdf5_filters.c reads them. Needs h5py and hdf5plugin (PyPI); written by 3.16 and 7.1.

    python3 tests/files/foreign/make_codecs.py tests/files/foreign/codecs.nxs
"""
import sys

import h5py
import hdf5plugin
import numpy as np

SHAPE = (5, 11, 19)
TYPES = ["<u2", ">u2", "u1", "<f4", ">i4", "<f8", "i1", "<i2", ">f4", "<u4", ">f8", "<f2", "<i4"]
CHUNKS = [(1, 11, 19), (3, 11, 19), (5, 11, 19), (2, 4, 8), (5, 11, 7)]
i, j, k = np.indices(SHAPE)
plain = (7 * i + 31 * j + 3 * k) % 251
noise = ((plain + 1) * 40503 * (1 + k + 19 * (j + 11 * i))) % 65521  # does not compress

codecs = {"lzf": {"compression": "lzf"}, "lz4": hdf5plugin.LZ4(), "lz4_blocks": hdf5plugin.LZ4(nbytes=100),
          "zstd": hdf5plugin.Zstd(), "zstd_19": hdf5plugin.Zstd(clevel=19)}
for coder in ("none", "lz4", "zstd"):
    for n in (0, 16, 200):
        codecs[f"bitshuffle_{coder}_{n}"] = hdf5plugin.Bitshuffle(nelems=n, cname=coder)
for coder in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"):
    codecs[f"blosc_{coder}"] = hdf5plugin.Blosc(cname=coder, shuffle=len(codecs) % 3)
for number, coder in enumerate(("blosclz", "lz4", "lz4hc", "zlib", "zstd")):
    codecs[f"blosc2_{coder}_{number % 4}"] = hdf5plugin.Blosc2(cname=coder, filters=number % 4, clevel=9 - number)
codecs["blosc2_delta"] = hdf5plugin.Blosc2(cname="zstd", filters=hdf5plugin.Blosc2.DELTA)
codecs["blosc2_stored"] = hdf5plugin.Blosc2(clevel=0)
codecs["blosc_stored"] = hdf5plugin.Blosc(clevel=0)
# In the order in which they are applied; the second ones have chunks that a filter could not make smaller and skipped.
pipelines = {"shuffle_lzf_fletcher32": [(2, ()), (32000, ()), (3, ())], "fletcher32_zstd": [(3, ()), (32015, (3,))],
             "shuffle_lz4_deflate": [(2, ()), (32004, ()), (1, (4,))], "zstd_lz4": [(32015, (3,)), (32004, ())],
             "bitshuffle_deflate": [(32008, (0, 0)), (1, (4,))], "shuffle_blosc": [(2, ()), (32001, (2, 2, 2, 0, 5, 0, 1))],
             "shuffle_deflate_fletcher32": [(2, ()), (1, (4,)), (3, ())]}
noisy = {"noise_lzf": [(32000, ())], "noise_lz4": [(32004, ())], "noise_shuffle_lzf": [(2, ()), (32000, ()), (3, ())],
         "noise_blosc": [(32001, (2, 2, 2, 0, 5, 1, 1))], "noise_zstd": [(32015, (3,))],
         "noise_blosc2": [(32026, (0, 0, 0, 0, 5, 1, 1))], "noise_bitshuffle": [(32008, (16, 2))], "noise_deflate": [(2, ()), (1, (4,))]}


def write(file, name, filters, values):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((2, 11, 19))
    for number, options in filters:
        properties.set_filter(number, h5py.h5z.FLAG_OPTIONAL, options)
    dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(values.dtype), h5py.h5s.create_simple(SHAPE),
                              properties)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)


with h5py.File(sys.argv[1], "w", libver=("v108", "v110")) as file:
    for number, (name, options) in enumerate(codecs.items()):
        for second in range(2):
            kind = TYPES[(2 * number + second) % len(TYPES)]
            file.create_dataset(f"{name}_{kind}".replace("<", "le_").replace(">", "be_"), data=plain.astype(kind),
                                chunks=CHUNKS[(number + second) % len(CHUNKS)], shuffle=number % 3 == second,
                                fletcher32=number % 4 == second, **options)
    for name, filters in pipelines.items():
        write(file, name, filters, plain.astype("<u2"))
    for name, filters in noisy.items():
        write(file, name, filters, noise.astype("<u2"))
    file.create_dataset("blosc2_zeros", data=np.zeros(SHAPE, "<u2"), chunks=(5, 11, 19), **hdf5plugin.Blosc2())
    # Single chunks that skip the last filter, or both.
    one = file.create_dataset("masked", data=plain.astype("<u2"), chunks=(1, 11, 19), shuffle=True, **hdf5plugin.LZ4())
    frame = np.ascontiguousarray(plain[3].astype("<u2"))
    one.id.write_direct_chunk((3, 0, 0), frame.tobytes(), filter_mask=3)
    frame = np.ascontiguousarray(plain[4].astype("<u2"))
    one.id.write_direct_chunk((4, 0, 0), frame.view("u1").reshape(-1, 2).T.tobytes(), filter_mask=2)
