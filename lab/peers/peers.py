# SPDX-License-Identifier: Apache-2.0
"""What the comparisons share: tomostage-bench as a function, interleaved medians, and a table of ratios.

Both sides run on one core, one thread, on the same values, and are timed by processor time, which other programs on the
machine do not lengthen by taking turns. Rounds alternate between tomostage and the peers, so that a busy memory slows
all of them; the median over the rounds counts. Allocation of results is left out on both sides where the peer takes an
output array.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

DTYPES = {"u8": numpy.uint8, "u16": numpy.uint16, "i16": numpy.int16, "f32": numpy.float32}
ROUNDS = 5


def bench(*arguments):
    command = [os.environ["TOMOSTAGE_BENCH"], *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(" ".join(command) + "\n" + done.stderr)
    return done.stdout


def case(dtype, shape, parameters=""):
    return ["--dtype", dtype, "--size", "x".join(map(str, shape)), "--parameters", parameters]


def image(dtype, shape, values="ct"):
    """The image that tomostage-bench times."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image")
        bench("image", "save", path, *case(dtype, shape), "--values", values)
        return numpy.fromfile(path, DTYPES[dtype]).reshape(shape)


def apply(stage, array, parameters, out_dtype):
    """The stage's result (or first table) on an array, flat."""
    dtype = next(name for name, kind in DTYPES.items() if array.dtype == kind)
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
        numpy.ascontiguousarray(array).tofile(source)
        bench("apply", stage, source, target, *case(dtype, array.shape, parameters))
        return numpy.fromfile(target, out_dtype)


def seconds_of(function):
    """Median of calls for about 0.1 s, at least 3."""
    times = []
    while len(times) < 3 or sum(times) < 0.1:
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def compare(stage, dtype, shape, parameters, values, peers):
    """Medians over interleaved rounds: tomostage's seconds, and those of each peer (a name -> function)."""
    ours, theirs = [], {name: [] for name in peers}
    for function in peers.values():
        function()  # warm
    for _ in range(ROUNDS):
        rows = json.loads(bench("bench", stage, *case(dtype, shape, parameters), "--values", values, "--threads", "1", "--device", "cpu", "--json"))
        ours.append(rows[0]["seconds"])
        for name, function in peers.items():
            theirs[name].append(seconds_of(function))
    return statistics.median(ours), {name: statistics.median(times) for name, times in theirs.items()}


class Table:
    """Prints a line per peer; remembers what missed its goal or had other values."""

    def __init__(self):
        self.missed = []

    def head(self, title):
        print(f"\n{title}")
        print(f"  {'case':44} {'tomostage':>10} {'peer':>24} {'ratio':>8}  {'goal':8} difference", flush=True)

    def row(self, what, ours, peer, theirs, goal=None, difference=None, bound=None):
        """difference must be at most bound; where one of them is None the values are not compared."""
        ratio = theirs / ours
        verdict = "" if goal is None else f">= {goal:g}"
        if goal is not None and not ratio >= goal:
            self.missed.append(f"{what}: {ratio:.1f} times {peer}, goal {goal:g}")
            verdict += " !"
        note = "" if difference is None else f"{difference:.1e}"
        if bound is not None and not difference <= bound:
            self.missed.append(f"{what}: differs from {peer} by {difference:.2e}, more than {bound:g}")
            note += " !"
        print(f"  {what:44} {1e3 * ours:8.3f}ms {peer:>13} {1e3 * theirs:8.3f}ms {ratio:7.1f}x  {verdict:8} {note}", flush=True)

    def same(self, what, peer, difference, bound):
        """Values alone."""
        mark = "" if difference <= bound else " !"
        if mark:
            self.missed.append(f"{what}: differs from {peer} by {difference:.2e}, more than {bound:g}")
        print(f"  {what:97} {difference:.1e}{mark}", flush=True)

    def close(self):
        print("\nall goals are met" if not self.missed else "\nmissed:\n  " + "\n  ".join(self.missed))
        sys.exit(1 if self.missed else 0)
