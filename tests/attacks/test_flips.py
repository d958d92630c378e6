# SPDX-License-Identifier: Apache-2.0
"""`verify` finds every flipped bit, every cut and every added byte of a result, and nothing that reads one dies of it.

Bits are flipped evenly over the whole file, and more of them where libhdf5 keeps its structures.
"""
import os
import random

from attack import died, fail, finish, result, run, side_by_side, spread

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
                      ("check", chain, "-o", out + ".h5"), ("run", chain, "-o", out + ".h5", "--force", "--quiet")):
        done = run(*arguments)
        if died(done):
            fail(f"bit {place[1]} of byte {place[0]}: {arguments[0]} ended with {done.returncode}")


places = spread(len(BYTES), 260) + structures()
flips = [(f"bit {bit} of byte {place}", (place, bit)) for place in places for bit in (random.randrange(8),)]
cuts = [(f"cut to {n} bytes", BYTES[:n]) for n in [0, 7, len(BYTES) - 1] + spread(len(BYTES), 25)]
added = [(f"{n} bytes added", BYTES + bytes(n)) for n in (1, 64, 512)] + [("twice the file", BYTES + BYTES)]
side_by_side(flips + cuts + added, verify)
reads = [(place, random.randrange(8)) for place in spread(len(BYTES), 24)] + [(p, 3) for p in structures()[::5]]
side_by_side(reads, read)
finish(f"{len(flips)} flips, {len(cuts)} cuts and {len(added)} longer files verified, {len(reads)} flips read", 40)
