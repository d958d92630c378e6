#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Volumes larger than memory: chains of several passes, with neighbors along z and with iterations, run in a process that cannot
have the memory of their image (RLIMIT_DATA), write the bytes of a run with all memory, and read their input as often as
`check` says. One chain shows that the limit is real. Chains of LIKE_OTHERS run only with TOMOSTAGE_TESTS_ALL in the environment.

usage: test_out_of_core.py PROGRAM; a build with sanitizers, which takes memory of its own, skips"""
import json
import os
import resource
import subprocess
import sys
import tempfile

from harness import digest

PROGRAM = os.path.abspath(sys.argv[1])
SLICES, SIZE, MIB = 720, 256, 1 << 20
IMAGE = SLICES * SIZE * SIZE * 4
LIMIT, MEMORY, PLENTY = 160 * MIB, "112M", "600M"
BESIDE = 24 * MIB  # of reading: headers, libraries, names of files
CHAINS = {
    "a pass": "window center=40 width=400 unit=HU",
    "neighbors along z": "gaussian sigma=2 dimensions=3d",
    "neighbors of neighbors": "box radius=2 dimensions=3d | median radius=1 dimensions=3d",
    "several passes": "box radius=2 dimensions=3d | equalize",
    "ranks of values": "gaussian sigma=1 dimensions=3d | statistics percentiles=[5,50,95]",
    "another grid": "resample spacing=[2,1,1]",
    "iterations": f"radon views=6 | sirt iterations=2 rows={SIZE} columns={SIZE}",
    "conjugate gradients": f"radon views=6 | cgls iterations=2 rows={SIZE} columns={SIZE}",
    "iterations along z": "tv weight=20 iterations=2 dimensions=3d",
}
# They read and keep slices as others do: neighbors of neighbors, several passes, iterations.
LIKE_OTHERS = ("neighbors along z", "ranks of values", "conjugate gradients")
if not os.environ.get("TOMOSTAGE_TESTS_ALL"):
    for like in LIKE_OTHERS:
        del CHAINS[like]
failed = 0


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def run(folder, *arguments, limit=None):
    """Returns exit code, output, errors, and the bytes that the process itself has read."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([PROGRAM, *arguments], cwd=folder, stdout=out, stderr=err, preexec_fn=limit,
                                   env=dict(os.environ, TOMOSTAGE_RATES="", OMP_WAIT_POLICY="passive"))
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
            read = next(int(line.split()[1]) for line in file if line.startswith("rchar"))
        code = process.wait()
        out.seek(0), err.seek(0)
        return code, out.read(), err.read(), read


def expect(folder, *arguments, limit=None):
    code, out, err, read = run(folder, *arguments, limit=limit)
    assert code == 0, f"{arguments}: exit {code}\n{err}"
    return out, read


def same_bytes(folder):
    """Compares out.h5 with whole.h5, and says where they differ and what `diff` makes of it."""
    names = [os.path.join(folder, name) for name in ("whole.h5", "out.h5")]
    if digest(names[0]) == digest(names[1]):
        return
    with open(names[0], "rb") as whole, open(names[1], "rb") as out:
        first = next((i for i, (a, b) in enumerate(zip(whole.read(), out.read())) if a != b), "the end")
    said = "".join(run(folder, "diff", "whole.h5", "out.h5")[1:3])
    raise AssertionError(f"other bytes, the first at {first} of {[os.path.getsize(name) for name in names]}:\n{said}")


def check(folder, source, chain, input_bytes):
    chain = f"{source} | {chain} | hdf5 out.h5"
    options = ("--device", "cpu", "--threads", "2", "--force")
    expect(folder, "run", chain, *options, "--quiet", "--memory", PLENTY)
    os.replace(os.path.join(folder, "out.h5"), os.path.join(folder, "whole.h5"))
    events = expect(folder, "check", chain, *options, "--json", "--memory", MEMORY)[0].splitlines()
    plan = next(json.loads(line) for line in events if '"event": "plan"' in line)
    stated = plan["stages"][0]["computed_slices"] / SLICES
    assert stated >= plan["passes"] > 0, f"the input is said to be read {stated} times in {plan['passes']} passes"
    _, read = expect(folder, "run", chain, *options, "--quiet", "--memory", MEMORY, limit=limited)
    same_bytes(folder)
    read -= os.path.getsize(os.path.join(folder, "out.h5"))  # which is read once to be checked
    most, least = stated * input_bytes + BESIDE, (stated - 0.05) * input_bytes
    assert least <= read <= most, f"read {read / input_bytes:.2f} times, and not {stated:.2f} times"
    return stated, plan["slab_slices"]


