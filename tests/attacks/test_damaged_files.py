# SPDX-License-Identifier: Apache-2.0
"""Damaged DICOM files end as the list beside them says, with a message and a bounded memory.

A run reads each file, and `info` looks at it. The limit is 256 MiB for all processes of the program: itself, the server
that makes sandboxes, and one process for each of two threads. So no process may have more than a quarter of it.
"""
import os
import resource

from attack import died, fail, finish, run, side_by_side, skip, skip_under_sanitizers

skip_under_sanitizers()  # they take memory of their own
LIMIT_MIB, PROCESSES = 256, 4
if not os.environ.get("TOMOSTAGE_DATA"):
    skip("TOMOSTAGE_DATA is not set")
DATA = os.path.join(os.environ["TOMOSTAGE_DATA"], "corrupt/synthetic")


def try_file(worker, case):
    name, expected = case
    path, limits = os.path.join(DATA, name), ("--threads", "2", "--force", "--quiet", "-o", os.path.join(worker, "o.h5"))
    for command in (["run", f"dicom {path} | statistics", *limits], ["info", path]):
        done = run(*command)
        text = done.stdout.decode(errors="replace")
        if died(done):
            fail(f"{name}, {command[0]}: ended with {done.returncode}: {text[:200]}")
        elif done.returncode and "error: " not in text:
            fail(f"{name}, {command[0]}: exit {done.returncode} without a message")
        elif command[0] == "run" and done.returncode == 0 and expected.startswith("reject"):
            fail(f"{name}: is read, and should be refused")
        elif command[0] == "run" and done.returncode and expected == "accept":
            fail(f"{name}: is refused, and should be read: {text[:200]}")


with open(os.path.join(DATA, "EXPECT.tsv"), encoding="utf-8") as table:
    cases = [(row[0], row[2]) for row in (line.split("\t") for line in table.read().splitlines()[1:])]
side_by_side(cases, try_file)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if most > LIMIT_MIB / PROCESSES:
    fail(f"a process had {most:.0f} MiB, more than a quarter of {LIMIT_MIB}")
finish(f"{len(cases)} damaged files, and no process had more than {most:.0f} MiB", 97)
