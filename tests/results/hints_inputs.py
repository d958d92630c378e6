# SPDX-License-Identifier: Apache-2.0
"""Hints about DICOM, scans and masks: rows of test_hints.py."""
import os
import shutil
import sys

import h5py
import numpy as np
import pydicom

from harness import run
from hints_support import SCAN, V, arrays, carry, image, no_force, rows, scans, words_of, yaml


def series(folder, name, change=lambda file, z: None, slices=4):
    """A CT of a disc, whose files `change` may alter."""
    run("phantom", "disc", "-o", name, "--size", "8", "--slices", str(slices), "--quiet", cwd=folder)
    for z, path in enumerate(sorted(os.listdir(f"{folder}/{name}"))):
        file = pydicom.dcmread(f"{folder}/{name}/{path}")
        change(file, z)
        file.save_as(f"{folder}/{name}/{path}")


def setting(**values):
    def change(file, _):
        for name, value in values.items():
            setattr(file, name, value)
    return change


@rows
def arrays_of_other_types(folder):
    """What the hint does in Python gives values that are right; hexadecimal names have a list as the only way."""
    wave = V * np.exp(1j)
    chain = "npy wave.npy axes=z,y,x spacing=1,1,1"
    for name, right in (("abs(array)", V), ("real", wave.real.astype("f4"))):
        np.save(f"{folder}/wave.npy", wave)
        values = "numpy.abs(array)" if "abs" in name else "array.real"
        carry(folder, chain, "numpy.save(path, numpy.abs(array)) takes the magnitudes, numpy.save(path, array.real) the real parts", chain, right,
              shell=f"{sys.executable} -c \"import numpy; array = numpy.load('wave.npy'); numpy.save('wave.npy', {values})\"")
    pair = np.zeros(V.shape, [("a", "f4"), ("b", "i2")])
    pair["a"] = V
    for array, values, said in (
        (np.array(V.tolist(), object), "numpy.array(array.tolist(), 'float32')", "works if all are numbers, or arrays of one shape"),
        (pair, "array['a']", "for arrays of numbers"),
        (V.astype("U8"), "array.astype('float32')", "works if all of them are numbers"),
        (V.astype("S8"), "array.astype('float32')", "works if all of them are numbers"),
        (V.view("V4"), "array.view('float32')", "or another type of as many bytes says which"),
        (V.astype(np.longdouble), "array.astype('float32')", "convert it in Python"),
    ):
        np.save(f"{folder}/wave.npy", array, allow_pickle=True)
        for hint in (f"numpy.save(path, {values})", said):
            np.save(f"{folder}/wave.npy", array, allow_pickle=True)
            carry(folder, chain, hint, chain, V, shell=f"{sys.executable} -c \"import numpy; "
                  f"array = numpy.load('wave.npy', allow_pickle=True); numpy.save('wave.npy', {values})\"")
    np.save(f"{folder}/wave.npy", wave.real)
    os.makedirs(f"{folder}/hexadecimal")
    names = [f"p{i:02x}" for i in range(8, 12)] + ["p10", "p11", "p1a", "p1b"]
    for i, name in enumerate(names):
        run("run", f"npy wave.npy axes=z,y,x spacing=1,1,1 slices={i % 4} | tiff hexadecimal/{name}.tif", "--quiet", cwd=folder)
    slices = "pages=slices pixel_size=1 spacing_z=1"
    carry(folder, f"tiff hexadecimal {slices}", "tiff: [FILE, FILE, ...] reads files in the order of the list",
          f"tiff [{', '.join(f'hexadecimal/{name}.tif' for name in names)}] {slices}", np.concatenate([wave.real, wave.real]).astype("f4"))


