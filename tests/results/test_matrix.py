#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bytes of a result depend neither on threads, nor on how z was cut into slabs, nor on the run: on each device that is
there, every chain runs with 1 and 2 threads and 3 sizes of slabs, twice each; 10 times each with TOMOSTAGE_TESTS_ALL in the
environment. What is made from a result, its report, its picture and its crate, has the same bytes each time, and a batch and
a second run (`rerun`) make the result again.

usage: test_matrix.py PROGRAM. What needs a GPU is left out where there is none, with a line that says so. Prints one line a chain and device, and a closing line that counts the runs."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import digest

PROGRAM = os.path.abspath(sys.argv[1])
THREADS, SLABS = (1, 2), 3
TIMES = 1 if os.environ.get("TOMOSTAGE_SANITIZE") else 10 if os.environ.get("TOMOSTAGE_TESTS_ALL") else 2
CHAINS = {
    "filters": "box radius=1 dimensions=3d | save name=smooth | histogram bins=32 | clahe | statistics scope=slice "
               "| tv weight=20 iterations=4 dimensions=3d",
    "sweep": "gaussian sigma=1 | box radius={sweep 0 1 2} dimensions=3d | equalize | statistics",
    "reconstruction": "radon views=24 | save name=sinogram | fbp | save name=fbp | sirt input=sinogram iterations=3",
}
runs = failed = 0


def program(folder, *arguments, expect=0, threads=2):
    environment = dict(os.environ, TOMOSTAGE_RATES="", OMP_NUM_THREADS=str(threads))
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stderr}"
    return done.stdout + done.stderr


def fail(text):
    global failed
    failed += 1
    print("FAILED ", text)


def expect_one(name, digests):
    """Fails unless all digests, by what made each, are the same. Returns the digest."""
    global runs
    runs += len(digests)
    first = next(iter(digests.values()))
    other = [what for what, found in digests.items() if found != first]
    if other:
        fail(f"{name}: {len(other)} of {len(digests)} differ from the first: {', '.join(map(str, other[:6]))}")
    return first


def budgets(folder, chain, device, sizes=SLABS):
    """Budgets of memory that give slabs of three sizes, or of at least so many, by the number of slices."""
    option = "--memory" if device == "cpu" else "--gpu-memory"

    def slices(budget):
        text = program(folder, "check", chain, "--json", "--device", device, *([option, str(budget)] if budget else []))
        return json.loads(text.splitlines()[0])["slab_slices"]

    refused = program(folder, "check", chain, "--device", device, option, "1000", expect=2)
    least = int(re.search(option + r" (\d+)M would do", refused)[1]) << 20
    found = {slices(None): None}
    for step in range(40):
        if len(found) < SLABS:
            found.setdefault(slices(least + step * (1 << 16)), least + step * (1 << 16))
    assert len(found) >= sizes, f"{chain}: only slabs of {sorted(found)} slices are planned"
    return found


def runs_of_chain(folder, name, device):
    """Runs one chain in every way. Returns the path of the last result."""
    chain = f"dicom study | {CHAINS[name]} | hdf5 unused.h5"
    ways = [(threads, slices, memory, time) for slices, memory in budgets(folder, chain, device).items()
            for threads in (THREADS if device == "cpu" else THREADS[1:]) for time in range(TIMES)]

    def run(way):
        threads, slices, memory, time = way
        out = f"{name}-{threads}-{slices}-{time}.h5"
        option = "--memory" if device == "cpu" else "--gpu-memory"
        program(folder, "run", chain, "-o", out, "--quiet", "--device", device, "--threads", str(threads),
                *([option, str(memory)] if memory else []))
        found = digest(os.path.join(folder, out))
        os.rename(os.path.join(folder, out), os.path.join(folder, f"{name}.h5"))
        return f"{threads} threads, slabs of {slices}, run {time}", found

    with concurrent.futures.ThreadPoolExecutor(2 if device == "cpu" else 1) as pool:
        expect_one(f"{name} on {device}", dict(pool.map(run, ways)))
    print(f"ok      {name} on {device}: {len(ways)} runs, slabs of {sorted({way[1] for way in ways})} slices")


def made_again(folder, name, device):
    """A batch and a second run make the same file."""
    first = digest(os.path.join(folder, f"{name}.h5"))
    found = {"the run": first}
    for jobs in THREADS:
        program(folder, "batch", f"dicom x | {CHAINS[name]} | hdf5 y.h5", "study", "-o", f"batch{jobs}", "--jobs", str(jobs),
                "--threads", "2", "--device", device, "--quiet")
        found[f"a batch of {jobs} jobs"] = digest(os.path.join(folder, f"batch{jobs}", "study.h5"))
        shutil.rmtree(os.path.join(folder, f"batch{jobs}"))
        program(folder, "rerun", f"{name}.h5", "-i", "study", "-o", "again.h5", "--threads", str(jobs))
        found[f"rerun on {jobs} threads"] = digest(os.path.join(folder, "again.h5"))
        os.remove(os.path.join(folder, "again.h5"))
    expect_one(f"{name} again on {device}", found)


def derived(folder, name):
    """Reports, pictures and crates of one result."""
    for command, out in (("report", "out.html"), ("preview", "out.png"), ("export", "crate")):
        def make(way):
            threads, time = way
            inner = tempfile.mkdtemp(dir=folder)
            to = ["--provenance"] if command == "export" else ["-o"]
            program(folder, command, f"{name}.h5", *to, os.path.join(inner, out), threads=threads)
            return f"{threads} threads, run {time}", digest(os.path.join(inner, out))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            expect_one(f"{command} of {name}", dict(pool.map(make, [(t, i) for t in THREADS for i in range(TIMES)])))
        print(f"ok      {command} of {name}: {len(THREADS) * TIMES} times")


def devices(folder):
    done = subprocess.run([PROGRAM, "check", "dicom study | rescale | hdf5 y.h5", "--device", "cuda", "--json"], cwd=folder,
                          capture_output=True, text=True)
    refused = json.loads(done.stdout.splitlines()[0])
    if refused.get("code") in ("cuda-not-built", "cuda-no-driver", "cuda-no-device"):
        print(f"SKIPPED the part of the matrix on a GPU: {refused['message']}")
        return ["cpu"]
    return ["cpu", "cuda"]


def main():
    with tempfile.TemporaryDirectory(prefix="tomostage-matrix-") as folder:
        program(folder, "phantom", "head", "-o", "study", "--size", "40", "--slices", "14", "--noise", "10")
        for device in devices(folder):
            for name in CHAINS:
                try:
                    runs_of_chain(folder, name, device)
                    made_again(folder, name, device)
                    if device == "cpu" and name == "reconstruction":
                        derived(folder, name)
                except AssertionError as error:
                    fail(f"{name} on {device}: {error}")
    print(f"{runs} files compared, {failed} failed")
    return 1 if failed or runs < len(CHAINS) * SLABS * len(THREADS) * TIMES else 0


if __name__ == "__main__":
    sys.exit(main())