def least_memory(folder, source, path, beside):
    """With the least budget sources hold nothing that two slabs share, and `check` says how often they read it. `beside`: how often the
    file is read for another reason."""
    options = ("--device", "cpu", "--threads", "2", "--force")
    chain = f"{source} | gaussian sigma=1 dimensions=3d | hdf5 out.h5"
    expect(folder, "run", chain, *options, "--quiet", "--memory", PLENTY)
    os.replace(os.path.join(folder, "out.h5"), os.path.join(folder, "whole.h5"))
    refused = run(folder, "check", chain, *options, "--memory", "20M")[2]
    memory = refused.split("--memory ")[1].split()[0]
    events = expect(folder, "check", chain, *options, "--json", "--memory", memory)[0].splitlines()
    plan = next(json.loads(line) for line in events if '"event": "plan"' in line)
    stated = plan["stages"][0]["computed_slices"] / SLICES
    assert f"read {stated:.2f} times" in expect(folder, "check", chain, *options, "--memory", memory)[0]
    _, read = expect(folder, "run", chain, *options, "--quiet", "--memory", memory)
    same_bytes(folder)
    size = os.path.getsize(os.path.join(folder, path))
    times = (read - os.path.getsize(os.path.join(folder, "out.h5"))) / size - beside
    assert stated > 3 and stated * 0.9 < times <= stated + BESIDE / size, f"read {times:.2f} times, and not {stated:.2f} times"
    return stated, plan["slab_slices"]


def limit_is_real(folder):
    """With a budget beyond the limit the same chain ends for want of memory."""
    chain = "dicom study | box radius=2 dimensions=3d | equalize | hdf5 out.h5"
    code, _, err, _ = run(folder, "run", chain, "--device", "cpu", "--threads", "2", "--force", "--quiet", "--memory", PLENTY,
                          limit=limited)
    assert code != 0 and "memory" in err, f"the limit does not bind: exit {code}\n{err}"


def main():
    global failed
    if os.environ.get("TOMOSTAGE_SANITIZE"):
        print("SKIPPED: a build with sanitizers takes memory of its own")
        sys.exit(77)
    assert IMAGE > LIMIT
    with tempfile.TemporaryDirectory() as folder:
        expect(folder, "phantom", "head", "-o", "study", "--size", str(SIZE), "--slices", str(SLICES), "--noise", "10")
        expect(folder, "run", "dicom study | nifti study.nii", "--device", "cpu", "--quiet")
        study = sum(entry.stat().st_size for entry in os.scandir(os.path.join(folder, "study")))
        rows = [(name, "dicom study", chain, study) for name, chain in CHAINS.items()]
        rows.append(("several passes over NIfTI", "nifti study.nii", CHAINS["several passes"],
                     os.path.getsize(os.path.join(folder, "study.nii"))))
        expect(folder, "run", "dicom study | gaussian sigma=1 | hdf5 study.h5", "--device", "cpu", "--quiet")
        least = [("least memory, NIfTI", "nifti study.nii", "study.nii", 0), ("least memory, a result", "result study.h5", "study.h5", 1)]
        limit_is_real(folder)
        for row in rows + least:
            try:
                way = least_memory if row in least else check
                print("ok      %s: reads its input %.2f times, in slabs of %d" % (row[0], *way(folder, *row[1:])), flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAILED  {row[0]}: {error}", flush=True)
    ran = len(rows) + len(least) - failed
    print(f"{ran} of {len(rows) + len(least)} chains ran, all but the last two in {LIMIT // MIB} MiB; their image has {IMAGE // MIB} MiB")
    sys.exit(failed > 0)


main()
