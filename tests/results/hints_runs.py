# SPDX-License-Identifier: Apache-2.0
"""Hints about checkpoints, limits of the system, folders of results and chains that need another value: rows of test_hints.py."""
import os
import shutil

import h5py
import numpy as np

from harness import PROGRAM, run
from hints_support import V, arrays, carry, image, no_force, rows, start, words_of, yaml

BEGIN = "tomostage: 2\ninput: {npy: %s}\nstages:\n  - invert: {}\n"


@rows
def checkpoints(folder):
    flat = np.zeros((64, 64, 64), "f4")  # a small result of large slabs
    flat[5:, 20, 30] = 7
    np.save(f"{folder}/flat.npy", flat)
    chain = "npy flat.npy | median radius=1 | invert"
    run(*words_of(chain), cwd=folder)
    right = image(folder)
    kept = ["run", chain, "-o", "out.h5", "--force", "--quiet", "--checkpoint", "cp"]
    stop = ["sh", f"ulimit -f 400; trap '' XFSZ; $T run '{chain}' -o out.h5 --force --quiet --checkpoint cp"]
    carry(folder, stop, "the slabs before it are kept: make room and go on with --resume", [*kept, "--resume"], right)
    other = [word.replace("radius=1", "radius=2") for word in kept]
    run(*words_of(chain.replace("radius=1", "radius=2")), cwd=folder)
    right_of_other = image(folder)
    for way, more in (("cp", "--resume"), ("rm -r cp", None)):
        start(stop, folder)
        carry(folder, kept, "go on from it with --resume, or remove it", [*kept, more] if more else kept, right, shell="true" if more else way)
    for way, to in (("rm -r cp", "cp"), ("true", "cp2")):
        start(stop, folder)
        carry(folder, [*other, "--resume"], "remove it, or name another folder with --checkpoint", [*other[:-1], to, "--resume"],
              right_of_other, shell=way, again=True)


@rows
def system_limits(folder):
    np.save(f"{folder}/f4.npy", V)
    line = "$T run 'npy f4.npy' -o out.h5 --force --quiet"
    carry(folder, ["sh", f"ulimit -s 128; {line}"], "raise the limit before the program starts: ulimit -s 8192",
          ["sh", f"ulimit -s 8192; {line}"], V)
    mine = line.replace("out.h5", "mine.h5")
    carry(folder, ["sh", f"OMPI_COMM_WORLD_SIZE=2 {line}"], "runs of their own need an output each",
          ["sh", f"export OMPI_COMM_WORLD_SIZE=2; {mine} & {line} && wait $!"], V, again=True)


@rows
def windows(folder):
    np.save(f"{folder}/f4.npy", V)
    run("run", "npy f4.npy | hdf5 a.h5", "--quiet", cwd=folder)
    run("view", "a.h5", "--frames", "right", cwd=folder)
    same = "diff -r right f"
    alone = f"mkdir -p bin && cp $T bin && export LD_LIBRARY_PATH={os.path.dirname(PROGRAM)} && bin/{os.path.basename(PROGRAM)} view a.h5"
    carry(folder, ["sh", alone], "--frames FOLDER needs none of them", ["sh", f"{alone} --frames f && {same} && rm -r f"])
    if os.path.exists(os.path.join(os.path.dirname(PROGRAM), "tomostage-view")):
        carry(folder, ["sh", "env -u DISPLAY -u WAYLAND_DISPLAY $T view a.h5"], "--frames FOLDER writes pictures without a display",
              ["sh", f"env -u DISPLAY -u WAYLAND_DISPLAY $T view a.h5 --frames f && {same}"])


