# SPDX-License-Identifier: Apache-2.0
"""Every allocation of the project's own code may fail: a run then ends with an error that says so, or is right.

Once one allocation fails, and once all from there on. It never crashes or hangs, never ends with 0 and another result,
leaves no temporary file and is never silent. An allocation that fails inside another library may end the process, but
that leaves no temporary file and no false success either.
"""
import errno
import os

from attack import died, digest, fail, finish, phantom, preload, run, side_by_side, skip_under_sanitizers, spread

skip_under_sanitizers()
STUDY = phantom(16, 4)


def go(worker, at, ever, own):
    folder = os.path.join(worker, "out")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    environment = preload("fault", FAULT_FUNCTION="malloc", FAULT_AT=at, FAULT_EVER=ever, FAULT_OWN=own,
                          FAULT_ERRNO=errno.ENOMEM, FAULT_ARM=os.path.basename(STUDY), FAULT_COUNT=worker + "/count")
    chain = f"dicom {STUDY} | box radius=1 | histogram bins=16 | hdf5 {folder}/o.h5"
    return folder, run("run", chain, "--quiet", env=environment)


def try_one(worker, case):
    at, ever, own = case
    folder, done = go(worker, at, ever, own)
    name = f"allocation {at} of {'the own code' if own else 'all code'} fails {'and all after it' if ever else 'once'}"
    out = os.path.join(folder, "o.h5")
    left = [entry for entry in os.listdir(folder) if entry != "o.h5"]
    if own and died(done) or done.returncode == "hang":
        fail(f"{name}: exit {done.returncode}")
    elif done.returncode == 0 and (not os.path.exists(out) or digest(out) != EXPECTED):
        fail(f"{name}: exit 0 and another result")
    elif done.returncode != 0 and os.path.exists(out):
        fail(f"{name}: exit {done.returncode}, and a result stands there")
    elif left:
        fail(f"{name}: left {left}")
    elif done.returncode != 0 and not died(done) and not done.stdout.strip():
        fail(f"{name}: exit {done.returncode} without a word")
    return done.returncode


first = os.path.join(os.path.dirname(STUDY), "first")
os.makedirs(first)
sites = {}
for own in (1, 0):
    folder, done = go(first, 10 ** 9, 0, own)
    assert done.returncode == 0, done.stdout
    EXPECTED = digest(os.path.join(folder, "o.h5"))
    sites[own] = int(open(first + "/count", encoding="ascii").read().split()[0])
cases = [(at, ever, 1) for ever in (0, 1) for at in spread(sites[1], 130)]
cases += [(at, ever, 0) for ever in (0, 1) for at in spread(sites[0], 25)]
codes = [code for _, code in side_by_side(cases, try_one)]
if sum(code != 0 for code in codes) < len(codes) // 4:
    fail("most failing allocations were not noticed: the faults do not reach the program")
finish(f"{len(cases)} failing allocations, of {sites[1]} own and {sites[0]} in all", 100)
