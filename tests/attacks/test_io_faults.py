# SPDX-License-Identifier: Apache-2.0
"""Every call for input and output may fail: a run then ends with an error that gives the reason, or is right.

It never ends with 0 and another result, never crashes or hangs, leaves no result and no temporary file behind where it
failed, and its message holds the text of errno.
"""
import errno
import os

from attack import died, digest, fail, finish, phantom, preload, run, side_by_side, skip_under_sanitizers, spread

skip_under_sanitizers()
STUDY = phantom(16, 4)
BYTES = ("write", "pwrite", "pwrite64", "read", "pread", "pread64", "fsync", "close", "sendmsg", "recvmsg")
OTHERS = ("rename", "renameat2", "link", "linkat", "fchmod", "ftruncate", "ftruncate64", "pipe2", "socketpair", "fork", "open",
          "openat", "fopen", "opendir", "readdir", "mmap", "lseek", "fstat", "fstatat", "stat", "lstat")


def go(worker, function, at, error, ever):
    folder = os.path.join(worker, "out")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    environment = preload("fault", FAULT_FUNCTION=function, FAULT_AT=at, FAULT_ERRNO=error, FAULT_EVER=ever,
                          FAULT_ARM=os.path.basename(STUDY), FAULT_COUNT=worker + "/count")
    chain = f"dicom {STUDY} | box radius=1 | histogram bins=16 | hdf5 {folder}/o.h5"
    return folder, run("run", chain, "--quiet", env=environment)


def try_one(worker, case):
    function, at, error, ever = case
    folder, done = go(worker, function, at, error, ever)
    name = f"{function} number {at}{' and all after it' if ever else ''}: {errno.errorcode[error]}"
    out = os.path.join(folder, "o.h5")
    left = [entry for entry in os.listdir(folder) if entry != "o.h5"]
    text = done.stdout.decode(errors="replace")
    if died(done):
        fail(f"{name}: exit {done.returncode}")
    elif done.returncode == 0 and (not os.path.exists(out) or digest(out) != EXPECTED):
        fail(f"{name}: exit 0 and another result")
    elif done.returncode != 0 and os.path.exists(out):
        fail(f"{name}: exit {done.returncode}, and a result stands there")
    elif left:
        fail(f"{name}: left {left}")
    elif done.returncode != 0 and os.strerror(error) not in text:
        fail(f"{name}: '{os.strerror(error)}' is not in the message: {text[:200]}")
    return done.returncode


first = os.path.join(os.path.dirname(STUDY), "first")
os.makedirs(first)
cases = []
counts = {}
for function in BYTES + OTHERS:
    folder, done = go(first, function, 10 ** 9, errno.EIO, 0)
    assert done.returncode == 0, done.stdout
    EXPECTED = digest(os.path.join(folder, "o.h5"))
    counts[function] = int(open(first + "/count", encoding="ascii").read().split()[0])
    kinds = ((errno.EIO, 0), (errno.ENOSPC, 1), (errno.EINTR, 0)) if function in BYTES else ((errno.EIO, 0), (errno.ENOMEM, 1))
    cases += [(function, at, error, ever) for at in spread(counts[function], 12) for error, ever in kinds]
codes = [code for _, code in side_by_side(cases, try_one)]
if sum(code != 0 for code in codes) < len(codes) // 4:
    fail("most faults were not noticed: they do not reach the program")
finish(f"{len(cases)} faults in {sum(n > 0 for n in counts.values())} functions", 100)