@rows
def results_and_chains(folder):
    arrays(folder)
    run("run", "npy u2.npy spacing=1,1,1 | dicom ct", "--quiet", cwd=folder)
    run("run", "npy f4.npy | hdf5 a.h5", "--quiet", cwd=folder)
    dicom = "tomostage: 2\ninput: {dicom: ct}\nstages:\n  - invert: {}\noutput: {dicom: %s}\n"
    carry(folder, yaml(folder, "over.yaml", dicom % "ct")[:2] + ["--force"],
          "give the output a folder of its own: output: {dicom: FOLDER} in the chain", yaml(folder, "own.yaml", dicom % "own")[:2], "own")
    carry(folder, yaml(folder, "x.yaml", BEGIN % "f4.npy")[:2] + ["-o", "x.foo"],
          "a folder is an output of the chain, such as output: {dicom: FOLDER}", yaml(folder, "y.yaml", dicom % "new")[:2], "new")
    series = "tomostage: 2\ninput: {%s, series: 1}\nstages:\n  - invert: {}\n"
    carry(folder, yaml(folder, "s.yaml", series % "npy: f4.npy"),
          "series is a parameter of dicom, and this input is read as npy: the chain names the format, input: {dicom: PATH}",
          yaml(folder, "t.yaml", series % "dicom: ct"), V.shape)
    run("batch", "invert", "ct", "-o", "b", "--quiet", cwd=folder)
    again = ["batch", "invert", "ct", "-o", "b", "--quiet"]
    os.remove(f"{folder}/b/ct.h5")
    carry(folder, again, "choose another folder; --resume verifies its results and goes on with the others", [*again, "--resume"], "b/ct.h5")
    os.remove(f"{folder}/b/ct.h5")
    carry(folder, again, "choose another folder", ["batch", "invert", "ct", "-o", "b2", "--quiet"], "b2/ct.h5")
    run("preview", "a.h5", "-o", "p.png", cwd=folder)
    shutil.copy(f"{folder}/a.h5", f"{folder}/a.png")
    carry(folder, ["preview", "a.png", "-o", "a.png", "--force"], "give the output another name with -o",
          ["preview", "a.png", "-o", "q.png"], "q.png")
    run("run", "dicom ct | hdf5 r.h5", "--quiet", cwd=folder)
    shutil.copytree(f"{folder}/ct", f"{folder}/cut")
    name = sorted(os.listdir(f"{folder}/cut"))[-1]
    with open(f"{folder}/cut/{name}", "r+b") as file:
        file.truncate(300)
    carry(folder, ["verify", "r.h5", "--inputs", "cut"], "as a run would refuse it:", "dicom cut", names="claims 44 bytes")
    carry(folder, no_force("npy f4.npy | rescale range=0,250 out_high=1e6 | hdf5 half.h5 dtype=f16"),
        "leave out dtype: f16 of the output, or have the stage rescale make the values smaller",
        ("npy f4.npy | rescale range=0,250 out_high=1e6", "npy f4.npy | rescale range=0,250 out_high=1000 | hdf5 out.h5 dtype=f16"),
        lambda a: np.allclose(a / a.max(), V / V.max(), atol=1e-3))
    grown = "npy f4.npy spacing=1,1,1 | resample shape=%s"
    carry(folder, ["check", grown % "1300,1000,1000"], "`tomostage check` prints the size that every stage makes",
          ["check", grown % "1300,1000,1000"], names="1000 x 1000 x 1300")
    carry(folder, ["check", grown % "1300,1000,1000"], "check its numbers", grown % "13,10,10", (10, 10, 13))
    carry(folder, ["run", "npy f4.npy spacing=1,1,1 quantity=attenuation | radon views=16 method=tensor", "-o", "out.h5", "--device", "cpu"],
          "leave method out, or take --device cuda", "npy f4.npy spacing=1,1,1 quantity=attenuation | radon views=16", (4, 16, 12))
    np.save(f"{folder}/deep.npy", np.zeros((64, 256, 256), "f4"))
    again = ["run", "npy deep.npy | gaussian sigma=1 | box radius={sweep 1 2 3}", "-o", "out.h5", "--force", "--threads", "1"]
    carry(folder, [*again, "--memory", "60M"], "--memory, or --gpu-memory, gives the run more", [*again, "--memory", "1G"], (3, 64, 256, 256))
    np.save(f"{folder}/two.npy", np.stack([V, V + 300]))
    carry(folder, "npy two.npy | box radius={sweep 1 2}", "choose one volume with `take:` beside the input",
          "npy two.npy take=1 | box radius={sweep 1 2}", (2, *V.shape))


@rows
def rates(folder):
    np.save(f"{folder}/f4.npy", V)
    with open(f"{folder}/m.yaml", "w") as file:
        file.write("nodes: 1\ncores: 2\nmemory: 4\n")
    here = "env -u TOMOSTAGE_RATES XDG_CACHE_HOME=$PWD/cache"
    carry(folder, ["sh", f"{here} $T check 'npy f4.npy | box radius=1 | hdf5 x.h5' --machine m.yaml"],
          "`tomostage bench rates` measures them in less than a minute",
          ["sh", f"{here} $T bench rates --device cpu && {here} $T check 'npy f4.npy | box radius=1 | hdf5 x.h5' --machine m.yaml"])
