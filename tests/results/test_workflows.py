#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The workflows of datasets/workflows run in the real engine: every study has its result, a refusal of the input (exit code 3)
or of the chain (2) is tried once, a failure of the machine (1) again, and what is done is not done twice.

usage: test_workflows.py PROGRAM SOURCE. TOMOSTAGE_DATA names the public test images; with it real series are among the
studies. Exits with 77 where Snakemake is not installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
CHAIN = "tomostage: 2\ninput: {dicom: x}\nstages: [{median: {radius: %s}}, statistics]\noutput: {hdf5: y.h5}\n"
# Counts the calls for each study, and fails once as a full disk would for the study "unlucky".
WRAPPER = """#!/bin/sh
name=$(basename "$4")
echo call >>"calls/$name"
if [ "$name" = unlucky ] && [ "$(wc -l <"calls/$name")" = 1 ]; then exit 1; fi
exec "%s" "$@"
"""


def snakemake(folder):
    command = ["snakemake", "-s", SOURCE / "datasets/workflows/Snakefile", "--cores", "2", "--keep-going", "--nolock", "--config",
               "threads=1", "memory_mb=512", f"tomostage={folder}/wrapper"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env=dict(os.environ, XDG_CACHE_HOME=str(folder / "cache")))
    return done.returncode, done.stdout + done.stderr


def calls(folder):
    found = {path.name: path.read_text().count("call") for path in (folder / "calls").iterdir()}
    for path in (folder / "calls").iterdir():
        path.unlink()
    return found


def expect(what, found, expected, output=""):
    if found != expected:
        sys.exit(f"{what}: {found}, expected {expected}\n{output[-4000:]}")


def main():
    if not shutil.which("snakemake"):
        print("SKIPPED: snakemake is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for made in ("calls", "studies"):
            (folder / made).mkdir()
        (folder / "wrapper").write_text(WRAPPER % PROGRAM)
        (folder / "wrapper").chmod(0o755)
        (folder / "chain.yaml").write_text(CHAIN % 1)
        for study in ("head", "unlucky"):
            subprocess.run([PROGRAM, "phantom", "head", "-o", folder / "studies" / study, "--size", "32", "--slices", "3"],
                           check=True, capture_output=True)
        good = {"head", "unlucky"}
        for series in ("ct/ibsi_sts001/dicom/CT/image", "ct/ibsi_sts001/dicom/MR_T1/image"):
            path = pathlib.Path(os.environ.get("TOMOSTAGE_DATA", "/nowhere")) / series
            if path.is_dir():
                good.add(series.split("/")[3])
                shutil.copytree(path, folder / "studies" / series.split("/")[3])
        if len(good) == 2:
            print("SKIPPED the real series: TOMOSTAGE_DATA names no folder that holds them")
        (folder / "studies/.snapshot").mkdir()
        (folder / "studies/broken").mkdir()
        (folder / "studies/broken/a.dcm").write_text("no DICOM")

        code, output = snakemake(folder)
        expect("the exit code beside a broken study", code != 0, True, output)
        expect("calls", calls(folder), dict.fromkeys(good, 1) | {"unlucky": 2, "broken": 1}, output)
        expect("results", {path.stem for path in (folder / "results").glob("*.h5")}, good, output)
        for study in good:
            subprocess.run([PROGRAM, "verify", folder / f"results/{study}.h5"], check=True, capture_output=True)
        expect("what the log says", "error" in (folder / "results/logs/broken.log").read_text(), True)

        shutil.rmtree(folder / "studies/broken")
        code, output = snakemake(folder)
        expect("the exit code with nothing to do", (code, calls(folder)), (0, {}), output)
        (folder / "chain.yaml").write_text(CHAIN % -1)
        code, output = snakemake(folder)
        expect("calls for a wrong chain", (code != 0, calls(folder)), (True, dict.fromkeys(good, 1) | {"unlucky": 2}), output)
        print(f"workflows: {len(good)} studies, one refusal tried once, one failure tried again, none done twice")


main()
