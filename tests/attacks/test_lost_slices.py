# SPDX-License-Identifier: Apache-2.0
"""A slice that cannot be read never vanishes in silence: the run fails or warns, or has all slices.

The first, a middle or the last file of a study is damaged in every way that a disk, a copy or a link can have it. Then
every open, read and look at a file fails once with EIO.
"""
import errno
import os
import shutil
import subprocess

from attack import FOLDER, PROGRAM, SANITIZER, died, digest, fail, finish, phantom, preload, run, side_by_side, skip

try:
    import h5py
except ImportError:
    skip("python3-h5py is missing")

STUDY = phantom(16, 6)
FILES = sorted(os.listdir(STUDY))


def change_bytes(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def replace_by_link(path, target):
    os.remove(path)
    os.symlink(target, path)


def move_and_link(path):
    moved = os.path.join(FOLDER, "moved_" + os.path.basename(path))
    shutil.move(path, moved)
    os.symlink(moved, path)


DAMAGES = {
    "unreadable": lambda path: os.chmod(path, 0),
    "empty": lambda path: os.truncate(path, 0),
    "cut at 100 bytes": lambda path: os.truncate(path, 100),
    "cut at 131 bytes": lambda path: os.truncate(path, 131),
    "magic damaged": lambda path: change_bytes(path, 128, b"DICX"),
    "first 1000 bytes zero": lambda path: change_bytes(path, 0, bytes(1000)),
    "a broken link": lambda path: replace_by_link(path, "/nonexistent"),
    "a link to itself": lambda path: replace_by_link(path, path),
    "a link to the slice": move_and_link,
}


def slices_in(path):
    with h5py.File(path) as file:
        return file["entry/data/data"].shape[0]


def as_nobody():
    """Root reads what has no permission, so that the unreadable file is tried as another user."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []


def damage(worker, case):
    name, k = case
    study, out = os.path.join(worker, "study"), os.path.join(worker, "o.h5")
    shutil.rmtree(study, ignore_errors=True)
    shutil.copytree(STUDY, study)
    if os.path.exists(out):
        os.remove(out)
    path = os.path.join(study, FILES[k])
    DAMAGES[name](path)
    os.chmod(worker, 0o777)
    before = as_nobody() if name == "unreadable" else []
    chain = f"dicom {study} | statistics | hdf5 {out}"
    done = subprocess.run([*before, PROGRAM, "run", chain], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    text = done.stdout.decode(errors="replace")
    if done.returncode not in (0, 1, 3):
        fail(f"{name}, file {k}: exit {done.returncode}: {text[:200]}")
    elif done.returncode == 0 and slices_in(out) != len(FILES):
        fail(f"{name}, file {k}: {slices_in(out)} of {len(FILES)} slices, exit 0")
    elif done.returncode == 0 and name != "a link to the slice":
        fail(f"{name}, file {k}: a damaged file was read as if it were whole")
    elif done.returncode != 0 and name == "a link to the slice":
        fail(f"{name}, file {k}: a link to a regular file was refused: {text[:200]}")
    elif done.returncode and FILES[k] not in text:
        fail(f"{name}, file {k}: the message does not name the file: {text[:200]}")
    elif name == "unreadable" and os.strerror(errno.EACCES) not in text:
        fail(f"{name}, file {k}: the message does not give the reason: {text[:200]}")


def one_error(worker, case):
    function, at = case
    out, counted = os.path.join(worker, "o.h5"), os.path.join(worker, "count")
    for path in (out, counted):
        if os.path.exists(path):
            os.remove(path)
    environment = preload("fault", FAULT_FUNCTION=function, FAULT_AT=at, FAULT_ERRNO=errno.EIO,
                          FAULT_ARM=os.path.basename(STUDY), FAULT_COUNT=counted)
    done = run("run", f"dicom {STUDY} | statistics | hdf5 {out}", env=environment)
    if died(done):
        fail(f"{function} number {at} fails: ended with {done.returncode}")
    if done.returncode == 0 and slices_in(out) != len(FILES):
        fail(f"{function} number {at} fails: {slices_in(out)} of {len(FILES)} slices, exit 0")
    return os.path.exists(counted) and int(open(counted, encoding="ascii").read().split()[1])


if subprocess.run([*as_nobody(), PROGRAM, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
    print("SKIPPED the unreadable files of lost_slices: another user cannot start the program where it lies")
    del DAMAGES["unreadable"]
cases = [(name, k) for name in DAMAGES for k in (0, 3, 5)]
side_by_side(cases, damage)
before = digest(os.path.join(STUDY, FILES[-1]))
calls = [(function, at) for function in ("open", "openat", "fopen", "opendir", "readdir", "read", "pread", "pread64", "fstat",
                                         "stat", "lstat", "fstatat") for at in range(24)]
if SANITIZER:
    print("SKIPPED the failing calls of lost_slices: LD_PRELOAD and a sanitizer's run-time do not go together")
    finish(f"{len(cases)} damaged studies", len(cases))
struck = sum(hit for _, hit in side_by_side(calls, one_error))
if struck < 20:
    fail(f"only {struck} of the calls failed: the faults do not reach the program")
assert digest(os.path.join(STUDY, FILES[-1])) == before, "the study was changed"
finish(f"{len(cases)} damaged studies and {struck} failing calls", len(cases))
