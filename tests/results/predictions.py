#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `check` predicts with the wall time of whole processes, for several chains, and prints a table in
Markdown. Measures the rates first, in the folder where the runs write. The processor time stands beside it, because
other programs on the machine lengthen it less.

usage: predictions.py TOMOSTAGE FOLDER [--devices cpu,cuda] [--slices N] [--views N] [--rows N] [--runs N] [--parts] [--keep-rates]
FOLDER is made where it is missing, and holds the inputs and results afterwards."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

THREADS = ("read", "decode", "digest", "prove", "store")
CHAINS = (("box and equalize of DICOM", "dicom head | box radius=2 | equalize | hdf5 out.h5"),
          ("the same, compression none", "dicom head | box radius=2 | equalize | hdf5 out.h5 compression=none"),
          ("histogram of DICOM", "dicom head | histogram bins=4096 | hdf5 out.h5"),
          ("clahe of DICOM", "dicom head | clahe | hdf5 out.h5"),
          ("median of DICOM", "dicom head | median radius=1 | hdf5 out.h5"),
          ("fbp of a scan", "result scan.h5 | fbp | hdf5 out.h5"),
          ("fbp of a compressed scan", "result packed.h5 | fbp | hdf5 out.h5"))


def program(arguments, *command):
    done = subprocess.run((arguments.program,) + command, cwd=arguments.folder, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, TOMOSTAGE_RATES="rates.json"))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def make_inputs(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    if os.path.exists(os.path.join(arguments.folder, "packed.h5")):
        return
    program(arguments, "phantom", "head", "--size", "512", "--slices", str(arguments.slices), "--noise", "20", "-o",
            "head", "--quiet")
    for name, compression in ("scan", "none"), ("packed", "deflate"):
        program(arguments, "run", f"dicom head slices=0,{arguments.rows} | radon views={arguments.views} detectors=512 |"
                f" hdf5 {name}.h5 compression={compression}", "--quiet", "--force")


def compare(arguments, device, name, text):
    options = ("--device", device, "--force")
    plan = json.loads(program(arguments, "check", text, "--json", *options).splitlines()[0])
    if "prediction" not in plan:
        sys.exit(f"{name}: {plan['no_prediction']}")
    parts = plan["prediction"]["parts"]
    on_threads = THREADS + (("stages", "compress") if device == "cpu" else ())
    processor = plan["threads"] * sum(parts[part]["seconds"] for part in on_threads) + parts["start"]["seconds"]
    seconds, used = [], []
    for _ in range(arguments.runs):
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        program(arguments, "run", text, "--quiet", *options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(time.monotonic() - start)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    predicted, measured = plan["prediction"]["seconds"], statistics.median(seconds)
    processor_used = statistics.median(used)
    print(f"| {name} | {device} | {predicted:.2f} s | {measured:.2f} s | {predicted / measured:.2f} | {processor:.2f} s |"
          f" {processor_used:.2f} s | {processor / processor_used:.2f} | {plan['prediction']['bound']} |", flush=True)
    if arguments.parts:
        print("  ", ", ".join(f"{part} {parts[part]['seconds']:.3f}" for part in parts), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--parts", action="store_true", help="a line with the predicted parts of each run")
    parser.add_argument("--keep-rates", action="store_true", help="use the rates.json that is in FOLDER")
    for name, default in ("slices", 256), ("views", 360), ("rows", 64), ("runs", 3):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    make_inputs(arguments)
    if not arguments.keep_rates:
        program(arguments, "bench", "rates", "--save", "rates.json")
    print("| chain | device | predicted | measured | ratio | processor time, predicted | measured | ratio | bound |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, chain in CHAINS:
        for device in arguments.devices.split(","):
            compare(arguments, device, name, chain)


if __name__ == "__main__":
    main()