@rows
def packed(folder):
    """Files that gzip compressed under any name."""
    arrays(folder)
    run(*words_of("npy f4.npy axes=z,y,x spacing=1,1,1 | tiff v.tif"), cwd=folder)
    run(*words_of("npy f4.npy axes=z,y,x spacing=1,1,1 | hdf5 v.h5"), cwd=folder)
    for name, chain in (("f4.npy", "npy %s axes=z,y,x spacing=1,1,1"), ("v.tif", "tiff %s pages=slices pixel_size=1 spacing_z=1"), ("v.h5", "result %s")):
        packed = "packed.gz" if name == "v.h5" else "packed"
        unpacked = "unpacked" + os.path.splitext(name)[1]
        for words in (chain % packed, ["info", packed], ["run", packed]):
            os.system(f"cd {folder} && gzip < {name} > {packed} && rm -f {unpacked}")
            carry(folder, words, "`zcat FILE > NEW` unpacks it, whatever its name ends in", chain % unpacked, V, shell=f"zcat {packed} > {unpacked}")


@rows
def dicom(folder):
    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    right = image(folder)
    os.makedirs(f"{folder}/two")
    shutil.copytree(f"{folder}/ct", f"{folder}/two/a")
    series(folder, "two/b", slices=3)
    carry(folder, "dicom two", "choose one with series: N", ("dicom two series=1", "dicom two series=2"),
          lambda a: a.shape[0] in (3, 4))
    carry(folder, "dicom two series=9", "give the number of one of the 2 below", "dicom two series=2",
          lambda a: a.shape[0] in (3, 4))
    shutil.copytree(f"{folder}/ct", f"{folder}/cut")
    with open(f"{folder}/cut/IM0004.dcm", "r+b") as file:
        file.truncate(300)
    carry(folder, "dicom cut", "`unreadable: skip` beside the path reads what is left of the series",
          "dicom cut unreadable=skip", None, again=True)
    series(folder, "part", setting(NumberOfSeriesRelatedInstances=6))
    carry(folder, "dicom part", "`incomplete: allow` beside the path reads the files that are there",
          "dicom part incomplete=allow", right, again=True)
    series(folder, "burned", setting(BurnedInAnnotation="YES"))
    carry(folder, "dicom burned", "write burned_in: allow beside the path to read them all the same",
          "dicom burned burned_in=allow", right, again=True)
    blacked = right.copy()
    blacked[:, 0:2, 0:3] = -1000
    carry(folder, "dicom burned", "or burned_in: mask with mask_boxes and mask_value to blacken the text",
          "dicom burned burned_in=mask mask_boxes=[[0,0,2,3]] mask_value=-1000", blacked, again=True)

    def two_spacings(file, z):
        position = list(file.ImagePositionPatient)
        position[2] = [0, 1, 2, 3, 20, 22, 24, 26][z]
        file.ImagePositionPatient = position
    series(folder, "stacks", two_spacings, slices=8)
    carry(folder, "dicom stacks", "stack: N takes one of the stacks of even spacing",
          ("dicom stacks stack=1", "dicom stacks stack=2"), (4, 8, 8))
    carry(folder, "dicom stacks stack=7", "stack: 1 is the lowest along the normal", "dicom stacks stack=1", (4, 8, 8))
    carry(folder, "dicom ct split=none,echo", "leave out 'none' or the others",
          ("dicom ct split=none", "dicom ct split=echo"), right)
    carry(folder, "dicom ct uid_key_file=KEY", "make a key with: (umask 077; head -c 32 /dev/urandom > KEY)",
          "dicom ct uid_key_file=KEY", right, shell="(umask 077; head -c 32 /dev/urandom > KEY)")
    series(folder, "padded", lambda file, z: file.add_new(0x00280120, "US", int(file.pixel_array.min())))
    carry(folder, "dicom padded", "the output's pixel_mask shows them; padding: value takes them for measured values",
          "dicom padded padding=value", right)
    carry(folder, no_force("dicom padded | nifti p.nii"), "padding: value takes them for measured values",
          no_force("dicom padded padding=value | nifti p2.nii"), "p2.nii")
    carry(folder, "dicom ct | radon views=8 | noise photons=1000",
          "`to_attenuation: {water: 0.0206}` before `radon` makes them from HU",
          "dicom ct | to_attenuation water=0.0206 | radon views=8 | noise photons=1000", lambda a: a.shape[1] == 8)
    moved = "dicom ct | crop x=0,4 name=a | crop input=input x=4,8 name=b"
    carry(folder, f"{moved} | apply_mask mask=a", "`resample` with `like:` puts one of them on the grid of the other",
          "dicom ct | crop x=0,4 name=a | crop input=input x=3,8 | resample like=a | apply_mask mask=a", (4, 8, 4))


