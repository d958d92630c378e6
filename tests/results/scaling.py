#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures runs in ranks beside what `check --machine` predicts for them on this machine, and prints a table of tab-separated
values, as docs/notes/scaling.tsv keeps it. The rates are measured first. Runs of all numbers of ranks take turns, because
other programs on the machine lengthen them.

usage: scaling.py PROGRAM MPIRUN FOLDER [--ranks 1,2,4] [--rounds N] [--keep-rates]
PROGRAM is built with TOMOSTAGE_MPI. FOLDER is made where it is missing, and holds the inputs and results afterwards."""
import argparse
import json
import os
import resource
import subprocess
import sys
import time

CHAINS = (("gaussian", "dicom head | gaussian sigma=1.5 dimensions=3d | statistics | hdf5 out.h5"),
          ("clahe", "dicom head | clahe | hdf5 out.h5"))


def program(arguments, *command, before=()):
    done = subprocess.run([*before, arguments.program, *command], cwd=arguments.folder, text=True, capture_output=True,
                          env=dict(os.environ, TOMOSTAGE_RATES="rates.json", OMP_WAIT_POLICY="passive"))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def predict(arguments, chain, most):
    with open(os.path.join(arguments.folder, "here.yaml"), "w", encoding="utf-8") as file:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        file.write(f"nodes: 1\ncores: {len(os.sched_getaffinity(0))}\nmemory: {memory}\nranks: {most}\nrates_file: rates.json\n")
    text = program(arguments, "check", chain, "--force", "--device", "cpu", "--machine", "here.yaml", "--json")
    event = next(json.loads(line) for line in text.splitlines() if '"scale"' in line)
    return {row["ranks"]: row for row in event["rows"]}


def measure(arguments, chain, ranks):
    """Returns seconds of the whole process and of processors."""
    mpirun = [arguments.mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    program(arguments, "run", chain, "--quiet", "--force", "--device", "cpu", before=mpirun if ranks > 1 else ())
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("mpirun")
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slices", type=int, default=192)
    parser.add_argument("--keep-rates", action="store_true", help="use the rates.json that is in FOLDER")
    arguments = parser.parse_args()
    numbers = [int(n) for n in arguments.ranks.split(",")]
    os.makedirs(arguments.folder, exist_ok=True)
    if not os.path.exists(os.path.join(arguments.folder, "head")):
        program(arguments, "phantom", "head", "--size", "512", "--slices", str(arguments.slices), "--noise", "20", "-o", "head",
                "--quiet")
    if not arguments.keep_rates:
        program(arguments, "bench", "rates", "--device", "cpu", "--save", "rates.json")
    print("chain\tdevice\tranks\tpredicted_s\tleast_s\tmost_s\tpredicted_processor_s\tprocessor_s\tload")
    for name, chain in CHAINS:
        rows = predict(arguments, chain, max(numbers))
        found = {n: [] for n in numbers}
        load = []
        for _ in range(arguments.rounds):
            for n in numbers:
                found[n].append(measure(arguments, chain, n))
                load.append(os.getloadavg()[0])
        for n in numbers:
            seconds, processor = zip(*found[n])
            threads = len(os.sched_getaffinity(0)) * sum(rows[n]["parts"][part] for part in (
                "read", "decode", "stages", "compress", "digest", "prove", "store"))
            print(f"{name}\tcpu\t{n}\t{rows[n]['seconds']:.2f}\t{min(seconds):.2f}\t{max(seconds):.2f}\t{threads:.2f}"
                  f"\t{min(processor):.2f}\t{min(load):.1f}-{max(load):.1f}", flush=True)


main()
