#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""datasets/workflows/main.nf runs in the real engine where `nextflow` is installed: every study has its result, a refusal (exit
codes 2 and 3) is tried once, a failure of the machine (1) again, a run that stops (75) goes on, and -resume does again only what
was not done or has changed. Everywhere the script of its process runs in bash, with the engine's values put in, and
nextflow.config must say what each code means.

usage: test_nextflow.py PROGRAM SOURCE. TOMOSTAGE_DATA names the public test images; with it real series are among the studies."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
MAIN, CONFIG = ((SOURCE / "datasets/workflows" / name).read_text() for name in ("main.nf", "nextflow.config"))
CHAIN = "tomostage: 2\ninput: {dicom: x}\nstages: [{median: {radius: %s}}, statistics]\noutput: {hdf5: y.h5}\n"
SLOW = "tomostage: 2\ninput: {dicom: x}\nstages: [{nlm: {patch_size: 5, patch_distance: 9, dimensions: 3d}}, statistics]\noutput: {hdf5: y.h5}\n"
NAME = "a study's [1]"  # what must be quoted in the shell, and is a pattern where files are looked for
# Counts the calls for each study, fails once as a full disk would for the study "unlucky", and keeps the study "held" while a file is
# there. They are two studies: the engine does not find the result of a second try again whose first try followed a stop.
WRAPPER = """#!/bin/sh
name=$(basename "$4")
echo "$@" >>"{folder}/calls/$name"
while [ "$name" = held ] && [ -e {folder}/hold ]; do sleep 0.1; done
if [ "$name" = unlucky ] && [ "$(wc -l <"{folder}/calls/$name")" = 1 ]; then exit 1; fi
exec "{program}" "$@"
"""


def expect(what, found, expected, output=""):
    if found != expected:
        sys.exit(f"{what}: {found}, expected {expected}\n{output[-4000:]}")


def phantom(folder, name, *options):
    subprocess.run([PROGRAM, "phantom", "head", "-o", folder / name, "--quiet", *options], check=True)


def defaults():
    block = re.search(r"^params \{\n(.*?)^\}", CONFIG, re.S | re.M)[1]
    return dict(re.findall(r"^ +(\w+) = '?([^'\n]*?)'?(?: *//.*)?$", block, re.M))


def script(study, **given):
    """The script as Groovy would make it: text in ${...} is replaced, and a doubled backslash is one."""
    params = {**defaults(), **given}
    text = re.search(r'script:.*?"""\n(.*?)"""', MAIN, re.S)[1]
    values = {f"params.{name}": value for name, value in params.items()}
    stops = bool(params["checkpoints"])
    values |= {"chain": "chain.yaml", "study": shlex.quote(study), "task.cpus": "1", "memory": "768",
               "checkpoint": f"--resume --checkpoint '{params['checkpoints']}'/{shlex.quote(study)}.checkpoint" if stops else "",
               "limit": f"--time-limit {params['time_limit']}" if stops and params["time_limit"] else ""}
    return re.sub(r"\$\{([^}]*)\}", lambda match: values[match[1]], text).replace("\\\\", "\\")


def attempt(folder, number, study, **given):
    """Runs the script in a folder of its own, where the inputs are links, as the engine does it."""
    work = folder / f"work-{study}-{number}"
    work.mkdir()
    for name in (study, "chain.yaml"):
        (work / name).symlink_to(folder / name)
    return subprocess.run(["bash", "-ue", "-c", script(study, tomostage=str(PROGRAM), **given)], cwd=work).returncode, work / f"{study}.h5"


def in_bash(folder):
    (folder / "chain.yaml").write_text(SLOW)
    phantom(folder, NAME, "--size", "64", "--slices", "48", "--noise", "5")
    (folder / "broken").mkdir()
    (folder / "broken/a.dcm").write_text("no DICOM")
    code, whole = attempt(folder, 0, NAME)
    expect("the exit code", code, 0)
    expect("the exit code of a broken study", attempt(folder, 0, "broken")[0], 3)
    expect("the exit code of a wrong option", attempt(folder, 1, "broken", options="--no-such-option")[0], 2)
    (folder / "kept").mkdir()
    stops = {"checkpoints": str(folder / "kept"), "time_limit": "1s", "options": "--memory 48M"}
    codes = []
    while not codes or codes[-1] == 75 and len(codes) < 100:
        code, resumed = attempt(folder, len(codes) + 1, NAME, **stops)
        codes.append(code)
    expect("exit codes of a run that stops", codes[-1], 0)
    expect("it stopped", len(codes) > 1, True)
    expect("the bytes", resumed.read_bytes() == whole.read_bytes(), True)
    strategy = re.search(r"errorStrategy = \{\s*(.*?)\s*\}", CONFIG, re.S)[1]
    expect("what exit codes mean", strategy, "task.exitStatus in [2, 3] ? 'ignore' : task.exitStatus == 75 || task.attempt <= 2 ? 'retry' : 'ignore'")
    expect("what the process takes", re.findall(r"^ {8}(\w+) = ", CONFIG, re.M), ["cpus", "memory", "accelerator", "maxRetries", "errorStrategy"])
    return whole, len(codes)


