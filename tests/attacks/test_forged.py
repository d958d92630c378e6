# SPDX-License-Identifier: Apache-2.0
"""`verify` finds edits that keep HDF5's own checksums right, and forged giants cost it nothing.

Each edit is made with h5py, so that the file stays a good HDF5 file. The trailer tells that bytes changed; so that the
digests inside are tried as well, each edit is tried again with a trailer that was made to fit.
"""
import hashlib
import os
import resource
import shutil
import struct

from attack import FOLDER, died, digest, fail, finish, result, run, side_by_side, skip

try:
    import h5py
    import numpy as np
except ImportError:
    skip("python3-h5py is missing")

TRAILER = b"tomostage result"
RESULT = result()


def attribute(path, name, change):
    def edit(file):
        old = file[path].attrs[name]
        file[path].attrs.modify(name, change(old))
    return edit


def other(value):
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return value + 1
    if isinstance(value, (bytes, np.bytes_)):  # other in its first letter: HDF5 cuts what is too long
        return np.bytes_(b"yy" if value.startswith(b"x") else b"xx")
    return "xx" if isinstance(value, str) else value


def swap(file):
    file.move("entry/b/data", "entry/b/t")
    file.move("entry/b/x", "entry/b/data")
    file.move("entry/b/t", "entry/b/x")


def giant(file):
    data = file.create_dataset("entry/giant", shape=(1 << 44,), dtype="u1", chunks=(1 << 20,))
    data.attrs["sha256"] = np.bytes_("0" * 64)


def bomb(file):
    data = file.create_dataset("entry/bomb", shape=(1 << 33,), dtype="u1", chunks=(1 << 30,), compression="gzip")
    data.attrs["sha256"] = np.bytes_("0" * 64)


def edits():
    found = {
        "a dataset is deleted": lambda file: file.__delitem__("entry/b/data"),
        "two datasets swap names": swap,
        "a dataset is added": lambda file: file.create_dataset("entry/extra", data=[1, 2]),
        "a value is changed": lambda file: file["entry/b/data"].__setitem__((0, 0, 0), 7),
        "an external link is added": lambda file: file.__setitem__("entry/ext", h5py.ExternalLink("/etc/passwd", "/")),
        "a soft link is added": lambda file: file.__setitem__("entry/soft", h5py.SoftLink("/entry/b/data")),
        "a hard link is added": lambda file: file.__setitem__("entry/hard", file["entry/b/data"]),
        "a loop is added": lambda file: file.__setitem__("entry/b/loop", file["entry"]),
        "an attribute is added": lambda file: file["entry/b"].attrs.__setitem__("more", 1.0),
        "an unwritten dataset of 16 TiB": giant,
        "chunks of 1 GiB": bomb,
    }

    def look(path, item):
        for name, value in item.attrs.items():
            if name not in ("sha256", "sha256_tree") and "digest" not in name:
                if not np.array_equal(other(value), value):
                    found[f"attribute {name} of {path}"] = attribute(path, name, other)

    with h5py.File(RESULT) as file:
        for path in ("entry/data", "entry/b", "entry/provenance"):
            look(path, file[path])
            file[path].visititems(lambda name, item, path=path: look(f"{path}/{name}", item))
    return found


def tree_digest(data):
    leaves = b"".join(hashlib.sha256(data[at:at + (1 << 20)]).digest() for at in range(0, len(data), 1 << 20))
    return hashlib.sha256(len(data).to_bytes(8, "little") + leaves).digest()


def fit_trailer(path):
    """Ends the file as docs/provenance.md says, so that only the digests inside can find the edit."""
    with open(path, "rb") as file:
        body = file.read()
    if body[-64:-48] == TRAILER:
        body = body[:-64]
    with open(path, "wb") as file:
        file.write(body + TRAILER + struct.pack("<QQ", 1, len(body)) + tree_digest(body))


def limit_work():
    """No edit makes a process of the program work for longer than 10 s, however long it takes on a busy machine."""
    resource.setrlimit(resource.RLIMIT_CPU, (10, resource.RLIM_INFINITY))


def try_edit(worker, case):
    name, edit = case
    path = os.path.join(worker, "f.h5")
    shutil.copy(RESULT, path)
    with h5py.File(path, "r+") as file:
        edit(file)
    for trailer in ("left as it is", "made to fit"):
        if trailer == "made to fit":
            fit_trailer(path)
        done = run("verify", path, preexec_fn=limit_work)
        if died(done):
            fail(f"{name}, trailer {trailer}: verify ended with {done.returncode}")
        elif done.returncode != 3:
            fail(f"{name}, trailer {trailer}: verify ended with {done.returncode}, not 3")


whole = os.path.join(FOLDER, "whole.h5")
shutil.copy(RESULT, whole)
fit_trailer(whole)
if digest(whole) != digest(RESULT):
    fail("a trailer that is made anew for an unchanged result is not the program's own")
cases = edits()
side_by_side(cases.items(), try_edit)
finish(f"{len(cases)} edits, each with two trailers", 20)
