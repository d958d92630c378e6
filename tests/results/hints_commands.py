# SPDX-License-Identifier: Apache-2.0
"""Hints of outputs and of commands: rows of test_hints.py."""
import os
import shutil

import numpy as np

from harness import PROGRAM, run, write_nifti
from hints_support import V, arrays, carry, no_force, rows, words_of, yaml


@rows
def outputs(folder):
    arrays(folder)
    run("run", "npy f4.npy | statistics | hdf5 a.h5", "--quiet", cwd=folder)
    carry(folder, no_force("npy f4.npy | hdf5 a.h5"), "choose another name, or replace it with --force",
          (no_force("npy f4.npy | hdf5 b.h5"), no_force("npy f4.npy | hdf5 a.h5", "--force")), "b.h5")
    with open(f"{folder}/notes.txt", "w") as file:
        file.write("mine")
    os.mkdir(f"{folder}/mine")
    shutil.copy(f"{folder}/notes.txt", f"{folder}/mine/notes.txt")
    carry(folder, no_force("npy f4.npy | tiff mine", "--force"),
          "choose another name: it holds files that no run has written there",
          no_force("npy f4.npy | tiff yours", "--force"), "yours")
    carry(folder, no_force("npy f4.npy | nifti new/a.nii"), "make it first: mkdir -p 'new'",
          no_force("npy f4.npy | nifti new/a.nii"), "new/a.nii", shell="mkdir -p 'new'")
    carry(folder, no_force("npy f4.npy | nifti o.h5"), "output.nifti takes .nii.gz, .nii",
          (no_force("npy f4.npy | nifti o.nii"), no_force("npy f4.npy | nifti o2.nii.gz")), "o.nii")
    carry(folder, no_force("npy f4.npy | dicom o.dcm"),
          "name a folder; with a slash behind it, as in 'o.dcm/', it may have any name",
          (no_force("npy u2.npy spacing=1,1,1 | dicom o"), no_force("npy u2.npy spacing=1,1,1 | dicom o.dcm/")), "o")
    carry(folder, no_force("npy f4.npy"), "hdf5 FILE.h5 in the chain, or -o FILE.h5",
          (no_force("npy f4.npy | hdf5 out.h5", "--force"), no_force("npy f4.npy", "-o", "out.h5", "--force")), V)
    carry(folder, no_force("invert", "-o", "out.h5"), "dicom FOLDER in the chain, or -i FOLDER",
          (no_force("invert", "-i", "ct", "-o", "out.h5"), no_force("dicom ct | invert", "-o", "out.h5")),
          lambda a: a.shape == (3, 8, 8), shell=f"{PROGRAM} phantom disc -o ct --size 8 --slices 3 --quiet")
    carry(folder, no_force("npy f4.npy", "-o", "x.foo"), "known: .h5, .hdf5, .nxs, .nii.gz, .nii, .nrrd, .mha, .tif, .tiff, .png",
          tuple((no_force('npy f4.npy slices=0', '-o', f'x{suffix}', '--force') for suffix in ('.h5', '.hdf5', '.nxs', '.nii.gz', '.nii', '.tif', '.tiff', '.png'))),
          "x.png")
    carry(folder, no_force("dicom ct", "-o", "x.foo"), "a folder is an output of the chain, such as dicom FOLDER",
          no_force("dicom ct | dicom written"), "written")
    carry(folder, no_force("dicom ct | dicom ct"), "give the output a folder of its own: dicom FOLDER in the chain",
          no_force("dicom ct | dicom own"), "own")
    carry(folder, no_force("npy f4.npy | hdf5 f4.npy", "--force"),
          "give the output a name of its own: hdf5 FILE.h5 in the chain, or -o FILE.h5",
          (no_force("npy f4.npy | hdf5 out.h5"), no_force("npy f4.npy", "-o", "out.h5")), V)
    carry(folder, no_force("result a.h5 | png p.png"), "a folder can: png FOLDER in the chain",
          no_force("result a.h5 | png p"), "p")
    carry(folder, no_force("npy f4.npy | save name=one | invert | nifti i.nii"), "add hdf5 FILE.h5 to the output",
          no_force("npy f4.npy | save name=one | invert | nifti i2.nii | hdf5 i.h5"), "i.h5")
    carry(folder, ["export", "a.h5", "-o", "x.foo"],
          "known: .nii.gz, .nii, .nrrd, .mha, .tif, .tiff, .png, and .nxs for projections; --format tiff, png or dicom writes a folder",
          (["export", "a.h5", "-o", "e.nii"], ["export", "a.h5", "-o", "e2.nii.gz"], ["export", "a.h5", "-o", "e.tif"],
          ["export", "a.h5", "-o", "e", "--format", "tiff"], ["export", "a.h5", "-o", "f", "--format", "png"]), "e.nii")
    carry(folder, ["export", "a.h5", "-o", "x.png"], "a folder can: --format png -o FOLDER",
          ["export", "a.h5", "-o", "g", "--format", "png"], "g")
    carry(folder, ["export", "a.h5", "-o", "w.nii", "--window", "40,400"],
          "png and dicom have one; the stage `window` changes the values themselves",
          (["export", "a.h5", "-o", "h", "--format", "png", "--window", "40,400"],
          no_force("npy f4.npy | window center=40 width=400 | nifti w.nii")), "w.nii")
    run("preview", "a.h5", cwd=folder)
    run("run", "npy f4.npy | hdf5 plain.h5", "--quiet", cwd=folder)
    run("run", "npy f4.npy | statistics | hdf5 numbers.h5", "--quiet", cwd=folder)
    carry(folder, ["tables", "plain.h5"], "`statistics` and `histogram` in a chain leave some", ["tables", "numbers.h5"])
    carry(folder, ["tables", "numbers.h5", "-o", "t.xls"], "-o FILE.csv, FILE.tsv or FILE.json",
          (["tables", "numbers.h5", "-o", "t.csv"], ["tables", "numbers.h5", "-o", "t.tsv"], ["tables", "numbers.h5", "-o", "t.json"]), "t.json")
    carry(folder, no_force("npy f4.npy | statistics | csv a.csv"), "numbers leave a result by `tomostage tables R.h5 -o t.csv`",
          ["tables", "numbers.h5", "-o", "t2.csv"], "t2.csv")
    carry(folder, no_force("npy f4.npy | statistics", "-o", "a.csv"), "numbers leave a result by `tomostage tables R.h5 -o a.csv`",
          ["tables", "numbers.h5", "-o", "a.csv"], "a.csv")
    carry(folder, no_force("npy f4.npy | invert", "-o", "n.h5", "--table", "box"), "known: invert",
          no_force("npy f4.npy | invert", "-o", "n.h5", "--table", "invert"), "n.h5")
    carry(folder, no_force("npy f4.npy | box radius=1", "-o", "n2.h5", "--table", "box"), "`statistics` and `histogram` leave some",
          no_force("npy f4.npy | statistics", "-o", "n2.h5", "--table", "statistics"), "n2.h5")
    carry(folder, no_force("npy f4.npy | statistics", "-o", "n3.nii", "--table", "statistics"),
          "-o FILE.h5, or hdf5 FILE.h5 beside the other outputs",
          (no_force("npy f4.npy | statistics", "-o", "n3.h5", "--table", "statistics"),
          no_force("npy f4.npy | statistics | hdf5 n4.h5 | nifti n4.nii", "--table", "statistics")), "n4.nii")
    carry(folder, ["preview", "a.h5"], "--force replaces it, -o FILE.png names another",
          (["preview", "a.h5", "--force"], ["preview", "a.h5", "-o", "q.png"]), "q.png")
    carry(folder, ["preview", "a.h5", "-o", "q.txt"], "-o FILE.png", ["preview", "a.h5", "-o", "q2.png"], "q2.png")
    run(*words_of('npy f4.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral | sirt iterations=2'),
        cwd=folder)
    shutil.copy(f"{folder}/out.h5", f"{folder}/sirt.h5")
    carry(folder, ["plot", "a.h5"], "`sirt` and `cgls` leave one in the result of their chain", ["plot", "sirt.h5"],
          "sirt.h5.svg")
    carry(folder, ["plot", "sirt.h5", "-o", "r.png"], "-o FILE.svg", ["plot", "sirt.h5", "-o", "r.svg"], "r.svg")
    run("run", "npy f4.npy spacing=1,1,1 | hdf5 under.h5", "--quiet", cwd=folder)
    run("run", "npy f4.npy spacing=2,1,1 slices=0,2 | hdf5 over.h5", "--quiet", cwd=folder)
    run("run", "result over.h5 | input under result under.h5 | resample like=under | hdf5 like.h5", "--quiet", cwd=folder)
    carry(folder, ["preview", "under.h5", "-o", "o.png", "--over", "over.h5"], "`resample` with `like` puts one image on the grid of another",
          ["preview", "under.h5", "-o", "o.png", "--over", "like.h5"], "o.png")
    for command, suffix in ("preview", ".png"), ("plot", ".svg"), ("report", ".html"):
        here = f"cd /proc && $T {command} {folder}/sirt.h5"
        carry(folder, ["sh", here], f"-o FOLDER/FILE{suffix} writes it elsewhere", ["sh", f"{here} -o {folder}/elsewhere{suffix}"],
              f"elsewhere{suffix}")
    carry(folder, ["phantom", "heed", "-o", "k"], "did you mean 'head'?", ["phantom", "head", "-o", "k", "--size", "8",
          "--slices", "2"], "k")
    carry(folder, ["phantom", "x", "-o", "k"], "there are: shepp-logan, head, disc, rods, asymmetric, gradient, scan",
          tuple((['phantom', name, '-o', f'ph_{name}', '--size', '16', '--slices', '2'] for name in ('shepp-logan', 'head', 'disc', 'rods', 'asymmetric', 'gradient'))),
          "ph_disc")
    carry(folder, ["phantom", "disc", "-o", "k"], "name a new folder, or empty this one", ["phantom", "disc", "-o",
          "k2", "--size", "8", "--slices", "2"], "k2")
    carry(folder, no_force("npy f4.npy", "-o", "m.h5", "--memory", "1"), "--memory",
          no_force("npy f4.npy", "-o", "m.h5", "--memory", "@M"), "m.h5")
    if "cuda-not-built" in run(*no_force("npy f4.npy", "-o", "d.h5", "--device", "cuda"), expect=None, cwd=folder).stderr:
        carry(folder, no_force("npy f4.npy", "-o", "d.h5", "--device", "cuda"), "--device cpu",
              no_force("npy f4.npy", "-o", "d.h5", "--device", "cpu"), "d.h5")


