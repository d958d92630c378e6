# SPDX-License-Identifier: Apache-2.0
"""The commands that are cut off in the midst of their work, one for each kind of output."""
import os

from attack import FOLDER, phantom, run


def tasks():
    """What is cut: (name, arguments, outputs). {out} is the folder of the outputs, and {n} is 1 or 2, for two different
    outputs."""
    study = phantom(16, 4)
    image = f"dicom {study} | box radius={{n}}"
    own = os.path.join(FOLDER, "own{n}.h5")
    for n in "12":
        made = run("run", f"{image} | save name=b | radon views=12 | sirt iterations=2 | hdf5 {own}".format(n=n), "--quiet")
        assert made.returncode == 0, made.stdout
    chain = os.path.join(FOLDER, "chain.yaml")
    with open(chain, "w", encoding="ascii") as file:
        file.write("tomostage: 2\nstages:\n  - box: {radius: 1}\n")
    runs = (("hdf5", "histogram bins=16 | hdf5 {out}/o.h5", ["o.h5"]),
            ("nifti", "nifti {out}/o.nii", ["o.nii", "o.json"]),
            ("tiff", "tiff {out}/o.tif", ["o.tif"]),
            ("tiff pages", "tiff {out}/o/", ["o"]),
            ("png pages", "png {out}/o/", ["o"]),
            ("dicom", "dicom {out}/o/", ["o"]),
            ("four at once", "hdf5 {out}/o.h5 | nifti {out}/o.nii.gz | dicom {out}/d/ | png {out}/p/",
             ["o.h5", "o.nii.gz", "o.json", "d", "p"]))
    return [*((name, ["run", f"{image} | {output}", "--force"], outputs) for name, output, outputs in runs),
            ("profile", ["run", f"{image} | hdf5 {{out}}/o.h5", "--profile={out}/t", "--force"], ["o.h5", "t.svg", "t.json"]),
            ("export", ["export", own, "--dataset", "b", "-o", "{out}/o.nii.gz", "--force"], ["o.nii.gz", "o.json"]),
            ("report", ["report", own, "-o", "{out}/o.html", "--force"], ["o.html"]),
            ("preview", ["preview", own, "-o", "{out}/o.png", "--force"], ["o.png"]),
            ("plot", ["plot", own, "-o", "{out}/o.svg", "--force"], ["o.svg"]),
            ("crate", ["export", own, "--provenance", "{out}/crate"], ["crate"]),
            ("batch", ["batch", chain, study, "-o", "{out}/b", "--resume"],
             [f"b/{os.path.basename(study)}.h5", "b/batch.tsv", "b/batch.html"])]


def command(task, out, n):
    return [argument.replace("{out}", out).replace("{n}", str(n)) for argument in task[1]]
