#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs chains on a device with all numbers of ranks, threads, and sizes of slabs, and keeps the digest of the values of their images
and tables in a table of tab-separated values, docs/notes/hash-matrix.tsv. A chain of integers must have one digest on all
devices, and a chain of floats one on each kind of device. The values are digested, and not the files, which name the program that wrote them.

usage: hash_matrix.py PROGRAM TABLE.tsv [--device cpu|cuda|cuda:N,M] [--mpirun MPIRUN]
Rows of the device are written anew and those of others are kept. PROGRAM is built with TOMOSTAGE_MPI where MPIRUN is given;
without it there is one rank. Needs h5py. Ends with 1 where a digest differs."""
import argparse
import csv
import hashlib
import os
import subprocess
import sys
import tempfile

import h5py

from test_matrix import CHAINS, PROGRAM, budgets, devices, program

ALL = {"integers": "median radius=1 | box radius=2 dimensions=3d | save name=smooth | equalize method=opencv | histogram bins=64", **CHAINS}
RANKS, THREADS = (1, 2, 4), (1, 2)
COLUMNS = ("chain", "kind", "device", "ranks", "threads", "slab_slices", "runs", "digest")


def values_digest(path):
    """The digest of names, types, shapes and values of all signals, which are integers or floats."""
    found, datasets = hashlib.sha256(), []
    with h5py.File(path) as file:
        file["entry"].visititems(lambda name, item: datasets.append(name)
                                 if isinstance(item, h5py.Dataset) and item.parent.attrs.get("NX_class") == b"NXdata" else None)
        assert datasets, f"{path} has no images"
        for name in sorted(datasets):
            values = file["entry"][name][()]
            found.update(f"{name} {values.dtype} {values.shape} ".encode() + values.tobytes())
    return found.hexdigest()


def run(folder, chain, device, mpirun, ranks, threads, memory):
    option = "--memory" if device == "cpu" else "--gpu-memory"
    command = [PROGRAM, "run", chain, "-o", "out.h5", "--force", "--quiet", "--device", device, "--threads", str(threads),
               *([option, str(memory)] if memory else [])]
    launcher = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    if ranks > 1 and device != "cpu":
        command += ["--set", "output.compression=none"]  # a small study is one chunk, of which a GPU would want all slices
    done = subprocess.run([*launcher, *command], cwd=folder, capture_output=True, text=True,
                          env=dict(os.environ, TOMOSTAGE_RATES="", OMP_WAIT_POLICY="passive"))
    assert done.returncode == 0, f"{ranks} ranks, {command}: exit {done.returncode}\n{done.stderr}"
    return values_digest(os.path.join(folder, "out.h5"))


def rows_of(folder, name, arguments):
    """A row for each digest; one where all runs agree."""
    chain = f"dicom study | {ALL[name]} | hdf5 unused.h5"
    ranks = RANKS if arguments.mpirun else RANKS[:1]
    slabs = budgets(folder, chain, arguments.device, 1 if "," in arguments.device else 3)  # a device has few of the 14 slices
    found = {}
    for n in ranks:
        for threads in THREADS:
            for slices, memory in slabs.items():
                digest = run(folder, chain, arguments.device, arguments.mpirun, n, threads, memory)
                found.setdefault(digest, []).append((n, threads, slices))

    def all_of(ways, column):
        return ",".join(map(str, sorted({way[column] for way in ways})))

    return [dict(zip(COLUMNS, (name, "integers" if name == "integers" else "floats", arguments.device, all_of(ways, 0),
                               all_of(ways, 1), all_of(ways, 2), len(ways), digest))) for digest, ways in found.items()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mpirun")
    arguments = parser.parse_args()
    rows = []
    if os.path.exists(arguments.table):
        with open(arguments.table, encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if row["device"] != arguments.device]
    with tempfile.TemporaryDirectory(prefix="tomostage-hashes-") as folder:
        program(folder, "phantom", "head", "-o", "study", "--size", "40", "--slices", "14", "--noise", "10")
        if arguments.device.split(":")[0] not in devices(folder):
            sys.exit("there is no CUDA device here")
        for name in ALL:
            rows += rows_of(folder, name, arguments)
    with open(arguments.table, "w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    digests = {}
    for row in rows:
        digests.setdefault((row["chain"], "" if row["kind"] == "integers" else row["device"].split(":")[0]), set()).add(row["digest"])
    wrong = [f"{chain} {device}".strip() for (chain, device), found in digests.items() if len(found) > 1]
    for text in wrong:
        print(f"FAILED  {text}: the digests differ")
    print(f"{sum(int(row['runs']) for row in rows)} runs in the table, {len(wrong)} chains differ")
    return 1 if wrong else 0


sys.exit(main())
