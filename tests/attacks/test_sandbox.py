# SPDX-License-Identifier: Apache-2.0
"""A decoder that an input has taken over can do nothing: no capability is left in a sandboxed child.

The library `probe` tries one thing in each run, in the child, when it first reads the untrusted file. The test sees
that the attempt was made, that it did not succeed, and, where the kernel ended the child, that the program says so and
fails. First every attempt is made without a sandbox: one that fails even there proves nothing and is listed.
"""
import os
import re
import shutil
import struct

from attack import FOLDER, compressed, fail, finish, phantom, preload, result, run, side_by_side, skip, skip_under_sanitizers

skip_under_sanitizers()
if open("/proc/self/status", encoding="ascii").read().find("\nSeccomp:") < 0:
    skip("this kernel has no seccomp, without which there is no sandbox to test")
SOURCE = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe_attempts.c"), encoding="ascii").read()
ATTEMPTS = re.findall(r'^    \{"(\w+)", \1\},$', SOURCE, re.M)


def scan_file():
    """A Data Exchange scan in a folder of its own; None where h5py is missing."""
    try:
        import h5py
        import numpy as np
    except ImportError:
        print("SKIPPED the foreign HDF5 file: python3-h5py is missing")
        return None
    folder = os.path.join(FOLDER, "scan")
    os.makedirs(folder)
    with h5py.File(folder + "/scan.h5", "w") as file:
        file["exchange/data"] = np.ones((4, 2, 8), "u2")
        file["exchange/theta"] = np.linspace(0, 135, 4)
        file["exchange/theta"].attrs["units"] = "deg"
    return folder


def entries():
    """Ways into a child: (what reads, the folder of the untrusted file, arguments)."""
    study = phantom(16, 4)
    found = []
    for name, tool in (("RLE", "dcmcrle"), ("JPEG", "dcmcjpeg")):
        packed = compressed(study, tool)
        if packed:
            found.append((name, packed, ["run", f"dicom {packed} | statistics", "--force", "--quiet", "-o"]))
    pages = os.path.join(FOLDER, "pages")
    assert run("run", f"dicom {study} | tiff {pages}", "--quiet").returncode == 0
    found.append(("TIFF", pages, ["run", f"tiff {pages} pages=slices pixel_size=1 spacing_z=1 | statistics", "--force", "--quiet", "-o"]))
    found.append(("info of TIFF", pages, ["info", pages]))
    scan = scan_file()
    if scan:
        chain = f"exchange {scan}/scan.h5 pixel_size=0.1 | statistics"
        found.append(("run exchange", scan, ["run", chain, "--force", "--quiet", "-o"]))
        found.append(("info", scan, ["info", scan + "/scan.h5"]))
    own = os.path.join(FOLDER, "own")
    os.makedirs(own)
    path = shutil.move(result(), own)
    found.append(("verify", own, ["verify", path]))
    found.append(("preview", own, ["preview", path, "--force", "-o"]))
    return found


def attempt(worker, name, folder, arguments, at_start):
    victim, report = os.path.join(worker, "victim"), os.path.join(worker, "report")
    for path in (victim + ".new", victim + ".moved"):
        if os.path.exists(path):
            os.remove(path)
    with open(victim, "wb") as file:
        file.write(b"a secret")
    with open(report, "wb") as file:
        file.write(bytes(12))
    environment = preload("probe", PROBE_REPORT=report, PROBE_INPUT=folder, PROBE_ATTEMPT=name, PROBE_VICTIM=victim)
    if at_start:
        environment["PROBE_AT_START"] = "1"
    if arguments[-1] == "-o":
        arguments = [*arguments, os.path.join(worker, "o.png" if arguments[0] == "preview" else "o.h5")]
    with open(victim, "rb+") as opened:
        done = run(*arguments, env=environment, stdin=opened)
    with open(report, "rb") as file:
        begun, refused, succeeded = struct.unpack("3i", file.read(12))
    return begun, refused, succeeded, done


def try_attempt(worker, case):
    (entry, folder, arguments), name = case
    begun, refused, succeeded, done = attempt(worker, name, folder, arguments, False)
    text = done.stdout.decode(errors="replace")
    if done.returncode == "hang":
        fail(f"{entry}, {name}: the program hangs")
    elif succeeded:
        fail(f"{entry}, {name}: the child could do it")
    elif not begun:
        fail(f"{entry}, {name}: no child read the file, so that nothing was tried: {text[:120]}")
    elif refused < begun and (done.returncode == 0 or "Bad system call" not in text):
        fail(f"{entry}, {name}: the child was ended and the program does not say so: exit {done.returncode}: {text[:200]}")
    elif refused < begun and not any(file in text for file in [*os.listdir(folder), os.path.basename(folder)]):
        fail(f"{entry}, {name}: the child was ended and the program does not name the file: {text[:200]}")


start = os.path.join(FOLDER, "start")
os.makedirs(start)
possible, impossible = [], []
for each in ATTEMPTS:
    *_, succeeded, _ = attempt(start, each, start, ["--version"], True)
    (possible if succeeded else impossible).append(each)
if impossible:
    print(f"not possible here without a sandbox either, so that these prove nothing: {', '.join(impossible)}")
if len(possible) < 16:
    fail(f"only {len(possible)} of {len(ATTEMPTS)} attempts succeed without a sandbox")
ways = entries()
cases = [(way, name) for way in ways for name in ATTEMPTS]
side_by_side(cases, try_attempt)
finish(f"{len(cases)} attempts by {len(ways)} ways in, {len(possible)} of {len(ATTEMPTS)} possible without a sandbox", 60)
