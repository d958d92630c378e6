# SPDX-License-Identifier: Apache-2.0
"""The loops for AVX2 keep their vectors in registers. The compiler splits a vector that is wider than the processor's
through memory, which makes a loop several times as slow and changes no result: only the machine code shows it. This looks
at every innermost loop of every function that is compiled for 32-byte vectors (core/vectors.h), counts its stores of
vectors to the stack, and allows MOST of its instructions to be such: loops over many values spill a few.

usage: test_vectors.py BUILD. Exits 77 where the build has no such functions: other processors, sanitizers, no -O3."""
import json
import os
import re
import subprocess
import sys
import tempfile

MOST = 0.15
OURS = re.compile(r"_32$|_32\.|\.arch_x86_64_v3")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+) *(.*)$")
STORE = re.compile(r"^%[xy]mm\d+,-?0x[0-9a-f]+\(%r[sb]p\)$|^%[xy]mm\d+,\(%rsp\)$")


def functions(path):
    """Name and [(address, instruction, operands)] of each function for 32-byte vectors."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    name, code = None, []
    for line in text.splitlines() + ["0 <end>:"]:
        if head := FUNCTION.match(line):
            if name and OURS.search(name) and code:
                yield name, code
            name, code = head[1], []
        elif found := INSTRUCTION.match(line):
            code.append((int(found[1], 16), found[2], found[3].split("#")[0].strip()))


def innermost_loops(code):
    """(first, last) addresses of the loops that hold no other: a jump backwards closes a loop."""
    start = code[0][0]
    loops = set()
    for at, instruction, operands in code:
        target = re.match(r"([0-9a-f]+) <", operands) if instruction.startswith("j") else None
        if target and start <= int(target[1], 16) <= at:
            loops.add((int(target[1], 16), at))
    return [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]


def spilling(path):
    """(functions and loops that were looked at, what is wrong with them)"""
    looked, faults = [0, 0], []
    for name, code in functions(path):
        looked[0] += 1
        for first, last in innermost_loops(code):
            looked[1] += 1
            loop = [row for row in code if first <= row[0] <= last]
            stores = sum(bool(STORE.match(operands)) for _, _, operands in loop)
            if stores > MOST * len(loop):
                faults.append(f"{os.path.basename(path)}: {name}: {stores} of {len(loop)} instructions of a loop store a vector to the stack")
    return looked, faults


SPLIT = """
typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));
__attribute__((target("arch=x86-64-v3"))) void add_32(const float *in, const int *at, float *out, long n, long m) {
    for (long i = 0; i < n; i++) {
        wide sum = {0};
        for (long k = 0; k < m; k++) {
            const wide *next = (const wide *)in + at[k * n + i];
            sum += next[0] + in[k] * (next[1] - next[0]);
        }
        ((wide *)out)[i] += sum;
    }
}
"""


def main(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = dict(re.findall(r"^(\w+):\w+=(.*)$", file.read(), re.M))
    if cache.get("TOMOSTAGE_SANITIZE") or cache.get("CMAKE_BUILD_TYPE") != "Release" or os.uname().machine != "x86_64":
        print("no functions for 32-byte vectors in this build")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:  # what this looks for is found where it is
        source, target = os.path.join(folder, "split.c"), os.path.join(folder, "split.o")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SPLIT)
        subprocess.run([cache["CMAKE_C_COMPILER"], "-O3", "-c", source, "-o", target], check=True)
        if not spilling(target)[1]:
            sys.exit("a loop whose vectors are split through the stack is not found")
    total, faults = [0, 0], []
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:  # no objects of files that moved
        commands = [entry["command"] for entry in json.load(file)]
    objects = [re.search(r" -o (\S*tomostage_(?:core|lab)\.dir/\S+\.c\.o)", command) for command in commands]
    for path in sorted(os.path.join(build, found[1]) for found in objects if found):
        looked, found = spilling(path)
        total = [total[0] + looked[0], total[1] + looked[1]]
        faults += found
    if faults:
        sys.exit("\n".join(faults))
    if total[0] < 100:
        sys.exit(f"only {total[0]} functions were looked at")
    print(f"{total[1]} loops of {total[0]} functions keep their vectors in registers")


main(sys.argv[1])
