# SPDX-License-Identifier: Apache-2.0
"""Every call for input and output may fail: a command then ends with an error that gives the reason, or is right.

It never ends with 0 and another result, never crashes or hangs, leaves no result and no temporary file behind where it
failed, and its message holds the text of errno. It does not call a healthy file damaged: where the talk to a child
fails, it is the run that failed (exit 1).
"""
import errno
import os

from attack import (died, fail, finish, left_behind, result_tasks, run_task, same, side_by_side,
                    skip_under_sanitizers, spread, tasks)

skip_under_sanitizers()
CHANNEL = ("send", "recv", "sendmsg", "recvmsg", "poll", "waitpid", "socketpair", "pipe2", "fork")
BYTES = ("write", "pwrite", "pwrite64", "read", "pread", "pread64", "preadv", "preadv64",
         "fsync", "close", "send", "recv", "sendmsg", "recvmsg", "poll")
OTHERS = ("rename", "renameat2", "link", "linkat", "fchmod", "ftruncate", "ftruncate64", "pipe2", "socketpair", "fork", "waitpid",
          "open", "openat", "fopen", "opendir", "readdir", "mmap", "lseek", "fstat", "fstatat", "stat", "lstat")
FEW = ("pwrite", "read", "pread", "fsync", "close", "recv", "linkat", "renameat2", "open", "fopen")
TASKS, MORE = tasks(), result_tasks()[:-1]
expected = {}


def go(worker, task, function, at, error, ever):
    return run_task(worker, task, FAULT_FUNCTION=function, FAULT_AT=at, FAULT_ERRNO=error, FAULT_EVER=ever)


def count_calls(worker, task):
    """One run counts the calls of all functions; another one does the same."""
    done, text, files = go(worker, task, "*", 0, 0, 0)
    assert done.returncode == 0, text
    if not same(expected.setdefault(task[0], (text, files)), text, files):
        fail(f"{task[0]}: two runs without a fault differ")
    with open(worker + "/count", encoding="ascii") as file:
        return {name: int(n) for name, n in map(str.split, file)}


def try_one(worker, case):
    task, function, at, error, ever = case
    done, text, files = go(worker, task, function, at, error, ever)
    name = f"{task[0]}: {function} number {at}{' and all after it' if ever else ''}: {errno.errorcode[error]}"
    if died(done):
        fail(f"{name}: exit {done.returncode}")
    elif done.returncode == 0 and not same(expected[task[0]], text, files):
        fail(f"{name}: exit 0 and another result: {text[:200]}")
    elif done.returncode != 0 and left_behind(task, expected[task[0]][1], files):
        fail(f"{name}: exit {done.returncode}, and {list(files)} stand there")
    elif done.returncode != 0 and os.strerror(error) not in text:
        fail(f"{name}: '{os.strerror(error)}' is not in the message: {text[:200]}")
    elif "damaged" in text or done.returncode == 3 and function in CHANNEL:
        fail(f"{name}: exit {done.returncode}, the healthy file is blamed: {text[:200]}")
    return done.returncode


counts = {task[0]: n for task, n in side_by_side([*TASKS, *MORE] * 2, count_calls)}
calls = [((task, function), counts[task[0]].get(function, 0))
         for tried, functions in ((TASKS, BYTES + OTHERS), (MORE, FEW)) for task in tried for function in functions]
cases = []
for (task, function), n in calls:
    all_after = errno.ENOSPC if function in BYTES else errno.ENOMEM
    if task is TASKS[0]:
        kinds = [(errno.EIO, 0), (all_after, 1)] + ([(errno.EINTR, 0)] if function in BYTES else [])
        cases += [(task, function, at, error, ever) for at in spread(n, 12) for error, ever in kinds]
    else:
        usual = 3 if task in TASKS else 1
        cases += [(task, function, at, errno.EIO, 0) for at in sorted({*range(min(n, 1)), *spread(n, usual)})]
        cases += [(task, function, at, all_after, 1) for at in spread(n, 1)]
codes = [code for _, code in side_by_side(cases, try_one)]
if sum(code != 0 for code in codes) < len(codes) // 4:
    fail("most faults were not noticed: they do not reach the program")
reached = {function for (_, function), n in calls if n}
if not reached >= {"send", "recv", "sendmsg", "poll", "waitpid"}:
    fail(f"only calls of {', '.join(sorted(reached))} were seen")
finish(f"{len(cases)} faults in {len(reached)} functions and {len(TASKS + MORE)} commands", 400)