@rows
def commands(folder):
    arrays(folder)
    run(*words_of("npy f4.npy"), cwd=folder)
    shutil.copy(f"{folder}/out.h5", f"{folder}/a.h5")
    carry(folder, ["run", "a.h5"],
          "`tomostage rerun a.h5 -i INPUT` runs the chain that it holds and compares; as an input: 'result a.h5 | STAGE | hdf5 OUT.h5'",
          (["rerun", "a.h5", "-i", "f4.npy"], no_force("result a.h5 | invert | hdf5 b.h5")), "b.h5")
    carry(folder, ["run", "f4.npy"], "as an input: 'npy f4.npy | STAGE | hdf5 OUT.h5'",
          no_force("npy f4.npy | invert | hdf5 c.h5"), "c.h5")
    run("phantom", "disc", "-o", "ct", "--size", "8", "--slices", "3", "--quiet", cwd=folder)
    run("phantom", "scan", "-o", "s.nxs", "--size", "8", "--slices", "3", "--views", "4", "--quiet", cwd=folder)
    carry(folder, ["run", "ct"], "as an input: 'dicom ct | STAGE | hdf5 OUT.h5'",
          no_force("dicom ct | invert | hdf5 out.h5"), (3, 8, 8))
    carry(folder, ["run", "s.nxs"], "or of a scan 'nexus s.nxs'", no_force("nexus s.nxs | box radius=1 | hdf5 out.h5"),
          (3, 4, 8))
    carry(folder, ["run", "nothere.yaml"], "one line such as 'dicom ./study | box radius=2 | hdf5 out.h5'",
          no_force("dicom ./ct | box radius=2 | hdf5 out.h5"), (3, 8, 8))
    carry(folder, ["run", "gausian"], "did you mean the stage 'gaussian'?",
          no_force("dicom ct | gaussian sigma=1 | hdf5 out.h5"), (3, 8, 8))
    carry(folder, no_force("dicom ct | box radius=1", "--set", "box=4", "-o", "out.h5"),
          "box.radius=3, of a second box box#2.radius=3, of the input input.series=2",
          (no_force("dicom ct | box radius=1", "--set", "box.radius=3", "-o", "out.h5"),
          no_force('dicom ct | box radius=1 | box radius=1', '--set', 'box#2.radius=3', '--set', 'input.series=1', '-o', 'out.h5', '--force')),
          (3, 8, 8))
    carry(folder, ["rerun", "a.h5", "-i", "f4.npy", "-o", "a.h5"],
          "give the second result a name of its own, or leave -o out",
          (["rerun", "a.h5", "-i", "f4.npy", "-o", "a2.h5"], ["rerun", "a.h5", "-i", "f4.npy"]), "a2.h5")
    carry(folder, ["rerun", "a.h5"], "-i PATH gives all inputs of the chain, -i input=PATH this one",
          (["rerun", "a.h5", "-i", "f4.npy"], ["rerun", "a.h5", "-i", "input=f4.npy"]))
    carry(folder, ["rerun", "a.h5", "-i", "imput=f4.npy"], "it has: input", ["rerun", "a.h5", "-i", "input=f4.npy"])
    np.save(f"{folder}/other.npy", V + 1)
    carry(folder, ["rerun", "a.h5", "-i", "other.npy"], "`tomostage verify a.h5 --inputs PATH` names what differs",
          ["verify", "a.h5", "--inputs", "other.npy"], names="slice 0")
    run(*words_of("npy f4.npy | window low=0 high=250 dtype=f32 function=linear-exact"), cwd=folder)
    shutil.copy(f"{folder}/out.h5", f"{folder}/box.h5")
    resumed = no_force(
        "npy other.npy | window low=0 high=250 dtype=f32 function=linear-exact | invert", "-o", "out.h5", "--force"
    )
    carry(folder, [*resumed, "--resume-from", "box.h5"], "`tomostage verify box.h5 --inputs PATH` names what changed",
          ["verify", "box.h5", "--inputs", "other.npy"], names="slice 0")
    carry(folder, [*resumed, "--resume-from", "box.h5"], "without --resume-from everything is computed", resumed,
          1 - np.minimum(V + 1, 250) / 250)
    carry(folder, no_force("npy other.npy | invert", "-o", "out.h5", "--force", "--resume-from", "a.h5"),
          "without --resume-from everything is computed", no_force("npy other.npy | invert", "-o", "out.h5", "--force"),
          -V)
    carry(folder, ["report", "a.h5", "--profile", "f4.npy"], "`tomostage run CHAIN --profile NAME` writes NAME.json",
          ["run", "npy f4.npy", "-o", "a.h5", "--force", "--quiet", "--profile", "prof"], "prof.json")
    carry(folder, ["run", "dicom ct series=modalty=CT | invert", "-o", "ru.h5"],
          "modality, description, number, protocol, image_type, uid, or what `tomostage info --json` has under metadata, such as "
          "series: {modality: CT, description: \"*T1*\"}",
          (["run", "dicom ct series=modality=CT | invert", "-o", "ru.h5"],
           ["run", "dicom ct series=\"modality=CT; description=*disc*\" | invert", "-o", "ru2.h5"], ["info", "ct", "--json"]), "ru2.h5")
    carry(folder, ["run", "dicom ct series=*T1* | invert", "-o", "ru3.h5"], "`tomostage info FOLDER --names` shows what the series say",
          ["info", "ct", "--names"], names="disc phantom")
    run("phantom", "disc", "-o", "gap", "--size", "8", "--slices", "6", "--quiet", cwd=folder)
    os.remove(f"{folder}/gap/IM0003.dcm")
    carry(folder, ["convert", "gap", "-o", "gaps", "--all-series"], "`tomostage info gap` has the way out of each",
          ["sh", "$T info gap || true"], names="way out: ")
    run("batch", "invert", "ct", "-o", "bb", "--quiet", cwd=folder)
    carry(folder, ["batch", "invert", "ct", "-o", "bb", "--quiet"],
          "--resume verifies results that are there and goes on with the others",
          ["batch", "invert", "ct", "-o", "bb", "--quiet", "--resume"], "bb/ct.h5")


