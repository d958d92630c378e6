# SPDX-License-Identifier: Apache-2.0
"""Chains that are built to take time or memory are refused at once, with line and column.

Each is refused with exit code 2, 50 ms and 32 MiB above what the program takes to start, in a message that has no raw
control characters and stays short.
"""
import os
import re
import resource
import subprocess
import time

from attack import FOLDER, PROGRAM, SANITIZER, fail, finish

HEAD = "tomostage: 2\ninput: {dicom: ./s}\nstages:\n"
TAIL = "output: {hdf5: r.h5}\n"
laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n"
for i in range(1, 10):
    laughs += f"{chr(97 + i)}: &{chr(97 + i)} [{','.join(['*' + chr(96 + i)] * 9)}]\n"
BOMBS = {
    "billion laughs": laughs,
    "deep flow": "a: " + "[" * 500000,
    "deep block": "".join(" " * i + "a:\n" for i in range(900)),
    "deep map": "{a: " * 100000,
    "1 MiB of spaces": HEAD + " " * (1 << 20),
    "2 MiB": "#" * (2 << 20),
    "long scalar": HEAD + "  - box: {radius: " + "9" * 900000 + "}\n" + TAIL,
    "80,000 keys": "tomostage: 2\n" + "".join(f"k{i}: 1\n" for i in range(80000)),
    "duplicate keys": HEAD + "  - box: {radius: 1, radius: 2}\n" + TAIL,
    "merge keys": "tomostage: 2\nx: &x {a: 1}\ninput: {<<: *x, dicom: s}\n",
    "anchor to itself": "a: &a [*a]\n",
    "tags": "!!python/object:os.system {a: 1}\n",
    "NUL": HEAD + "  - box: {radius: 1\0}\n" + TAIL,
    "bad UTF-8": (HEAD + "  - b\udcffx: {}\n").encode("utf-8", "surrogateescape"),
    "UTF-16": (HEAD + TAIL).encode("utf-16"),
    "two documents": HEAD + "  - box: {}\n" + TAIL + "---\nx: 1\n",
    "257 stages": HEAD + "  - box: {}\n" * 257 + TAIL,
    "80,000 stages": HEAD + "  - box: {}\n" * 80000 + TAIL,
    "octal": HEAD + "  - box: {radius: 010}\n" + TAIL,
    "nan": HEAD + "  - box: {radius: .nan}\n" + TAIL,
    "1e999": HEAD + "  - box: {radius: 1e999}\n" + TAIL,
    "hexadecimal": HEAD + "  - box: {radius: 0x10}\n" + TAIL,
    "many anchors": "".join(f"k{i}: &a{i} x\n" for i in range(50000)),
    "control characters": HEAD + '  - "\x1b[31mbox": {}\n' + TAIL,
    "long list": HEAD + "  - radon: {angles: [" + ",".join(["1"] * 400000) + "]}\n" + TAIL,
    "comments": ("#" * 78 + "\n") * 13000 + "x",
}


def measure(arguments):
    """Exit code, seconds of the processor, MiB and text of one run. Other load of the machine costs no such seconds."""
    with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
path = os.path.join(FOLDER, "c.yaml")
starts = [measure(["stages"]) for _ in range(5)]
seconds, memory = min(s[1] for s in starts), max(s[2] for s in starts)
for name, chain in BOMBS.items():
    with open(path, "wb") as file:
        file.write(chain if isinstance(chain, bytes) else chain.encode())
    code, took, taken, text = min((measure(["check", path]) for _ in range(3)), key=lambda one: one[1])
    if code != 2:
        fail(f"{name}: exit {code}: {text[:120]}")
    # A sanitizer's own work and shadow memory are none of the program's.
    if not SANITIZER and (took - seconds > 0.05 or taken - memory > 32):
        fail(f"{name}: {1000 * (took - seconds):.0f} ms and {taken - memory:.0f} MiB above the program's start")
    if not re.search(rb"c\.yaml:\d+:\d+", text) or b"\x1b" in text or b"\0" in text or len(text) > 20000:
        fail(f"{name}: {len(text)} bytes: {text[:120]}")
finish(f"{len(BOMBS)} chains", 26)
