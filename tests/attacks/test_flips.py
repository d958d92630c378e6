# SPDX-License-Identifier: Apache-2.0
"""`verify` finds every flipped bit, every cut and every added byte of a result, and nothing that reads one dies of it.

Bits are flipped evenly over the whole file, more of them where libhdf5 keeps its structures, and one in each image and each
table. What proves a result before it is used, `report`, `rerun` and `batch --resume`, refuses the flipped file and makes
nothing of it.
"""
import os
import random
import shutil

import h5py

from attack import RESULT_CHAIN, died, fail, finish, phantom, result, run, side_by_side, spread

BYTES = open(result(), "rb").read()
SIGNATURES = (b"\x89HDF", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTLF", b"BTIN", b"TREE", b"HEAP", b"SNOD",
              b"GCOL", b"FADB", b"FAHD", b"EAHD", b"EAIB", b"FSHD", b"FSSE", b"SMTB")


def structures():
    """One bit near each structure of the file."""
    places = []
    for signature in SIGNATURES:
        at = BYTES.find(signature)
        while at >= 0:
            places.append(min(at + random.randrange(0, 140), len(BYTES) - 1))
            at = BYTES.find(signature, at + 1)
    return [places[i] for i in spread(len(places), 80)]


def values():
    """One bit of the values of every dataset that holds a few; those of smaller ones lie within structures."""
    places = []

    def visit(name, found):
        if not isinstance(found, h5py.Dataset) or not found.shape:
            return
        where = found.id.get_chunk_info(0) if found.chunks else None
        start, size = (where.byte_offset, where.size) if where else (found.id.get_offset(), found.id.get_storage_size())
        if start and size:
            places.append(start + random.randrange(size))

    with h5py.File(result()) as file:
        file.visititems(visit)
    return places


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def flipped(place):
    changed = bytearray(BYTES)
    changed[place[0]] ^= 1 << place[1]
    return changed


def verify(worker, case):
    name, data = case
    path = os.path.join(worker, "f.h5")
    write(path, flipped(data) if isinstance(data, tuple) else data)
    done = run("verify", path)
    if died(done):
        fail(f"{name}: verify ended with {done.returncode}")
    elif done.returncode != 3:
        fail(f"{name}: verify ended with {done.returncode}, not 3: {done.stdout[:120]}")


def read(worker, place):
    path, out = os.path.join(worker, "f.h5"), os.path.join(worker, "o")
    write(path, flipped(place))
    chain = f"result {path} image=b | statistics"
    for arguments in (("info", path), ("preview", path, "-o", out + ".png"), ("plot", path, "-o", out + ".svg"),
                      ("diff", path, result()), ("export", path, "--dataset", "b", "-o", out + ".nii", "--force"),
                      ("check", chain, "-o", out + ".h5"), ("run", chain, "-o", out + ".h5", "--force", "--quiet")):
        done = run(*arguments)
        if died(done):
            fail(f"bit {place[1]} of byte {place[0]}: {arguments[0]} ended with {done.returncode}")


def prove(worker, place):
    """Nothing is made of a damaged result, and the file itself stays as it is."""
    folder = os.path.join(worker, "proved")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path, study = os.path.join(folder, "phantom_32_6.h5"), phantom(32, 6)
    write(path, flipped(place))
    for arguments in (("report", path, "-o", folder + "/o.html"), ("rerun", path, "-i", study, "-o", folder + "/o.h5"),
                      ("batch", f"dicom x | {RESULT_CHAIN} | hdf5 y.h5", study, "-o", folder, "--resume")):
        done = run(*arguments)
        if done.returncode != 3:
            fail(f"bit {place[1]} of byte {place[0]}: {arguments[0]} ended with {done.returncode}: {done.stdout[:120]}")
    if os.listdir(folder) != ["phantom_32_6.h5"] or open(path, "rb").read() != flipped(place):
        fail(f"bit {place[1]} of byte {place[0]}: {os.listdir(folder)} stand there, or the file has changed")


in_values = values()
places = spread(len(BYTES), 260) + structures() + in_values
flips = [(f"bit {bit} of byte {place}", (place, bit)) for place in places for bit in (random.randrange(8),)]
cuts = [(f"cut to {n} bytes", BYTES[:n]) for n in [0, 7, len(BYTES) - 1] + spread(len(BYTES), 25)]
added = [(f"{n} bytes added", BYTES + bytes(n)) for n in (1, 64, 512)] + [("twice the file", BYTES + BYTES)]
side_by_side(flips + cuts + added, verify)
reads = [(place, random.randrange(8)) for place in spread(len(BYTES), 24)] + [(p, 3) for p in structures()[::5]]
side_by_side(reads, read)
proved = [(place, random.randrange(8)) for place in spread(len(BYTES), 12) + in_values[:: max(1, len(in_values) // 12)]]
side_by_side(proved, prove)
finish(f"{len(flips)} flips, {len(cuts)} cuts and {len(added)} longer files verified, {len(reads)} flips read and "
       f"{len(proved)} refused by what proves results", 40)
