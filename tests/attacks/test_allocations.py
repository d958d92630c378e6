# SPDX-License-Identifier: Apache-2.0
"""Every allocation of the project's own code may fail: a command then ends with an error that says so, or is right.

Once one allocation fails, and once all from there on. It never crashes or hangs, never ends with 0 and another result,
leaves no temporary file and is never silent, and does not call a healthy file damaged. An allocation that fails inside
another library may end the process, but that leaves no temporary file and no false success either.
"""
import errno

from attack import (counted, died, fail, finish, left_behind, result_tasks, run_task, same, side_by_side,
                    skip_under_sanitizers, spread, tasks)

skip_under_sanitizers()
TASKS, MORE = tasks(), result_tasks()[:-1]
expected = {}


def go(worker, task, at, ever, own):
    return run_task(worker, task, FAULT_FUNCTION="malloc", FAULT_AT=at, FAULT_EVER=ever, FAULT_OWN=own, FAULT_ERRNO=errno.ENOMEM)


def count_allocations(worker, case):
    task, own = case
    done, text, files = go(worker, task, 10 ** 9, 0, own)
    assert done.returncode == 0, text
    expected[task[0]] = text, files
    return counted(worker)


def try_one(worker, case):
    task, at, ever, own = case
    done, text, files = go(worker, task, at, ever, own)
    name = f"{task[0]}: allocation {at} of {'the own code' if own else 'all code'} fails {'and all after it' if ever else 'once'}"
    if own and died(done) or done.returncode == "hang":
        fail(f"{name}: exit {done.returncode}")
    elif done.returncode == 0 and not same(expected[task[0]], text, files):
        fail(f"{name}: exit 0 and another result: {text[:200]}")
    elif done.returncode != 0 and left_behind(task, expected[task[0]][1], files):
        fail(f"{name}: exit {done.returncode}, and {list(files)} stand there")
    elif done.returncode != 0 and not died(done) and not text.strip():
        fail(f"{name}: exit {done.returncode} without a word")
    elif own and done.returncode == 3 or "damaged" in text:
        fail(f"{name}: exit {done.returncode}, the healthy file is blamed: {text[:200]}")
    return done.returncode


sites = side_by_side([(task, own) for task in TASKS + MORE for own in (1, 0)], count_allocations)
cases = []
for (task, own), n in sites:
    usual = (130 if own else 25) if task is TASKS[0] else (16 if own else 4) if task in TASKS else 6 if own else 2
    cases += [(task, at, ever, own) for ever in (0, 1) for at in spread(n, usual)]
codes = [code for _, code in side_by_side(cases, try_one)]
if sum(code != 0 for code in codes) < len(codes) // 4:
    fail("most failing allocations were not noticed: the faults do not reach the program")
finish(f"{len(cases)} failing allocations, of {sum(n for (_, own), n in sites if own)} own and "
       f"{sum(n for (_, own), n in sites if not own)} in all, in {len(TASKS + MORE)} commands", 200)
