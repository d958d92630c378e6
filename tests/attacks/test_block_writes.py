# SPDX-License-Identifier: Apache-2.0
"""After a power cut a file system shows the old output, the whole new one, or nothing where nothing was.

A file system lies on a disk that remembers its writes and flushes (block_log.py). The disk is cut after each flush and
between flushes, where any of the writes since the last flush may be lost, then mounted as after a restart, and looked at. A
run whose fsync does nothing is cut too, and has to be found. FS in the environment names the file systems, as
`FS="ext4 ext4:data=writeback xfs btrfs"` does, with mount options behind a colon.

This mounts file systems and takes loop devices of the machine, so that it runs only where TOMOSTAGE_MOUNT=1 says that it may.
"""
import os
import random
import shutil
import subprocess

from attack import FOLDER, PROGRAM, SEED, count, fail, finish, skip, skip_under_sanitizers
from block_log import BlockLog, libc, write_image
from cut_tasks import command, tasks
from disk import part_of, read, short

skip_under_sanitizers()
if os.environ.get("TOMOSTAGE_MOUNT") != "1":
    skip("it mounts file systems, which TOMOSTAGE_MOUNT=1 allows")
if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not os.path.exists("/dev/loop-control"):
    skip("it needs root, /dev/fuse and loop devices")
# In a mount namespace of its own nobody else's copy of the mounts keeps a file system mounted.
NEW_NAMESPACE, PRIVATE_AND_BELOW = 0x20000, 0x44000
if libc.unshare(NEW_NAMESPACE) or libc.mount(b"none", b"/", None, PRIVATE_AND_BELOW, None):
    skip("it may not have a mount namespace of its own")
MADE = {"ext4": (64, ["mkfs.ext4", "-q", "-E", "nodiscard"]), "xfs": (300, ["mkfs.xfs", "-q", "-K"]),
        "btrfs": (128, ["mkfs.btrfs", "-q", "-K"])}
LIMIT = count(120)
NAMES = ("four at once", "report", "batch", "crate")
MOUNTED, IMAGE = os.path.join(FOLDER, "mounted"), os.path.join(FOLDER, "image")
tried = []
os.makedirs(MOUNTED)


def call(*arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}"
    return done.stdout.strip()


def options_of(options):
    return ["-o", ",".join(options)] if options else []


def cuts(log, begin, end, chance):
    """Which entries of the log are on the disk after a cut: (position of the cut, entries)."""
    flushes = [i for i in range(begin, len(log)) if log[i] is None]
    whole = [(at, range(at)) for at in [begin, *flushes, end, len(log)]]
    for at, chosen in whole if len(whole) <= LIMIT // 2 else chance.sample(whole, LIMIT // 2):
        yield at, list(chosen)
    for _ in range(LIMIT // 2):
        at = chance.randrange(begin, len(log) + 1)
        last = max((i for i in range(at) if log[i] is None), default=0)
        share = chance.random()
        yield at, [*range(last), *(i for i in range(last, at) if chance.random() < share)]


def look(options, folder):
    """The state of a folder on the disk that was cut."""
    loop = call("losetup", "--find", "--show", IMAGE)
    try:
        call("mount", *options_of(options), loop, MOUNTED)
        try:
            return read(os.path.join(MOUNTED, folder))
        finally:
            call("umount", MOUNTED)
    finally:
        call("losetup", "--detach", loop)
        os.unlink(IMAGE)  # so that no device shows what it remembers of this one as the next


def cut(kind, options, task, planted, chance):
    """Runs a task on a new file system and cuts it. Returns how many states must not be."""
    size, make = MADE[kind]
    blocks = BlockLog(os.path.join(FOLDER, "blocks"), size << 20)
    try:
        call(*make, blocks.loop)
        call("mount", *options_of(options), blocks.loop, MOUNTED)
        out = os.path.join(MOUNTED, "out")
        os.makedirs(out)
        if "--force" in task[1]:
            call(PROGRAM, *command(task, out, 1))
        call("sync", "-f", MOUNTED)
        before, start, begin = read(out), bytes(blocks.data), len(blocks.log)
        inject = ["strace", "-f", "-o", os.devnull, "-e", "inject=fsync:retval=0"] if planted else []
        call(*inject, PROGRAM, *command(task, out, 2))
        end = len(blocks.log)
        after = read(out)
        call("umount", MOUNTED)
        log = blocks.log[begin:]
    finally:
        subprocess.run(["umount", MOUNTED], stderr=subprocess.DEVNULL, check=False)
        blocks.close()
    wrong = 0
    for at, chosen in cuts(log, 0, end - begin, chance):
        write_image(IMAGE, start, log, chosen)
        state = look(options, "out")
        tried.append(planted)
        for output in task[2]:
            old, new, found = (part_of(tree, output) for tree in (before, after, state))
            if found != new and (found != old or at >= end - begin):
                wrong += 1
                if not planted:
                    fail(f"{kind} {' '.join(options)}, {task[0]}: {output} after {at} of {end - begin} writes: {short(found)}")
    return wrong


chance = random.Random(SEED)
TASKS = [task for task in tasks() if task[0] in NAMES]
for system in os.environ.get("FS", "ext4").split():
    kind, *options = system.split(":")
    if not shutil.which(MADE[kind][1][0]):
        print(f"SKIPPED {kind}: {MADE[kind][1][0]} is missing")
        continue
    for task in TASKS:
        cut(kind, options, task, False, chance)
    if shutil.which("strace") and not cut(kind, options, TASKS[0], True, chance):
        fail(f"{system}: where no file is synced nothing is found")
finish(f"{tried.count(False)} disks of {os.environ.get('FS', 'ext4')} mounted after a cut, {tried.count(True)} of a run "
       f"that does not sync, seed {SEED}", 1)