@rows
def scans_of_others(folder):
    arrays(folder)
    scans(folder)
    with h5py.File(f"{folder}/e.h5", "w") as file:
        file["exchange/data"] = V.astype("u2")
    carry(folder, "exchange e.h5", "theta_start and theta_stop in degrees (and endpoint) say what they are",
          ("exchange e.h5 theta_start=0 theta_stop=180", "exchange e.h5 theta_start=0 theta_stop=180 endpoint=true"),
          V.transpose(1, 0, 2))
    with h5py.File(f"{folder}/scan.nxs") as one, h5py.File(f"{folder}/both.nxs", "w") as file:
        one.copy("entry", file, "first")
        one.copy("entry", file, "second")
    carry(folder, "nexus both.nxs", "entry: PATH says which; `tomostage info FILE` lists what is in the file",
          ("nexus both.nxs entry=/first", "nexus both.nxs entry=/second"), lambda a: a.shape == (4, 48, 32))
    carry(folder, "nexus both.nxs", "`tomostage info FILE` lists what is in the file", ["info", "both.nxs"])
    with h5py.File(f"{folder}/v.h5", "w") as file:
        file["volume"] = V
    for command in ("verify", "rerun", "report"):
        carry(folder, [command, "v.h5"], "`tomostage info FILE` lists what is in the file, and says which input reads it",
              ["info", "v.h5"], names="hdf5 v.h5 path=/volume axes=z,y,x")
    flats = SCAN.replace("frames=flats", "frames=flats slices=0,9", 1).replace("scan.nxs", "scan.nxs slices=1,3", 1)
    carry(folder, flats, "slices: [first, end] with 0 <= first < end <= 4", flats.replace("slices=0,9", "slices=1,3"),
          lambda a: a.shape[0] == 2)
    np.save(f"{folder}/odd.npy", np.ones((4, 45, 32), "f4"))
    turn = "npy lines_f4.npy axes=z,view,detector theta_start=0 theta_stop=360 quantity=line_integral"
    carry(folder, f"{turn} | center center=4 | fbp",
          "`stitch: {}` before it joins the opposite views of a whole turn; of an object within that circle `circle` keeps what is right; sirt takes any rays",
          (f"{turn} | center center=4 | stitch | fbp", f"{turn} | center center=4 | sirt iterations=2"),
          lambda a: a.shape[0] == 4)
    carry(folder, "npy odd.npy axes=z,view,detector theta_start=0 theta_stop=360 quantity=line_integral | stitch",
          "between: interpolate takes it from both",
          "npy odd.npy axes=z,view,detector theta_start=0 theta_stop=360 quantity=line_integral | stitch between=interpolate",
          lambda a: a.shape[0] == 4)


