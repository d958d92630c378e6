# SPDX-License-Identifier: Apache-2.0
"""Loading DICOM studies beside other tools: headers a second, large studies, and files written as they were read.

Studies lie in memory, and so do the results, so that no disk takes part. Their headers have as many elements as those of a
scanner. Commands are processes of their own, in turns, and each time is the median.

usage: loading.py TOMOSTAGE [scan] [growth] [write] [--rounds N] [--slices N] [--small N] [--pixels N]
  scan    `info` on the small study, with 1 processor, 2, 4, ... all of them
  growth  `info`, NIfTI and HDF5 of a study of 10 x --small slices (default 5000) against one of --small: goal 12 times as long
  write   --slices (default 512) of --pixels (default 512) squared to .nii, .nii.gz and .h5 against dcm2niix and against pydicom
          with threads and h5py: goals 3 times dcm2niix -z n and 5 times pydicom and h5py. `-z y` is pigz, and compressed files
          are timed once. Absent tools are named.
  make FOLDER SLICES PIXELS in place of TOMOSTAGE makes a study alone"""
import argparse
import glob
import importlib.util
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

CHAIN = "dicom {study} | {form} {out}"


# ---- studies -------------------------------------------------------------------------------------


def element(group, number, kind, value):
    """One element in explicit VR, little endian."""
    value = value if isinstance(value, bytes) else value.encode()
    value += (b"\0" if kind in ("UI", "OB", "UN") else b" ") * (len(value) % 2)
    head = struct.pack("<HH2s", group, number, kind.encode())
    long = kind in ("OB", "OW", "UN", "SQ")
    return head + (struct.pack("<HI", 0, len(value)) if long else struct.pack("<H", len(value))) + value


def header(pixels, uid, number, position, private):
    """A CT header: 40 standard elements, a sequence, and 120 private ones, which readers have to pass over."""
    word = struct.pack
    place = f"-125.0\\-130.5\\{position:.4f}"
    texts = [(0x0005, "CS", "ISO_IR 100"), (0x0008, "CS", "ORIGINAL\\PRIMARY\\AXIAL"), (0x0012, "DA", "20200101"),
             (0x0016, "UI", "1.2.840.10008.5.1.4.1.1.2"), (0x0018, "UI", f"{uid}.{number}"), (0x0020, "DA", "20200101"),
             (0x0030, "TM", "101010.123"), (0x0060, "CS", "CT"), (0x0070, "LO", "Example"), (0x0080, "LO", "Example hospital"),
             (0x1030, "LO", "CT of a phantom"), (0x103E, "LO", "Axial 2.5"), (0x1090, "LO", "Model 7")]
    sequence = element(0x0008, 0x1150, "UI", "1.2.840.10008.5.1.4.1.1.2") + element(0x0008, 0x1155, "UI", f"{uid}.9.{number}")
    item = word("<HHI", 0xFFFE, 0xE000, len(sequence)) + sequence
    out = b"".join(element(0x0008, *row) for row in texts) + element(0x0008, 0x1140, "SQ", item)
    out += element(0x0009, 0x0010, "LO", "EXAMPLE_01")
    out += b"".join(element(0x0009, 0x1001 + i, "LO", f"private value {private[i]}") for i in range(120))
    texts = [(0x0010, "PN", "Phantom"), (0x0020, "LO", "P1")]
    out += b"".join(element(0x0010, *row) for row in texts)
    texts = [(0x0022, "CS", "HELICAL MODE"), (0x0050, "DS", "2.5"), (0x0060, "DS", "120"), (0x0090, "DS", "250"), (0x1020, "LO", "1.0"),
             (0x1030, "LO", "Head"), (0x1100, "DS", "250"), (0x1120, "DS", "0"), (0x1150, "IS", "1000"), (0x1151, "IS", "200"),
             (0x1210, "SH", "STANDARD"), (0x5100, "CS", "HFS")]
    out += b"".join(element(0x0018, *row) for row in texts)
    texts = [(0x000D, "UI", uid), (0x000E, "UI", uid + ".1"), (0x0010, "SH", "1"), (0x0011, "IS", "3"), (0x0012, "IS", "1"),
             (0x0013, "IS", str(number)), (0x0032, "DS", place), (0x0037, "DS", "1\\0\\0\\0\\1\\0"), (0x0052, "UI", uid + ".2"),
             (0x1041, "DS", f"{position:.4f}")]
    out += b"".join(element(0x0020, *row) for row in texts)
    out += element(0x0028, 0x0002, "US", word("<H", 1)) + element(0x0028, 0x0004, "CS", "MONOCHROME2")
    out += element(0x0028, 0x0010, "US", word("<H", pixels)) + element(0x0028, 0x0011, "US", word("<H", pixels))
    out += element(0x0028, 0x0030, "DS", "0.5\\0.5")
    for tag, value in ((0x0100, 16), (0x0101, 12), (0x0102, 11), (0x0103, 0)):
        out += element(0x0028, tag, "US", word("<H", value))
    return out + element(0x0028, 0x1052, "DS", "-1024") + element(0x0028, 0x1053, "DS", "1")


