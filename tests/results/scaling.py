#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures runs in ranks, or on several GPUs, beside what `check --machine` predicts for them on this machine, and prints a
table of tab-separated values, as docs/notes/scaling.tsv keeps it. The rates are measured first. Runs of all numbers take
turns, because other programs on the machine lengthen them.

usage: scaling.py PROGRAM MPIRUN FOLDER [--ranks 1,2,4] [--rounds N] [--keep-rates]
       scaling.py PROGRAM none FOLDER --gpus 1,2 [--rounds N] [--keep-rates]
PROGRAM is built with TOMOSTAGE_MPI for ranks, and with CUDA for GPUs. FOLDER is made where it is missing, and holds the inputs
and results afterwards."""
import argparse
import json
import os
import resource
import subprocess
import sys
import time

CHAINS = {"cpu": (("gaussian", "dicom head | gaussian sigma=1.5 dimensions=3d | statistics | hdf5 out.h5"),
                  ("clahe", "dicom head | clahe | hdf5 out.h5")),
          "cuda": (("fbp", "scan.yaml"), ("sirt", "sirt.yaml"))}
SCAN = """tomostage: 2
input: {nexus: scan.nxs}
inputs:
  flats: {nexus: scan.nxs, frames: flats}
  darks: {nexus: scan.nxs, frames: darks}
stages: [flat_field: {flats: flats, darks: darks}, minus_log: {nonpositive: floor}, %s]
output: {hdf5: out.h5}
"""


def program(arguments, *command, before=()):
    done = subprocess.run([*before, arguments.program, *command], cwd=arguments.folder, text=True, capture_output=True,
                          env=dict(os.environ, TOMOSTAGE_RATES="rates.json", OMP_WAIT_POLICY="passive"))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_inputs(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    where = {name: os.path.join(arguments.folder, name) for name in ("head", "scan.nxs", "scan.yaml", "sirt.yaml")}
    if arguments.gpus and not os.path.exists(where["scan.nxs"]):
        program(arguments, "phantom", "scan", "--size", "1024", "--slices", str(arguments.slices), "--views", "1024", "-o",
                "scan.nxs", "--quiet")
    elif not arguments.gpus and not os.path.exists(where["head"]):
        program(arguments, "phantom", "head", "--size", "512", "--slices", str(arguments.slices), "--noise", "20", "-o", "head",
                "--quiet")
    for name, stage in ("scan.yaml", "fbp"), ("sirt.yaml", "sirt: {iterations: 20}"):
        with open(where[name], "w", encoding="utf-8") as file:
            file.write(SCAN % stage)


def predict(arguments, chain, most):
    cores, memory = len(os.sched_getaffinity(0)), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    with open(os.path.join(arguments.folder, "here.yaml"), "w", encoding="utf-8") as file:
        file.write(f"nodes: 1\ncores: {cores}\nmemory: {memory}\nrates_file: rates.json\n")
        file.write(f"gpus: {most}\ngpu_memory: {arguments.gpu_memory}\n" if arguments.gpus else f"ranks: {most}\n")
    device = "cuda:0" if arguments.gpus else "cpu"
    text = program(arguments, "check", chain, "--force", "--device", device, "--machine", "here.yaml", "--json")
    event = next(json.loads(line) for line in text.splitlines() if '"scale"' in line)
    return {row["ranks"]: row for row in event["rows"]}


def measure(arguments, chain, n):
    """Returns seconds of the whole process and of processors."""
    mpirun = [arguments.mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(n)]
    device = "cuda:" + ",".join(str(i) for i in range(n)) if arguments.gpus else "cpu"
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    program(arguments, "run", chain, "--quiet", "--force", "--device", device,
            before=mpirun if n > 1 and not arguments.gpus else ())
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("mpirun")
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--gpus", help="numbers of GPUs, in place of ranks")
    parser.add_argument("--gpu-memory", type=float, default=139, help="GiB of each")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slices", type=int, default=192)
    parser.add_argument("--keep-rates", action="store_true", help="use the rates.json that is in FOLDER")
    arguments = parser.parse_args()
    numbers = [int(n) for n in (arguments.gpus or arguments.ranks).split(",")]
    device = "cuda" if arguments.gpus else "cpu"
    make_inputs(arguments)
    if not arguments.keep_rates:
        program(arguments, "bench", "rates", "--device", device, "--save", "rates.json")
    print("chain\tdevice\tranks\tpredicted_s\tleast_s\tmost_s\tpredicted_processor_s\tprocessor_s\tload")
    for name, chain in CHAINS[device]:
        rows = predict(arguments, chain, max(numbers))
        found = {n: [] for n in numbers}
        load = []
        for _ in range(arguments.rounds):
            for n in numbers:
                found[n].append(measure(arguments, chain, n))
                load.append(os.getloadavg()[0])
        for n in numbers:
            seconds, processor = zip(*found[n])
            parts = ["read", "decode", "digest", "prove", "store"] + ([] if arguments.gpus else ["stages", "compress"])
            threads = len(os.sched_getaffinity(0)) * sum(rows[n]["parts"][part] for part in parts)
            print(f"{name}\t{device}\t{n}\t{rows[n]['seconds']:.2f}\t{min(seconds):.2f}\t{max(seconds):.2f}\t{threads:.2f}"
                  f"\t{min(processor):.2f}\t{min(load):.1f}-{max(load):.1f}", flush=True)


main()
