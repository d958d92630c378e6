# SPDX-License-Identifier: Apache-2.0
"""After a power cut a name leads to the old output, to the whole new one, or to nothing where nothing was.

The calls of a run are traced, and the disks that a power cut may leave are made up for each moment of it (disk.py). Once the
program has ended with 0, the new output is there on all of them. On some of these disks the same command is run again: it
ends well, and nothing temporary is left. At last faults are planted in the traces, and each of them has to be found.
"""
import os
import random
import shutil

from attack import PROGRAM, SEED, count, fail, finish, run, side_by_side, skip, skip_under_sanitizers
from cut_tasks import command, tasks
from disk import FOREVER, File, Folder, part_of, read, short, write
from trace import Replay, missing, record

skip_under_sanitizers()
if missing():
    skip(missing())
LIMIT, AGAIN = count(48), 2
tried = {"states": 0, "cuts": 0, "again": 0, "planted": 0}


def wrong_states(replay, outputs, before, after, chance):
    """The states of the outputs that must not be: (output, cut, state)."""
    for output in outputs:
        seen = set()
        new = part_of(after, output)
        for cut in sorted(replay.cuts):
            stamp = replay.top.stamp(cut)
            if stamp in seen and cut != FOREVER:
                continue
            seen.add(stamp)
            allowed = [new] if cut == FOREVER else [part_of(before, output), new]
            for state in replay.top.at(output, cut, LIMIT, chance):
                tried["states"] += 1
                if state not in allowed:
                    yield output, cut, state
        tried["cuts"] += len(seen)


def run_again(task, folder, replay, after, chance):
    """Runs the command again after a power cut at any moment."""
    out = os.path.join(folder, "out")
    cut = chance.choice(sorted(replay.cuts))
    shutil.rmtree(out)
    write(out, chance.choice(list(replay.top.states(cut, 8, chance))))
    found = os.listdir(out)
    done = run(*command(task, out, 2))
    left = [name for _, folders, files in os.walk(out) for name in folders + files if ".tomostage-tmp." in name]
    tried["again"] += 1
    if done.returncode != 0 and not (task[0] == "crate" and "crate" in found):
        fail(f"{task[0]}, again after a cut at {cut}: exit {done.returncode}: {done.stdout.decode()[:200]}")
    elif left:
        fail(f"{task[0]}, again after a cut at {cut}: {left} are left")
    elif task[0] not in ("profile", "batch", "crate") and read(out) != after:
        fail(f"{task[0]}, again after a cut at {cut}: the output is another one")


def cut(folder, case):
    task, replaces = case
    name, _, outputs = task
    chance = random.Random(f"{SEED} {name} {replaces}")
    out = os.path.realpath(os.path.join(folder, "out"))
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if replaces:
        made = run(*command(task, out, 1), umask=0o022)
        assert made.returncode == 0, made.stdout
    before = read(out)
    code, text, calls = record([PROGRAM, *command(task, out, 2)], os.path.join(folder, "trace"), cwd=folder)
    assert code == 0, text
    after = read(out)
    replay = Replay(out, before, calls)
    if replay.top.newest() != after:
        fail(f"{name}: the trace leads to {short(replay.top.newest())}, and the disk holds {short(after)}")
    for output, at, state in list(wrong_states(replay, outputs, before, after, chance))[:3]:
        fail(f"{name}{' replacing' if replaces else ''}: {output} {'at the end' if at == FOREVER else f'after line {at}'}: "
             f"{short(state)}")
    for _ in range(AGAIN):
        run_again(task, folder, replay, after, chance)
    return lambda: Replay(out, before, calls), before, after


def leave_out_syncs(kind, replay):
    for node in replay.nodes:
        if isinstance(node, kind) and node is not replay.top:
            node.syncs = []


def leave_out_last_sync(replay):
    replay.top.syncs = []


def name_first(replay):
    """Every name is given when the first byte is written."""
    for folder in [replay.top, *(node for node in replay.nodes if isinstance(node, Folder))]:
        for name, changes in folder.names.items():
            folder.names[name] = [(*node.changes[-1 if start < 0 else 0][:2], node) if isinstance(node, File) and start >= 0 else
                                  (start, end, node) for start, end, node in changes]


def sync_too_early(replay):
    """Every sync begins before the last change of its file has returned."""
    for node in replay.nodes:
        if isinstance(node, File) and len(node.changes) > 2:
            node.syncs = [(min(start, node.changes[-1][1] - 1), end) for start, end in node.syncs]


PLANTED = (("the files are not synced", lambda replay: leave_out_syncs(File, replay), ("hdf5", "dicom", "report")),
           ("the new folder is not synced", lambda replay: leave_out_syncs(Folder, replay), ("dicom", "crate")),
           ("the folder of the output is not synced", leave_out_last_sync, ("hdf5", "dicom", "report")),
           ("the name comes before the bytes", name_first, ("hdf5", "report")),
           ("the sync begins before the last write", sync_too_early, ("hdf5", "report")))

cases = [(task, replaces) for task in tasks() for replaces in (False, True) if not (replaces and task[0] in ("crate", "batch"))]
for (task, replaces), (again, before, after) in side_by_side(cases, cut):
    for fault, plant, names in PLANTED if not replaces else ():
        if task[0] not in names:
            continue
        replay = again()
        plant(replay)
        tried["planted"] += 1
        if not any(True for _ in wrong_states(replay, task[2], before, after, random.Random(SEED))):
            fail(f"{task[0]}: where {fault} nothing is found")
finish(f"{tried['states']} states at {tried['cuts']} moments of {len(cases)} runs, {tried['again']} runs on what was left, "
       f"{tried['planted']} planted faults, seed {SEED}", 1000)