@rows
def standard_scales(folder):
    arrays(folder)
    np.save(f"{folder}/flat.npy", np.where(np.arange(V.size).reshape(V.shape) < V.size - 2, 3, V).astype("f4"))
    np.save(f"{folder}/zero.npy", np.zeros_like(V))
    batch = ["batch", "nyul landmarks_file=s.json", "f4.npy", "u2.npy"]
    fit = '"$T" batch "nyul landmarks_file=FILE.json" f4.npy u2.npy -o FOLDER --fit --quiet'.replace('"$T"', PROGRAM)

    def good(image):
        return image.shape == V.shape and abs(image.min()) < 4 and abs(image.max() - 100) < 3

    carry(folder, "npy f4.npy | nyul", "landmarks_file: FILE.json, which `tomostage batch CHAIN STUDY... -o FOLDER --fit` writes",
          "npy f4.npy | nyul landmarks_file=FILE.json", good, shell=fit)
    carry(folder, "npy f4.npy | nyul landmarks_file=f4.npy", "`tomostage batch CHAIN STUDY... -o FOLDER --fit` writes such a file",
          "npy f4.npy | nyul landmarks_file=FILE.json", good)
    scale = "landmarks=0,17,31,37,42,51,59,66,73,76,80,89,100"
    carry(folder, f"npy f4.npy | nyul {scale} percentiles=1,99",
          "leave percentiles out, with landmarks at [1, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 99]", f"npy f4.npy | nyul {scale}", good)
    carry(folder, f"npy f4.npy | input z npy zero.npy | nyul mask=z {scale}",
          "a mask that is not 0 where the image has values; without `mask` all of them count",
          (f"npy f4.npy | input z npy f4.npy | nyul mask=z {scale}", f"npy f4.npy | nyul {scale}"), good)
    carry(folder, f"npy flat.npy | nyul {scale}",
          "a mask of the tissue leaves the background out: `- foreground: {name: head}` before, and `mask: head`",
          f"npy flat.npy | foreground name=head | nyul input=input mask=head {scale}", V.shape)
    carry(folder, ["batch", "invert", "f4.npy", "-o", "g1", "--fit"], "a chain with one stage `nyul: {landmarks_file: FILE.json}` is fitted",
          ["batch", "nyul landmarks_file=g1.json", "f4.npy", "-o", "g1", "--fit"], "g1.json")
    carry(folder, ["batch", "nyul", "f4.npy", "-o", "g2", "--fit"], "--set nyul.landmarks_file=FILE.json names one",
          ["batch", "nyul", "f4.npy", "-o", "g2", "--fit", "--set", "nyul.landmarks_file=g2.json"], "g2.json")
    swept = "gaussian sigma={sweep 1 2} | nyul landmarks_file=g3.json"
    carry(folder, ["batch", swept, "f4.npy", "-o", "g3", "--fit"], "--set gives the parameter one value",
          ["batch", swept, "f4.npy", "-o", "g3", "--fit", "--set", "gaussian.sigma=1"], "g3.json")
    yaml(folder, "old.yaml", "tomostage: 1\ninput: {npy: x}\nstages:\n  - box: {radius: 1}\n  - nyul: {landmarks_file: g4.json}\n")
    yaml(folder, "new.yaml", "tomostage: 2\ninput: {npy: x}\nstages:\n  - box: {radius: 1}\n  - nyul: {landmarks_file: g4.json}\n")
    carry(folder, ["batch", "old.yaml", "f4.npy", "-o", "g4", "--fit"],
          "a chain of version 2 (`tomostage: 2`) without control characters can", ["batch", "new.yaml", "f4.npy", "-o", "g4", "--fit"], "g4.json")
    run(*batch, "-o", "g5", "--fit", cwd=folder)
    carry(folder, [*batch, "-o", "g6", "--fit"], "--force fits it anew and replaces it; without --fit the batch takes it as it is",
          ([*batch, "-o", "g6"], [*batch, "-o", "g7", "--fit", "--force"]), "g7/u2.h5")
    carry(folder, [*batch[:-1], "-o", "g8", "--fit", "--resume"], "--force replaces it; without --fit the batch takes it as it is",
          ([*batch[:-1], "-o", "g8"], [*batch[:-1], "-o", "g9", "--fit", "--force"]), "g9/f4.h5")
    carry(folder, ["batch", "nyul landmarks_file=old.yaml", "f4.npy", "-o", "g10", "--fit", "--force"], "give `landmarks_file` another name",
          ["batch", "nyul landmarks_file=g10.json", "f4.npy", "-o", "g10", "--fit", "--force"], "g10.json")
    write_nifti(f"{folder}/two.nii", 2, 4, 8, 8, lambda v, z, i: float((v + 1) * (i * 7 % 51) + z))
    carry(folder, ["batch", "nifti x | nyul landmarks_file=g14.json", "two.nii", "-o", "g14", "--fit"],
          "take: N beside the path of the input chooses one volume",
          ["batch", "nifti x take=1 | nyul landmarks_file=g14.json", "two.nii", "-o", "g15", "--fit"], "g14.json")
    flat = ["batch", "nyul landmarks_file=g11.json", "f4.npy", "flat.npy"]
    carry(folder, [*flat, "-o", "g11", "--fit"], "leave it out of the list, or give `nyul` a mask that fits it",
          ([*flat[:-1], "-o", "g12", "--fit"], ["batch", "foreground name=head | nyul input=input mask=head landmarks_file=g13.json",
           "flat.npy", "-o", "g13", "--fit"]), "g13.json")
