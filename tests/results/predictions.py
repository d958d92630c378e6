#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `check` predicts with the wall time of whole processes, for several chains, and prints a table in
Markdown. Measures the rates first, in the folder where the runs write.

usage: predictions.py TOMOSTAGE FOLDER [--devices cpu,cuda] [--slices N] [--views N] [--rows N] [--detectors N] [--runs N]
FOLDER is made where it is missing, and holds the inputs and results afterwards."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHAINS = (("box and equalize of DICOM, deflate", "dicom head | box radius=2 | equalize", ""),
          ("the same, stored", "dicom head | box radius=2 | equalize", " compression=none"),
          ("histogram of DICOM", "dicom head | histogram bins=4096", ""),
          ("clahe of DICOM", "dicom head | clahe", ""),
          ("median of DICOM", "dicom head | median radius=1", ""),
          ("logarithm and fbp of a scan", "nexus scan.nxs quantity=transmission | minus_log nonpositive=floor | fbp", ""),
          ("the same from compressed chunks", "nexus packed.nxs quantity=transmission | minus_log nonpositive=floor | fbp", ""))


def program(arguments, *command):
    done = subprocess.run((arguments.program,) + command, cwd=arguments.folder, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, TOMOSTAGE_RATES="rates.json"))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def make_inputs(arguments):
    import h5py
    os.makedirs(arguments.folder, exist_ok=True)
    if not os.path.exists(os.path.join(arguments.folder, "head")):
        program(arguments, "phantom", "head", "--size", "512", "--slices", str(arguments.slices), "--noise", "20",
                "-o", "head", "--quiet")
    scan, packed = (os.path.join(arguments.folder, name) for name in ("scan.nxs", "packed.nxs"))
    if os.path.exists(packed):
        return
    subprocess.run((sys.executable, os.path.join(HERE, "../../datasets/make_scan.py"), scan, "--detectors",
                    str(arguments.detectors), "--views", str(arguments.views), "--rows", str(arguments.rows)),
                   check=True)
    with h5py.File(scan) as from_file, h5py.File(packed, "w") as to_file:
        for name in from_file:
            from_file.copy(name, to_file)
        path = "entry1/tomo_entry/instrument/detector/data" if "entry1" in to_file else "entry/instrument/detector/data"
        data = to_file[path][()]
        attributes = dict(to_file[path].attrs)
        del to_file[path]
        made = to_file.create_dataset(path, data=data, chunks=(1,) + data.shape[1:], compression=1, shuffle=True)
        made.attrs.update(attributes)


def compare(arguments, device, name, chain, output):
    text = f"{chain} | hdf5 out.h5{output}"
    options = ("--device", device, "--force")
    plan = json.loads(program(arguments, "check", text, "--json", *options).splitlines()[0])
    if "prediction" not in plan:
        sys.exit(f"{name}: {plan['no_prediction']}")
    seconds = []
    for _ in range(arguments.runs):
        start = time.monotonic()
        program(arguments, "run", text, "--quiet", *options)
        seconds.append(time.monotonic() - start)
    predicted, measured = plan["prediction"]["seconds"], statistics.median(seconds)
    print(f"| {name} | {device} | {predicted:.2f} s | {measured:.2f} s | {predicted / measured:.2f} |"
          f" {plan['prediction']['bound']} |", flush=True)
    if arguments.parts:
        parts = plan["prediction"]["parts"]
        print("  ", ", ".join(f"{part} {parts[part]['seconds']:.3f}" for part in parts), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--parts", action="store_true")
    for name, default in ("slices", 256), ("views", 360), ("rows", 64), ("detectors", 512), ("runs", 3):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    make_inputs(arguments)
    program(arguments, "bench", "rates", "--save", "rates.json")
    print("| chain | device | predicted | measured | ratio | bound |\n| --- | --- | --- | --- | --- | --- |")
    for name, chain, output in CHAINS:
        for device in arguments.devices.split(","):
            compare(arguments, device, name, chain, output)


if __name__ == "__main__":
    main()
