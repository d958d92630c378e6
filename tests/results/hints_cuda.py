# SPDX-License-Identifier: Apache-2.0
"""Hints about CUDA: rows of test_hints.py that need a build with CUDA. Those of `drivers` need no device: a driver of the tests'
own (tests/support/fake_driver.c, in the folder that FAKE_DRIVER_FOLDER names, or beside the tests) shows what it is told to, and
plans are made for that. Those of `devices` need a device that works."""
import os

import numpy as np

from harness import PROGRAM, Skip
from hints_support import V, VISIBLE, arrays, carry, image, rows, start

DRIVER = os.environ.get("FAKE_DRIVER_FOLDER", os.path.join(os.path.dirname(PROGRAM), "tests", "fake_driver"))
SEEN = "env -u CUDA_VISIBLE_DEVICES" if VISIBLE is None else f"env CUDA_VISIBLE_DEVICES={VISIBLE}"


def need_cuda(folder):
    done = start(["sh", f"{SEEN} $T run 'npy f4.npy' -o out.h5 --force --quiet --device cuda"], folder)
    if "cuda-not-built" in done.stderr:
        raise Skip("!!!! THIS BUILD HAS NO CUDA CODE: NO HINT ABOUT CUDA WAS CARRIED OUT !!!!")
    return done.returncode == 0


def line(chain, device="cuda", more="", command="run", before=SEEN):
    return ["sh", f"{before} $T {command} '{chain}' {'-o out.h5 --force --quiet' if command == 'run' else ''} --device {device} {more}"]


@rows
def drivers(folder):
    arrays(folder)
    need_cuda(folder)
    if not os.path.exists(os.path.join(DRIVER, "libcuda.so.1")):
        raise Skip(f"!!!! {DRIVER} HAS NO libcuda.so.1: NO HINT ABOUT DRIVERS WAS CARRIED OUT !!!!")
    box = "npy f4.npy | box radius=1"

    def show(mode, chain=f"{box} | hdf5 x.h5", device="cuda", more="", command="check"):
        return line(chain, device, more, command, f"{SEEN} FAKE_DRIVER={mode} LD_LIBRARY_PATH={DRIVER}:$LD_LIBRARY_PATH")

    start(line(box, "cpu"), folder)
    right = image(folder)
    for mode, device, hint in (
        ("none", "cuda", "see whether nvidia-smi lists one, and whether CUDA_VISIBLE_DEVICES hides it"),
        ("refuse", "cuda", "see whether nvidia-smi works; --device cpu does without"),
        ("crash", "cuda", "see whether nvidia-smi works; --device cpu does without"),
        ("forked", "cuda", "start a program anew, or take --device cpu"),
        ("old", "cuda", "or use --device cpu"),
        ("volta", "cuda:0", "or"),
        ("tiny", "cuda", "--device cpu would do"),
    ):
        carry(folder, show(mode, device=device), hint, show(mode, device="cpu", command="run"), right)
    carry(folder, show("none"), "whether CUDA_VISIBLE_DEVICES hides it", show("two", device="cuda:0"), None)
    carry(folder, show("volta", device="cuda:0"), "or", show("volta", device="cuda:1"), None)
    carry(folder, show("two", device="cuda:2"), "cuda:0 is the first; see `tomostage doctor` and CUDA_VISIBLE_DEVICES",
          show("two", device="cuda:0"), None)
    carry(folder, show("two", device="cuda:0,1"), "name devices of one model, such as --device cuda:0",
          show("two", device="cuda:0"), None)
    carry(folder, show("two", more="--gpu-memory 17G"), "leave --gpu-memory out to take", show("two"), None)
    carry(folder, show("two", more="--gpu-memory 4K"), "would do", show("two", more="--gpu-memory @G"), None)
    histogram = "npy u2.npy | histogram range=0,250 %s"
    carry(folder, show("two", histogram % "method=global merge=fan-in", "cuda:0"),
          "use method: shared, occupancy, warp-tagged or sub-histogram",
          tuple(show("two", histogram % f"method={method} merge=fan-in", "cuda:0")
                for method in ("shared", "occupancy", "warp-tagged", "sub-histogram")), None)
    carry(folder, line("npy f4.npy spacing=1,1,1 quantity=attenuation | radon views=16 method=tensor", "cpu", command="check"),
          "leave method out, or take --device cuda",
          show("two", "npy f4.npy spacing=1,1,1 quantity=attenuation | radon views=16 method=tensor", "cuda:0"), None)
    apart = "npy f4.npy spacing=1,1,1 quantity=attenuation | radon views=16 detectors=4 detector_spacing=40 %s"
    carry(folder, show("two", apart % "method=tensor", "cuda:0"), "method: ray, or detector pixels that lie closer",
          (show("two", apart % "method=ray", "cuda:0"), show("two", apart.replace("40", "1") % "method=tensor", "cuda:0")), None)
    np.save(f"{folder}/views.npy", np.ones((1, 70000, 3), "f4"))
    ring = "npy views.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral | ring method=sorting"
    carry(folder, show("two", ring, "cuda:0"), "--device cpu sorts any number of views", show("two", ring, "cpu", command="run"),
          (1, 70000, 3))


@rows
def devices(folder):
    arrays(folder)
    if not need_cuda(folder):
        raise Skip("!!!! NO CUDA DEVICE WORKS HERE: NO HINT WAS CARRIED OUT ON ONE !!!!")
    box = "npy f4.npy | box radius=1"
    start(line(box, "cpu"), folder)
    right = image(folder)
    carry(folder, line(box, before="env CUDA_VISIBLE_DEVICES="), "whether CUDA_VISIBLE_DEVICES hides it", line(box), right)
    carry(folder, line(box, "cuda:99"), "cuda:0 is the first", line(box, "cuda:0"), right)
    carry(folder, line(box, more="--gpu-memory 9999G"), "leave --gpu-memory out to take", line(box), right)
    carry(folder, line(box, more="--gpu-memory 1K"), "would do", line(box, more="--gpu-memory @G"), right)
    jit = line(box, before=f"{SEEN} CUDA_FORCE_PTX_JIT=1")
    if "[cuda-code]" in start(jit, folder).stderr:  # a build with PTX of an older device
        carry(folder, jit, "unset CUDA_FORCE_PTX_JIT where it is set, or use --device cpu", (line(box), line(box, "cpu")), right)
    os.makedirs(f"{folder}/none")
    for version in range(10, 14):
        open(f"{folder}/none/libcufft.so.{version}", "w").close()
    lines = "npy f4.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral spacing=1,1 | filter"
    start(line(lines), folder)
    right = image(folder)
    hidden = line(lines, before=f"{SEEN} LD_LIBRARY_PATH=$PWD/none:$LD_LIBRARY_PATH")
    if "[cufft-missing]" in start(hidden, folder).stderr:  # it is in no other place
        carry(folder, hidden, "put its folder on LD_LIBRARY_PATH, or use --device cpu", line(lines), right)
        carry(folder, hidden, "or use --device cpu", line(lines, "cpu"), lambda a: np.allclose(a, right, rtol=1e-4, atol=1e-4 * abs(right).max()))
    assert V.shape == right.shape