def engine_version(folder):
    """None where there is no engine; what is called nextflow may be a launcher that only downloads it."""
    if not shutil.which("nextflow"):
        return None
    asked = subprocess.run(["nextflow", "-version"], cwd=folder, capture_output=True, text=True, env=dict(os.environ, NXF_OFFLINE="true"))
    found = re.search(r"version (\S+)", asked.stdout)
    return found and found[1]


class Engine:
    def __init__(self, folder):
        self.folder = folder
        (folder / "calls").mkdir(parents=True)
        (folder / "wrapper").write_text(WRAPPER.replace("{folder}", str(folder)).replace("{program}", str(PROGRAM)))
        (folder / "wrapper").chmod(0o755)
        (folder / "local.config").write_text("executor.cpus = 2\n")  # so that the held study does not hold the others

    def start(self, *options):
        command = ["nextflow", "-c", "local.config", "run", SOURCE / "datasets/workflows/main.nf", "--cpus", "1", "--memory", "512 MB",
                   "--tomostage", self.folder / "wrapper", *options]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True, env=dict(os.environ, NXF_OFFLINE="true", NXF_ANSI_LOG="false"))

    def run(self, *options):
        process = self.start(*options)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def calls(self):
        found = {path.name: path.read_text().splitlines() for path in (self.folder / "calls").iterdir()}
        for path in (self.folder / "calls").iterdir():
            path.unlink()
        self.lines = [line for lines in found.values() for line in lines]
        return {name: len(lines) for name, lines in found.items()}

    def results(self, folder="results"):
        return {path.stem for path in (self.folder / folder).glob("*.h5")}


def studies(folder):
    folder.mkdir()
    good = {NAME, "unlucky", "held"}
    for name in good:
        phantom(folder, name, "--size", "32", "--slices", "3")
    for series in ("CT", "MR_T1", "PET"):
        path = pathlib.Path(os.environ.get("TOMOSTAGE_DATA", "/nowhere")) / f"ct/ibsi_sts001/dicom/{series}/image"
        if path.is_dir():
            good.add(series)
            shutil.copytree(path, folder / series, copy_function=shutil.copyfile)
    if len(good) == 3:
        print("SKIPPED the real series: TOMOSTAGE_DATA names no folder that holds them")
    return good


def in_engine(folder, whole):
    """How many studies the engine ran, and how many tries a run took that stops."""
    engine = Engine(folder)
    chain = folder / "chain.yaml"
    chain.write_text(CHAIN % 1)
    good = studies(folder / "studies")
    once = dict.fromkeys(good, 1) | {"unlucky": 2}

    # The engine is ended while one study runs and the others are done.
    (folder / "hold").touch()
    process = engine.start()
    end = time.monotonic() + 300
    while engine.results() != good - {"held"} and process.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=300)
    expect("results before a stop", engine.results(), good - {"held"}, output)
    expect("the exit code of a stop", process.returncode != 0, True, output)
    (folder / "hold").unlink()
    expect("calls before a stop", engine.calls(), once, output)
    (folder / "studies/broken").mkdir()
    (folder / "studies/broken/a.dcm").write_text("no DICOM")
    code, output = engine.run("-resume")
    expect("the exit code beside a broken study", code != 0, True, output)
    expect("calls after a stop", engine.calls(), {"held": 1, "broken": 1}, output)
    expect("what a run was given", {"--threads 1 --memory 384MiB" in line for line in engine.lines}, {True}, output)
    expect("results", engine.results(), good, output)
    for study in good:
        subprocess.run([PROGRAM, "verify", folder / f"results/{study}.h5"], check=True, capture_output=True)

    # A file that is written again changes its study, where the time of the folder is the same. Nothing else runs.
    shutil.rmtree(folder / "studies/broken")
    changed = next(path for path in sorted((folder / "studies" / NAME).rglob("*")) if path.is_file())
    changed.write_bytes(changed.read_bytes())
    code, output = engine.run("-resume")
    expect("calls after a file was written", (code, engine.calls()), (0, {NAME: 1}), output)
    chain.write_text(CHAIN % -1)
    code, output = engine.run("-resume")
    expect("calls for a wrong chain", (code != 0, engine.calls()), (True, once), output)

    # A run that stops goes on in another folder, and has the bytes of one without a stop.
    chain.write_text(SLOW)
    shutil.copytree(whole.parent / NAME, folder / "large" / NAME)
    (folder / "kept").mkdir()
    code, output = engine.run("--studies", "large", "--results", "stopped", "--checkpoints", folder / "kept", "--time_limit", "1s",
                              "--options", "--memory 48M")
    tries = engine.calls().get(NAME, 0)
    expect("the exit code of a run that stops", code, 0, output)
    expect("it stopped", tries > 1, True, output)
    expect("the bytes", (folder / f"stopped/{NAME}.h5").read_bytes() == whole.read_bytes(), True)
    return len(good), tries


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        whole, tries = in_bash(folder)
        print(f"nextflow: in bash a study, two refusals, a run in {tries} tries")
        version = engine_version(folder)
        if not version:
            print("SKIPPED the engine: no nextflow that starts without a network is on PATH")
            return
        count, tries = in_engine(folder / "engine", whole)
        print(f"nextflow: in the engine {version} {count} studies, a stop, one refusal tried once, one failure again, a run in {tries} tries")


main()
