# SPDX-License-Identifier: Apache-2.0
"""On a disk that is full, a command ends with exit code 1 and says so, and leaves nothing: neither a part of its output nor a
temporary file. The disk is a small file system in memory that no other process sees; where that may not be mounted, a
limit on the size of files stands for it.
"""
import errno
import os
import re
import resource
import shutil
import subprocess

from attack import FOLDER, PROGRAM, TABLES, fail, finish, result, result_tasks, run, side_by_side, tasks, written

# The disk holds ballast, so that it has little room whatever is written; what stands there at the end is printed.
DISK = """mount --make-rprivate / && mount -t tmpfs -o size=1m none "$1" && cd "$1" &&
head -c $((1048576 - $2)) /dev/zero > ballast || exit 99
shift 2; "$@"; code=$?; find . -mindepth 1 ! -name ballast -printf 'left %P\\n'; exit $code"""


def run_on(out, room, arguments):
    """Runs the program with its output on a disk with so many free bytes. Returns the exit code, what was printed, and the
    names of what is left there."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    environment = dict(os.environ, TMPDIR=out)
    if MOUNTS:
        command = ["unshare", "-m", "bash", "-c", DISK, "bash", out, str(room), PROGRAM, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return done.returncode, done.stderr, re.findall(r"^left (.*)$", done.stdout, re.MULTILINE)
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
    return done.returncode, done.stderr, list(written(out))


def try_task(worker, task):
    """Every size from almost nothing to almost enough fails; a disk with room shows that the output is made there."""
    name, arguments, _ = task
    out = os.path.join(worker, "out")
    arguments = [argument.replace("{out}", out) for argument in arguments]
    code, text, left = run_on(out, 1 << 19, arguments)
    if code != 0 or not left and name != "rerun":
        fail(f"{name} on a disk with room: exit {code}, {left}: {text[-300:]}")
    shutil.rmtree(out)
    os.makedirs(out)
    run(*arguments, env=dict(os.environ, TMPDIR=out))
    sizes = [os.path.getsize(os.path.join(out, path)) for path in written(out)] or [os.path.getsize(result(16, 4))]
    need = sum(sizes) if MOUNTS else max(sizes)  # the limit that stands for a disk holds for each file by itself
    rooms = sorted({4096, int(need * 0.3), int(need * 0.6), int(need * 0.9)})
    for room in rooms:
        code, text, left = run_on(out, room, arguments)
        if code != 1 or not any(os.strerror(error) in text for error in (errno.ENOSPC, errno.EFBIG)) or \
                "[disk-full]" not in text:
            fail(f"{name} with {room} of {need} bytes of room: exit {code}: {text[-300:]}")
        if [path for path in left if path not in TABLES]:
            fail(f"{name} with {room} of {need} bytes of room leaves {left}")
    return len(rooms)


def may_mount():
    os.makedirs(os.path.join(FOLDER, "disk"))
    done = subprocess.run(["unshare", "-m", "bash", "-c", DISK, "bash", os.path.join(FOLDER, "disk"), "4096", "true"],
                          capture_output=True)
    if done.returncode:
        print("no right to mount a small disk: a limit on the size of files stands for it")
    return done.returncode == 0


def format_tasks():
    """A run for each format of outputs, with what stands beside them; and what a run writes besides its outputs."""
    study = os.path.join(FOLDER, "noisy")
    run("phantom", "head", "-o", study, "--size", "64", "--slices", "6", "--noise", "30", "--quiet")
    outputs = {"nifti": "o.nii", "nifti packed": "o.nii.gz", "nrrd": "o.nrrd",
               "nrrd raw": "o.nrrd compression=none", "mha": "o.mha", "mha raw": "o.mha compression=none", "tiff": "o.tif", "tiffs": "t",
               "png": "p window=40,400", "dicom": "d", "dicom packed": "d codec=j2k"}
    chain = f"dicom {study} | box radius=1 | "
    made = [(name, ["run", f"{chain}{name.split()[0].rstrip('s')} {{out}}/{path}", "--quiet"], study)
            for name, path in outputs.items()]
    made.append(("profile", ["run", f"{chain}hdf5 {os.path.join(FOLDER, 'p.h5')}", "--quiet", "--force", "--profile", "{out}/p"],
                 study))
    made.append(("phantom", ["phantom", "head", "-o", "{out}/ph", "--size", "32", "--slices", "4", "--quiet"], study))
    return made


MOUNTS = may_mount()
WRITING = [task for task in tasks()[-1:] + result_tasks() if task[0] != "diff"] + format_tasks()
tried = sum(n for _, n in side_by_side(WRITING, try_task))
finish(f"{tried} runs on full disks, of {len(WRITING)} commands", 20)
