# SPDX-License-Identifier: Apache-2.0
"""A command that is killed at a random moment (SIGKILL) leaves under the final name the old file, the whole new one, or
nothing, and runs afterwards as if it had never been killed. A batch that was killed is finished by --resume.
"""
import os
import random
import shutil
import subprocess
import time

from attack import PROGRAM, count, digest, fail, finish, result_tasks, run, side_by_side, tasks, written

OLD = b"what stood here before\n"
ENDED = {}  # by how many rounds of a task ended before they were killed


def arguments_of(task, out, *more):
    name, arguments, _ = task
    if name == "batch":
        more = ["--resume"]
    return [argument.replace("{out}", out) for argument in arguments] + list(more)


def empty(out):
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)


def outputs(task):
    """The names that the task writes below {out}, and how long it takes."""
    out = os.path.join(task[3], "first")
    empty(out)
    start = time.monotonic()
    done = run(*arguments_of(task[:3], out), env=dict(os.environ, TMPDIR=out))
    assert done.returncode == 0, done.stdout
    return written(out), time.monotonic() - start


def kill_after(arguments, seconds, out):
    """Starts the program in a group of its own and kills the program alone. Returns False where it had ended before."""
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, TMPDIR=out))
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def look(task, out, expected, had_old):
    """Whatever has a final name is whole: the new file, or the old one where there was one."""
    for name, new in expected.items():
        path = os.path.join(out, name)
        if os.path.exists(path):
            found = digest(path)
            if found != new and not (had_old and open(path, "rb").read() == OLD):
                fail(f"{task[0]}: {name} is neither the old file nor the new one")


def rounds(worker, task):
    expected, seconds = outputs((*task, worker))
    killed = 0
    for i in range(count(6)):
        out = os.path.join(worker, "out")
        replaces = i % 2 == 1 and task[0] not in ("batch", "export", "diff", "rerun") and bool(expected)
        empty(out)
        for name in expected if replaces else ():
            with open(os.path.join(out, name), "wb") as file:
                file.write(OLD)
        more = ["--force"] if replaces else []
        killed += kill_after(arguments_of(task, out, *more), seconds * random.uniform(0.02, 1), out)
        look(task, out, expected, replaces)
        if task[0] == "export":
            shutil.rmtree(os.path.join(out, "crate"), ignore_errors=True)
        again = run(*arguments_of(task, out, *(["--force"] if task[0] != "batch" and expected else [])),
                    env=dict(os.environ, TMPDIR=out))
        found = written(out)
        if again.returncode != 0:
            fail(f"{task[0]} after a kill: exit {again.returncode}: {again.stdout[-300:]}")
        elif {name: found.get(name) for name in expected} != expected:
            fail(f"{task[0]} after a kill: {sorted(found)} are not what it writes")
    return killed


tried = side_by_side(tasks()[-1:] + result_tasks(), rounds)
killed = sum(n for _, n in tried)
if killed < len(tried):
    fail(f"only {killed} of the programs were killed before they ended")
finish(f"{killed} programs killed while they made {len(tried)} kinds of output", 8)