def make_study(folder, slices, pixels):
    """Slices of noise around a few tissues, so that gzip has about as much to do as with a CT."""
    dice = random.Random(1)
    uid = "1.2.826.0.1.3680043.8.498.77"
    meta = element(2, 1, "OB", b"\0\1") + element(2, 2, "UI", "1.2.840.10008.5.1.4.1.1.2")
    meta += element(2, 3, "UI", uid) + element(2, 0x10, "UI", "1.2.840.10008.1.2.1")
    start = bytes(128) + b"DICM" + element(2, 0, "UL", struct.pack("<I", len(meta))) + meta
    rows = [struct.pack(f"<{pixels}H", *(tissue + int(dice.gauss(0, 12)) for _ in range(pixels))) for tissue in (99, 1024, 1064, 1900)
            for _ in range(64)]
    private = [dice.randrange(10**9) for _ in range(120)]
    os.makedirs(folder)
    for k in range(slices):
        body = header(pixels, uid, k + 1, 2.5 * k, private)
        image = b"".join(rows[(y * 4 // pixels) * 64 + dice.randrange(64)] for y in range(pixels))
        with open(f"{folder}/IM{k:06d}.dcm", "wb") as file:
            file.write(start + body + element(0x7FE0, 0x0010, "OW", image))


# ---- peers ---------------------------------------------------------------------------------------


def read_slices(folder):
    """Slices in rising z, rescaled to the integers that they are, and read by all cores."""
    import numpy
    import pydicom

    def read(path):
        image = pydicom.dcmread(path)
        values = image.pixel_array * image.RescaleSlope + image.RescaleIntercept
        return float(image.ImagePositionPatient[2]), values.astype("i2")

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return numpy.stack([values for _, values in sorted(threads.map(read, glob.glob(folder + "/*")), key=lambda row: row[0])])


def write_hdf5(folder, out, **options):
    import h5py

    values = read_slices(folder)
    with h5py.File(out, "w") as file:
        file.create_dataset("data", data=values, **options)


PEERS = {"stored": {}, "gzip": {"chunks": (1, 512, 512), "compression": "gzip", "compression_opts": 1, "shuffle": True}}


# ---- times ---------------------------------------------------------------------------------------


def seconds_of(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(" ".join(command) + "\n" + done.stdout)
    return time.monotonic() - begin


def median(values):
    return sorted(values)[len(values) // 2]


def in_turns(commands, rounds):
    """The times of each command, round by round after one round that is not counted."""
    rows = [[seconds_of(command) for command in commands] for _ in range(rounds + 1)]
    return list(zip(*rows[1:]))


def ours(program, study, form, out):
    return [program, "run", CHAIN.format(study=study, form=form, out=out), "--force", "--quiet"]


def show_scan(program, folder, options):
    study, all_cores = folder + "/small", sorted(os.sched_getaffinity(0))
    empty = folder + "/one"
    make_study(study, options.small, 16)
    make_study(empty, 1, 16)
    n = 1
    while True:
        pin = ["taskset", "-c", ",".join(map(str, all_cores[:n]))] if shutil.which("taskset") else []
        many, one = in_turns([pin + [program, "info", study], pin + [program, "info", empty]], options.rounds)
        rate = options.small / (median(many) - median(one))
        print(f"scan: {options.small} headers on {n} of {len(all_cores)} processors: {median(many):.3f} s (one header "
              f"{median(one):.3f} s), {rate:,.0f} a second", flush=True)
        if n >= len(all_cores):
            break
        n = min(2 * n, len(all_cores))
    shutil.rmtree(study)


def show_growth(program, folder, options):
    small, large = folder + "/small", folder + "/large"
    make_study(small, options.small, 16)
    make_study(large, 10 * options.small, 16)
    for name in ("info", "nifti", "hdf5"):
        out = folder + ("/r.nii" if name == "nifti" else "/r.h5")
        commands = [[program, "info", s] if name == "info" else ours(program, s, name, out) for s in (small, large)]
        few, many = in_turns(commands, options.rounds)
        print(f"growth: {name}: {options.small} slices {median(few):.3f} s, {10 * options.small} slices {median(many):.3f} s, "
              f"{median(many) / median(few):.1f} times as long", flush=True)
    shutil.rmtree(small)
    shutil.rmtree(large)


def show_write(program, folder, options):
    study = folder + "/study"
    make_study(study, options.slices, options.pixels)
    niix = ["dcm2niix", "-b", "y", "-w", "1", "-f", "x", "-o", folder + "/theirs", "-z"]
    peer = [sys.executable, os.path.abspath(__file__), "--peer"]
    rows = [("nifti", "r.nii", "dcm2niix -z n", niix + ["n", study], options.rounds),
            ("nifti", "r.nii", "pydicom, h5py", peer + ["stored", study, folder + "/theirs/x.h5"], options.rounds),
            ("hdf5", "r.h5 compression=none", "pydicom, h5py", peer + ["stored", study, folder + "/theirs/x.h5"], options.rounds),
            ("hdf5", "r.h5", "pydicom, h5py, gzip 1", peer + ["gzip", study, folder + "/theirs/x.h5"], 1),
            ("nifti", "r.nii.gz", "dcm2niix -z y", niix + ["y", study], 1),
            ("nifti", "r.nii.gz", "dcm2niix -z i", niix + ["i", study], 1)]
    os.makedirs(folder + "/theirs")
    absent = [name for name in ("pydicom", "h5py", "numpy") if importlib.util.find_spec(name) is None]
    absent += [name for name in ("dcm2niix", "pigz") if not shutil.which(name)]
    print(f"write: {options.slices} x {options.pixels} x {options.pixels}; absent: {', '.join(absent) or 'nothing'}")
    for form, out, name, command, rounds in rows:
        if any(package in name.replace("-z y", "pigz") for package in absent):
            continue
        mine, theirs = in_turns([ours(program, study, form, folder + "/" + out), command], rounds)
        print(f"write: {out}: tomostage {median(mine):.3f} s, {name} {median(theirs):.3f} s, ratio "
              f"{median(theirs) / median(mine):.2f}", flush=True)


def main():
    if sys.argv[1:2] == ["--peer"]:
        write_hdf5(sys.argv[3], sys.argv[4], **PEERS[sys.argv[2]])
        return
    if sys.argv[1:2] == ["make"]:
        make_study(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("what", nargs="*", default=["scan", "growth", "write"])
    for name, value in (("rounds", 5), ("slices", 512), ("small", 5000), ("pixels", 512)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for what in options.what:
            {"scan": show_scan, "growth": show_growth, "write": show_write}[what](program, folder, options)


if __name__ == "__main__":
    main()
