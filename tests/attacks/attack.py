# SPDX-License-Identifier: Apache-2.0
"""What the attack tests share: the program, phantoms, a work folder, the preloaded libraries and the closing line.

Each test is called as `test_X.py PROGRAM LIBRARY_FOLDER`. N and SEED in the environment change how many cases run and
which: N=all runs every one. TOMOSTAGE_TESTS_ALL in the environment spreads three times as many over a file or a run. A test prints one line a failed case and a closing line, and exits with 1 if a case failed.
Exit code 77 says that nothing was tried, and the line before it says why; ctest shows that as skipped.
"""
import atexit
import concurrent.futures
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM, LIBRARIES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SANITIZER = os.environ.get("TOMOSTAGE_SANITIZE", "")
SEED = int(os.environ.get("SEED", "1"))
SHARE = 1 if os.environ.get("TOMOSTAGE_TESTS_ALL") else 3
NAME = os.path.basename(sys.argv[0])[len("test_"):-len(".py")]
FOLDER = tempfile.mkdtemp(prefix="tomostage-attack-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.chmod(FOLDER, 0o755)
random.seed(SEED)
failures = []


def skip(reason):
    print(f"SKIPPED {NAME}: {reason}")
    sys.exit(77)


def skip_under_sanitizers():
    """Their run-time has to be the first library of a process, and their builds do without the system-call filter."""
    if SANITIZER:
        skip(f"the build has -fsanitize={SANITIZER}, which goes with neither LD_PRELOAD nor seccomp")


def count(usual):
    """The number of cases: `usual`, or what N says."""
    wanted = os.environ.get("N")
    return usual if not wanted else sys.maxsize if wanted == "all" else int(wanted)


def spread(total, most):
    """At most `most` of the numbers below total, or a third of them, evenly spread."""
    n = min(total, count(-(-most // SHARE)))
    return sorted({int((i + random.random()) * total / n) for i in range(n)}) if n else []


def run(*arguments, timeout=300, **keywords):
    """Runs the program. A run that takes longer than `timeout` seconds has the returncode 'hang'; the rest of the machine's
    work does not take so many."""
    try:
        return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                              **keywords)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.cmd, "hang", late.stdout or b"")


def died(done):
    return done.returncode == "hang" or done.returncode < 0 or done.returncode > 3


def preload(library, **variables):
    """An environment with one of the test libraries; two threads, so that equal calls come in much the same order."""
    path = os.path.join(LIBRARIES, f"lib{library}.so")
    return {**os.environ, "LD_PRELOAD": path, "OMP_NUM_THREADS": "2", **{k: str(v) for k, v in variables.items()}}


def phantom(size, slices):
    folder = os.path.join(FOLDER, f"phantom_{size}_{slices}")
    if not os.path.isdir(folder):
        made = run("phantom", "shepp-logan", "-o", folder, "--size", str(size), "--slices", str(slices), "--quiet")
        assert made.returncode == 0, made.stdout
    return folder


def compressed(study, tool):
    """A copy of a study by a tool of dcmtk: dcmcrle, or dcmcjpeg (lossless), both of which workers decode. None without it."""
    folder = f"{study}_{tool}"
    if not shutil.which(tool):
        print(f"SKIPPED what {tool} compresses: it is missing (apt-get install dcmtk)")
        return None
    if not os.path.isdir(folder):
        os.makedirs(folder)
        for name in os.listdir(study):
            subprocess.run([tool, os.path.join(study, name), os.path.join(folder, name)], check=True)
    return folder


RESULT_CHAIN = "box radius=1 | histogram bins=16 | save name=b | radon views=12"


def result(size=32, slices=6, chain=RESULT_CHAIN, name="result"):
    """A result of this chain; the usual one has a saved image, a table and a sinogram."""
    path = os.path.join(FOLDER, f"{name}_{size}_{slices}.h5")
    if os.path.exists(path):
        return path
    done = run("run", f"dicom {phantom(size, slices)} | {chain} | hdf5 {path}", "--quiet")
    assert done.returncode == 0, done.stdout
    return path


TABLES = ("batch.tsv", "batch.html", "batch.numbers.tsv")  # of a batch, which writes them also where a study fails


def tasks():
    """What is tried while calls fail: (name, arguments with {out} for the folder of the output, the input's name)."""
    study, own = phantom(16, 4), result(16, 4)
    packed = compressed(study, "dcmcrle")
    by_workers = [("run compressed dicom", ["run", f"dicom {packed} | statistics | hdf5 {{out}}/o.h5", "--quiet"], packed)]
    return [("run dicom", ["run", f"dicom {study} | box radius=1 | histogram bins=16 | hdf5 {{out}}/o.h5", "--quiet"], study),
            *(by_workers if packed else []),
            ("run result", ["run", f"result {own} | statistics | hdf5 {{out}}/o.h5 dtype=f16", "--quiet"], own),
            ("verify", ["verify", own], own),
            ("info", ["info", own], own),
            ("preview", ["preview", own, "-o", "{out}/o.png"], own)]


def result_tasks():
    """The same for the commands that make something from results, and the runs of many values and of many studies. `rerun`
    to a file comes last: its result stays where the comparison after it fails."""
    study, own = phantom(16, 4), result(16, 4)
    crops = result(16, 4, "crop above=0 | save name=b | box radius=1", "crops")
    return [("report", ["report", own, "-o", "{out}/o.html"], own),
            ("export", ["export", own, "--dataset", "b", "-o", "{out}/o.nii", "--provenance", "{out}/crate"], own),
            ("diff", ["diff", own, own], own),
            ("rerun", ["rerun", own, "-i", study], own),
            ("run a sweep", ["run", f"dicom {study} | box radius={{sweep 0 1 2}} | hdf5 {{out}}/o.h5", "--quiet"], study),
            ("run resumed", ["run", f"dicom {study} | {RESULT_CHAIN} | statistics | hdf5 {{out}}/o.h5", "--resume-from", own,
                             "--quiet"], own),
            ("run resumed behind a search", ["run", f"dicom {study} | crop above=0 | save name=b | box radius=2 | "
                                             "hdf5 {out}/o.h5", "--resume-from", crops, "--quiet"], crops),
            ("batch", ["batch", f"dicom x | {RESULT_CHAIN} | hdf5 y.h5", study, "-o", "{out}", "--quiet"], study),
            ("rerun to a file", ["rerun", own, "-i", study, "-o", "{out}/o.h5"], own)]


def run_task(worker, task, **fault):
    """One task in `worker` with a fault. Returns the run, what it printed, and the digests of what stands in {out}."""
    _, arguments, source = task
    out = os.path.join(worker, "out")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    done = run(*(argument.replace("{out}", out) for argument in arguments),
               env=preload("fault", FAULT_ARM=os.path.basename(source), FAULT_COUNT=worker + "/count", TMPDIR=out, **fault))
    return done, done.stdout.decode(errors="replace").replace(out, "{out}"), written(out)


def written(out):
    """The digests of all files below a folder. The tables of batches, which hold times, are left out, and so are their pictures
    and reports, without which a study is as good."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(out) for name in names
             if name not in TABLES and os.path.basename(folder) != "batch-files"]
    return {os.path.relpath(path, out): digest(path) for path in paths}


def left_behind(task, expected, files):
    """What a command that failed has left, and should not have. The studies of a batch that were done stay."""
    done = expected if task[0] == "batch" else {}
    return [name for name, found in files.items() if done.get(name) != found]


def same(expected, text, files):
    """Whether a command that succeeded did what it does without a fault; one that writes a file, if only for a while as
    `rerun` does, may warn besides."""
    rest = text[len(expected[0]):] if text.startswith(expected[0]) else "another text"
    return files == expected[1] and (bool(files) or not rest or ": warning: " in rest)


def counted(worker):
    """How many calls could have failed in the last run of a task."""
    with open(worker + "/count", encoding="ascii") as file:
        return int(file.read().split()[0])


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def side_by_side(cases, do):
    """Calls do(worker, case) for every case, two at a time; `worker` names a folder of the caller's own."""
    folders = [os.path.join(FOLDER, f"worker_{i}") for i in range(2)]
    cases = list(cases)

    def all_of(worker):
        os.makedirs(folders[worker], exist_ok=True)
        return [(case, do(folders[worker], case)) for case in cases[worker::2]]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [pair for part in pool.map(all_of, range(2)) for pair in part]


def fail(text):
    failures.append(text)
    if len(failures) <= 40:
        print("  FAILED", text, flush=True)


def finish(text, least):
    """The closing line. `least` is how many cases have to have run, so that an empty test fails."""
    n = int(text.split()[0])
    if n < least:
        fail(f"only {n} cases were run, and {least} are the least")
    print(f"{NAME}: {text}, {len(failures)} failed")
    sys.exit(1 if failures else 0)