@rows
def more_of_runs(folder):
    arrays(folder)
    run("run", "npy f4.npy | hdf5 a.h5", "--quiet", cwd=folder)
    shutil.copy(f"{folder}/f4.npy", f"{folder}/in.json")
    shutil.copy(f"{folder}/f4.npy", f"{folder}/in.svg")
    carry(folder, no_force("npy in.json", "-o", "out.h5", "--force", "--profile", "in"),
          "profile a name of its own: --profile NAME",
          no_force("npy in.json", "-o", "out.h5", "--force", "--profile", "other"), V)
    scan = "axes=z,view,detector theta_start=0 theta_stop=180"
    carry(folder, ["check", f"npy in.svg {scan} | box radius=1", "--picture", "in.svg"],
          "picture a name of its own: --picture FILE.svg", ["check", f"npy in.svg {scan} | box radius=1", "--picture",
          "new.svg"], "new.svg")
    spaced = "npy f4.npy spacing=1,1,1"
    carry(folder, f"{spaced} | resample spacing={{sweep 1 2}}", "run the chain once for each value with --set",
          (no_force(f"{spaced} | resample spacing=1", "--set", "resample.spacing=1", "-o", "out.h5", "--force"),
          no_force(f"{spaced} | resample spacing=1", "--set", "resample.spacing=2", "-o", "out.h5", "--force")),
          lambda a: a.shape[0] in (2, 4))
    carry(folder, no_force("npy f4.npy | invert | nifti v.nii", "--view"),
          "add hdf5 FILE.h5 to the output, or leave --view out", no_force("npy f4.npy | invert | nifti v.nii"), "v.nii")
    begin = "tomostage: 2\ninput: {npy: f4.npy}\nstages:\n  - invert: {}\n"
    carry(folder, yaml(folder, "no.yaml", begin)[:2], "output: {hdf5: FILE.h5} in the chain, or -o FILE.h5",
          (yaml(folder, "o.yaml", begin + "output: {hdf5: out.h5}\n")[:2],
          ["run", "no.yaml", "-o", "out.h5", "--force"]), 1 - V)
    carry(folder, yaml(folder, "i.yaml", "tomostage: 2\nstages:\n  - invert: {}\n"),
          "input: {dicom: FOLDER} in the chain, or -i FOLDER",
          (["run", "i.yaml", "-i", "f4.npy", "-o", "out.h5", "--force"], yaml(folder, "o2.yaml", begin)), 1 - V)
    carry(folder, yaml(folder, "f.yaml", begin + "output: {png: f.png}\n")[:2],
          "a folder can: output: {png: FOLDER} in the chain",
          yaml(folder, "f2.yaml", begin + "output: {png: pictures}\n")[:2], "pictures")
    carry(folder, yaml(folder, "s.yaml", begin + "output: {hdf5: f4.npy}\n")[:2] + ["--force"],
          "output: {hdf5: FILE.h5} in the chain, or -o FILE.h5",
          yaml(folder, "s2.yaml", begin + "output: {hdf5: s.h5}\n")[:2], "s.h5")
    with open(f"{folder}/list.tsv", "w") as file:
        file.write("input,output\na.h5,one\n")
    with open(f"{folder}/tabs.tsv", "w") as file:
        file.write("input\toutput\tbox.radius\na.h5\tone\t1\n")
    carry(folder, ["batch", "box radius=2", "list.tsv", "-o", "b", "--quiet"],
          "columns are parted by tabs: input, perhaps output, and parameters such as box.radius",
          ["batch", "box radius=2", "tabs.tsv", "-o", "b", "--quiet"], "b/one.h5")


@rows
def limits(folder):
    """Pixels beyond what the file says that its detector can measure."""
    scans(folder)

    def change(name, of_frames=None, of_detector=None):
        shutil.copy(f"{folder}/scan.nxs", f"{folder}/{name}")
        with h5py.File(f"{folder}/{name}", "r+") as file:
            frames = file["entry/instrument/detector/data"]
            frames[:, 1, 7] = 9
            frames[:, 2, 20] = 60000
            for at, values in ((frames.attrs, of_frames), (frames.parent, of_detector)):
                for key, value in (values or {}).items():
                    at[key] = value

    change("limits.nxs", of_detector={"saturation_value": 50000, "underload_value": 10})
    filled = "nexus limits.nxs | bad_pixels highest=50001 lowest=10"
    carry(folder, "nexus limits.nxs", "the stage bad_pixels with highest: 50001 fills them", filled,
          lambda a: a.max() <= 50000, again=True)
    carry(folder, "nexus limits.nxs", "the stage bad_pixels with lowest: 10 fills them", filled, lambda a: a.min() >= 10,
          again=True)
    change("fill.nxs", of_frames={"_FillValue": 60000.0})
    carry(folder, "nexus fill.nxs", "the stage bad_pixels fills what lies below `lowest` or from `highest` on",
          "nexus fill.nxs | bad_pixels highest=60000", lambda a: a.max() < 60000, again=True)
