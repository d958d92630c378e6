# SPDX-License-Identifier: Apache-2.0
"""Hints about chains, scans, angles and runs: rows of test_hints.py."""
import os

import numpy as np

from harness import PROGRAM, run
from hints_support import SCAN, V, arrays, carry, close, image, no_force, rows, scans, yaml


@rows
def angles_and_frames(folder):
    lines, slices = scans(folder)
    npy, right = "npy lines_f4.npy axes=z,view,detector quantity=line_integral", close(slices)
    turn = (
        "theta_start=0 theta_stop=3.14159265358979 angle_unit=radian",
        "theta_start=0 theta_stop=180 angle_unit=degree",
    )
    carry(folder, f"{npy} theta_start=0 theta_stop=3.14159265358979 | fbp",
          "angle_unit: radian, or angle_unit: degree if they are degrees", f"{npy} {turn[0]} | fbp", right)
    h5 = "hdf5 lines.h5 path=/lines axes=z,view,detector quantity=line_integral"
    carry(folder, f"{h5} angles=/radians | fbp", "angle_unit: radian, or angle_unit: degree if they are degrees",
          f"{h5} angles=/radians angle_unit=radian | fbp", right)
    carry(folder, f"{h5} angles=/other | fbp", "angle_unit: degree or angle_unit: radian, if they are",
          f"{h5} angles=/other angle_unit=degree | fbp", right)
    carry(folder, f"{h5} theta_start=0 theta_stop=3.14159265358979 | fbp",
          "angle_unit: radian, or angle_unit: degree if they are degrees", f"{h5} {turn[0]} | fbp", right)
    carry(folder, "hdf5 lines.h5 path=/lines axes=z,view,detector",
          "flats and darks have no angles: their axes are z, frame and detector",
          "hdf5 lines.h5 path=/lines axes=z,frame,detector", lines)
    carry(folder, "hdf5 lines.h5 path=/line axes=z,y,x", "`tomostage info FILE` lists what is in the file",
          ["info", "lines.h5"])
    tif = "tiff lines.tif pages=sinograms pixel_size=1 quantity=line_integral"
    carry(folder, f"{tif} | fbp", "angles: [...], or angles_file: PATH, or angle_start and angle_stop; in degrees",
          (f"{tif} angles={','.join(str(i * 3.75) for i in range(48))} | fbp", f"{tif} angles_file=degrees.txt | fbp",
          f"{tif} angle_start=0 angle_stop=180 | fbp"), right)
    carry(folder, f"{tif} | fbp", "frames: flats or darks have none, and neither have pages: slices",
          (f"{tif.replace(' quantity=line_integral', '')} frames=flats",
          "tiff lines.tif pages=slices pixel_size=1 spacing_z=1"), lines)
    carry(folder, f"{tif} angles_file=radians.txt | fbp",
          "angle_unit: radian, or angle_unit: degree if they are degrees",
          f"{tif} angles_file=radians.txt angle_unit=radian | fbp", right)
    carry(folder, f"{tif} angle_start=0 angle_stop=3.14159265358979 | fbp",
          "angle_unit: radian, or angle_unit: degree if they are degrees",
          f"{tif} angle_start=0 angle_stop=3.14159265358979 angle_unit=radian | fbp", right)
    carry(folder, "npy lines_f4.npy theta_start=0 theta_stop=180",
          "axes: [view, z, detector] says that the array is a scan",
          "npy lines_f4.npy axes=view,z,detector theta_start=0 theta_stop=180", lines.transpose(1, 0, 2))
    carry(folder, "npy lines_f4.npy slices=2,9", "slices: [first, end] with 0 <= first < end <= 4",
          "npy lines_f4.npy slices=2,4", lines[2:])
    np.save(f"{folder}/series.npy", np.stack([lines, lines + 1]))
    carry(folder, "npy series.npy take=2", "take: N with 0 <= N <= 1", "npy series.npy take=1", lines + 1)
    carry(folder, "npy lines_f4.npy axes=x,y,z", "bring the array into such an order in Python",
          "npy lines_f4.npy axes=z,y,x", lines)
    carry(folder, SCAN.replace("frames=flats", "frames=darks", 1),
          "frames: flats where 'flats' is defined, or another input", SCAN,
          lambda a: abs(-np.log(a) - lines).max() < 1e-4)
    carry(folder, SCAN.replace("scan.nxs", "scan.nxs frames=darks", 1),
          "frames: projections where 'input' is defined, or another input",
          SCAN.replace("scan.nxs", "scan.nxs frames=projections", 1), lambda a: abs(-np.log(a) - lines).max() < 1e-4)
    part = SCAN.replace("scan.nxs", "scan.nxs slices=1,3", 1)
    carry(folder, part.replace("frames=flats", "frames=flats slices=0,2", 1), "slices: [1, 3] where 'flats' is defined",
          part.replace("frames=flats", "frames=flats slices=1,3", 1),
          lambda a: abs(-np.log(a) - lines[1:3]).max() < 1e-4)
    carry(folder, f"{npy} theta_start=0 theta_stop=120 | fbp", "gaps=accept reconstructs from what is there",
          f"{npy} theta_start=0 theta_stop=120 | fbp gaps=accept", slices.shape)
    chain = "tomostage: 2\ninput: {npy: lines_f4.npy, axes: [z, view, detector], quantity: line_integral, theta_start: 0, theta_stop: 120}\nstages:\n  - fbp: {%s}\n"
    for name, text in (("gap.yaml", chain % ""), ("accepted.yaml", chain % "gaps: accept")):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    carry(folder, "gap.yaml", "gaps: accept reconstructs from what is there", "accepted.yaml", slices.shape)


@rows
def chains_in_yaml(folder):
    arrays(folder)
    begin = "tomostage: 2\ninput: {npy: f4.npy}\nstages:\n"
    right = yaml(folder, "right.yaml", begin + "  - invert: {}\n")

    def wrong(text, hint, then=right, check=1 - V, n=[0]):
        n[0] += 1
        carry(folder, yaml(folder, f"w{n[0]}.yaml", text), hint, then, check)

    wrong("- 1\n", "a chain begins with the line `tomostage: 2`; an image is named in it, or by -i", (right,
          yaml(folder, "by.yaml", "tomostage: 2\nstages:\n  - invert: {}\n") + ["-i", "f4.npy"]))
    wrong("# nothing\n", "write `tomostage: 2`, and below it `input`, `stages` and `output`")
    wrong("input: {npy: f4.npy}\nstages:\n  - invert: {}\n", "the first line of a chain is: tomostage: 2")
    wrong("tomostage: 2\ninput: {npy: f4.npy}\n", "stages: [] writes the input as it is",
          yaml(folder, "none.yaml", "tomostage: 2\ninput: {npy: f4.npy}\nstages: []\n"), V)
    wrong("tomostage: 2\ninput: {f4.npy: x}\nstages: [invert]\n", "a format stands before the path: input: {npy: f4.npy}")
    wrong("tomostage: 2\ninput: {}\nstages: [invert]\n",
          "an input is a format and a path, such as input: {dicom: FOLDER}; known: ")
    wrong(begin + "  - invert {}\n", "a colon stands behind the name of a stage: - invert: {...}")
    wrong(begin + "  box: {radius: 1}\n  invert: {}\n", "each stage stands in its own line: - box: {radius: 2}",
          yaml(folder, "two.yaml", begin + "  - box: {radius: 2}\n  - invert: {}\n"), V.shape)
    wrong(begin + "  - invert\n  - box:\n    radius: 2\n",
          "- box: {...}, or indent the parameters further than the name",
          yaml(folder, "in.yaml", begin + "  - invert\n  - box:\n      radius: 2\n"), V.shape)
    wrong(begin + "  - box: 2\n", "box: {PARAMETER: VALUE}; `tomostage stages box` lists its parameters",
          yaml(folder, "map.yaml", begin + "  - box: {radius: 2}\n"), V.shape)
    wrong(begin + "  - box: 2\n", "`tomostage stages box` lists its parameters", ["stages", "box"], None)
    wrong(begin + "  - box: radius=2\n", "box: {radius: 2}", yaml(folder, "map.yaml", begin + "  - box: {radius: 2}\n"),
          V.shape)
    wrong(begin + "  - rescale: {range: 0,250}\n", "a list of numbers stands in brackets: [0, 1]",
          yaml(folder, "list.yaml", begin + "  - rescale: {range: [0, 250]}\n"), V / 250)
    wrong(begin + "  - invert: {limits: both}\n", "choices: ",
          yaml(folder, "ch.yaml", begin + "  - invert: {limits: data}\n"), V.max() - V)
    wrong(begin + "  - save: {}\n  - invert: {}\n", "name: names the result in the output file",
          yaml(folder, "save.yaml", begin + "  - save: {name: one}\n  - invert: {}\n"))
    wrong(begin + "  - &a invert: {}\n", "name: labels a stage's output, for later stages to refer to",
          yaml(folder, "name.yaml", begin + "  - invert: {name: a}\n  - invert: {input: a}\n"), V)
    wrong(begin + "  - invert: {input: later}\n  - invert: {name: later}\n",
          "a stage takes what stands before it: outputs of earlier stages, and sources",
          yaml(folder, "before.yaml", begin + "  - invert: {name: later}\n  - invert: {input: later}\n"), V)
    old = yaml(folder, "old.yaml", begin.replace("2", "1", 1) + "  - outliers: {size: 3, threshold: 1000}\n")
    if "version-defaults" in run(*old, expect=None, cwd=folder).stderr:
        carry(folder, old, "`tomostage: 2` takes the new ones",
              yaml(folder, "new.yaml", begin + "  - outliers: {size: 3, threshold: 1000}\n"), V.shape)
    carry(folder, "f4.npy | invert", "a format stands before the path: npy f4.npy", "npy f4.npy | invert", 1 - V)
    run("run", "npy f4.npy | nifti f4.nii.gz", "--quiet", cwd=folder)
    carry(folder, "f4.nii.gz | invert", "a format stands before the path: nifti f4.nii.gz", "nifti f4.nii.gz | invert", V.shape)
    run("run", "npy f4.npy | hdf5 f4.h5", "--quiet", cwd=folder)
    carry(folder, "f4.h5 | invert", "a format stands before the path: result f4.h5, or if it is a scan the format `nexus` or `exchange`",
          "result f4.h5 | invert", V.shape)
    run("phantom", "disc", "-o", "study", "--size", "8", "--slices", "4", "--quiet", cwd=folder)
    carry(folder, "study | invert", "a format stands before the path: dicom study, or if it is a scan in TIFF files the format `tiff`",
          "dicom study | invert", (4, 8, 8))
    carry(folder, "npy f4.npy | box radius={from 0 to 10}", "{sweep 1 2 4} or {from 0 to 10 step 2} on one line",
          ("npy f4.npy | box radius={sweep 1 2 4}", "npy f4.npy | box radius={from 0 to 10 step 2}"),
          lambda a: a.shape[0] in (3, 6))
    carry(folder, "npy f4.npy | box radius=[1,2,4]", "radius: {sweep: [1, 2, 4]}, on one line radius={sweep 1 2 4}",
          "npy f4.npy | box radius={sweep 1 2 4}", lambda a: a.shape[0] == 3)
    carry(folder, "npy f4.npy | box radius={from 0 to 10}", "{sweep: [1, 2, 4]} in YAML",
          yaml(folder, "sweep.yaml", begin + "  - box: {radius: {sweep: [1, 2, 4]}}\n"), lambda a: a.shape[0] == 3)
    carry(folder, "npy f4.npy | invert -o c.h5",
          "options of the command, such as -o FILE, stand outside the quotes of the chain",
          no_force("npy f4.npy | invert", "-o", "out.h5"), 1 - V)
    carry(folder, "npy f4.npy | hdf5 a.h5 | invert",
          "outputs stand at the end of the line; `save` keeps an image before it",
          no_force("npy f4.npy | save name=first | invert | hdf5 out.h5"), 1 - V)
    carry(folder, "npy f4.npy | input | invert", "`input NAME FORMAT PATH`, or `input NAME like=input frames=flats`",
          "npy f4.npy | input r npy f4.npy | apply_mask mask=r", V)
    carry(folder, "npy f4.npy > box radius=2", "| box radius=...", "npy f4.npy | box radius=2", V.shape)
    carry(folder, "npy f4.npy | box radius: 3", "radius=VALUE", "npy f4.npy | box radius=3", V.shape)
    carry(folder, "npy f4.npy | box radius=3 mm", "box PARAMETER=VALUE, and | before the next stage",
          "npy f4.npy | box radius=3", V.shape)
    carry(folder, "npy f4.npy | box sigma=3", "sigma is a parameter of", "npy f4.npy | gaussian sigma=3", V.shape)
    carry(folder, "npy f4.npy series=3", "known: npy, axes", "npy f4.npy axes=z,y,x", V)
    carry(folder, ["run", "invert", "-i", "f4.npy", "--set", "input.series=1", "-o", "out.h5", "--quiet"],
          "is a parameter of dicom", ["run", "invert", "-i", "ct", "--set", "input.series=1", "-o", "out.h5",
          "--quiet"], (3, 8, 8), shell=f"{PROGRAM} phantom disc -o ct --size 8 --slices 3 --quiet")
    run("run", "npy f4.npy | tiff t.tif", "--quiet", cwd=folder)
    carry(folder, ["run", "invert", "-i", "t.tif", "-o", "out.h5", "--quiet"],
          "begin the chain with the input, as `tomostage info FILE` writes it, or give each: --set input.NAME=VALUE",
          (no_force("tiff t.tif pages=slices pixel_size=1 spacing_z=1 | invert", "-o", "out.h5"),
          ['run', 'invert', '-i', 't.tif', '--set', 'input.pages=slices', '--set', 'input.pixel_size=1', '--set', 'input.spacing_z=1', '-o', 'out.h5', '--quiet']),
          1 - V)


@rows
def runs(folder):
    arrays(folder)
    run("run", "npy f4.npy | statistics | hdf5 a.h5", "--quiet", cwd=folder)
    os.makedirs(f"{folder}/a")
    for i in range(4):
        run("run", f"npy f4.npy slices={i} | tiff a/page{i + (i > 2)}.tif", "--quiet", cwd=folder)
    pages = "tiff a pages=views pixel_size=1"
    np.savetxt(f"{folder}/angles.txt", [0, 45, 90, 180])
    carry(folder, f"{pages} angle_start=0 angle_stop=180",
          "angles_file gives the angles of the views that are there; gaps: accept takes them as evenly spaced",
          (f"{pages} angles_file=angles.txt", f"{pages} angle_start=0 angle_stop=180 gaps=accept"),
          V.transpose(1, 0, 2))
    os.makedirs(f"{folder}/b")
    for i in range(3):
        run("run", f"npy f4.npy slices={i} | tiff b/page{i}.tif", "--quiet", cwd=folder)
    with open(f"{folder}/b/page2.tif", "r+b") as file:
        file.truncate(100)
    slices = "tiff b pages=slices pixel_size=1 spacing_z=1"
    carry(folder, slices, "supply the file anew or remove it; `unreadable: skip` reads what is left of the folder",
          f"{slices} unreadable=skip", V[:2])
    os.makedirs(f"{folder}/scans")
    os.makedirs(f"{folder}/points")
    for i in range(4):
        run("run", f"npy f4.npy slices={i} | tiff scans/s{i // 2}_{i % 2}.tif", "--quiet", cwd=folder)
    for i, name in enumerate(["3.9", "3.11", "3.12"]):
        run("run", f"npy f4.npy slices={i} | tiff points/v_{name}.tif", "--quiet", cwd=folder)
    slices = "pages=slices pixel_size=1 spacing_z=1"
    carry(folder, f"tiff scans {slices}", 'pattern: "s0_*.tif" takes the files of one', f"tiff scans {slices} pattern=s0_*.tif", V[:2])
    os.makedirs(f"{folder}/grid")
    os.makedirs(f"{folder}/twins")
    os.makedirs(f"{folder}/late")
    for i, name in enumerate(["s1_5", "s1_6", "s2_1", "s2_2"]):
        run("run", f"npy f4.npy slices={i} | tiff late/{name}.tif", "--quiet", cwd=folder)
    carry(folder, f"tiff late {slices}", 'pattern: "s1_*.tif" takes the files of one; pattern: "*" takes all of them', f"tiff late {slices} pattern=s1_*.tif",
          V[:2])
    for i in range(6):
        run("run", f"npy f4.npy slices={i // 2 if i % 2 else 3} | tiff grid/p_{i // 2:03d}_{2 - i % 2}.tif", "--quiet", cwd=folder)
        run("run", f"npy f4.npy slices={i // 2} | tiff twins/p_{i // 2:0{1 + 3 * (i % 2)}d}.tif", "--quiet", cwd=folder)
    carry(folder, f"tiff grid {slices}",
          'pattern: "p_*_1.tif" takes the files of one scan if it has 3, pattern: "p_000_*.tif" if it has 2; pattern: "*" takes all of them',
          f"tiff grid {slices} pattern=p_*_1.tif", V[:3])
    carry(folder, f"tiff grid {slices}",
          'pattern: "p_*_1.tif" takes the files of one scan if it has 3, pattern: "p_000_*.tif" if it has 2; pattern: "*" takes all of them',
          f"tiff grid {slices} pattern=p_000_*.tif", V[[0, 3]])
    carry(folder, f"tiff twins {slices}", 'pattern: "p_????.tif" takes the files of one scan', f"tiff twins {slices} pattern=p_????.tif", V[:3])
    carry(folder, f"tiff scans {slices}", 'pattern: "*" takes all of them in the order of their numbers from left to right',
          f"tiff scans {slices} pattern=*", V)
    carry(folder, f"tiff points {slices}", "tiff: [FILE, FILE, ...] reads files in the order of the list",
          f"tiff [points/v_3.9.tif, points/v_3.11.tif, points/v_3.12.tif] {slices}", V[:3])
    os.makedirs(f"{folder}/runs")
    for i, name in enumerate(["0_0", "1_3", "2_1", "3_2"]):
        run("run", f"npy f4.npy slices={i} | tiff runs/v_{name}.tif", "--quiet", cwd=folder)
    carry(folder, f"tiff runs {slices}", "tiff: [FILE, FILE, ...] reads files in the order of the list",
          f"tiff [runs/v_0_0.tif, runs/v_2_1.tif, runs/v_3_2.tif, runs/v_1_3.tif] {slices}", V[[0, 2, 3, 1]])
    os.makedirs(f"{folder}/woven")
    for i, name in enumerate(["0_0", "90_1", "45_2", "135_3"]):
        run("run", f"npy f4.npy slices={i} | tiff woven/v_{name}.tif", "--quiet", cwd=folder)
    yaml(folder, "woven.txt", "0\n90\n45\n135\n")
    views = "tiff woven pages=views pixel_size=1 quantity=line_integral"
    hint = "angle_start and angle_stop decide if they are the angles of one of these numbers; angles_file lists those of the views in the order of the other"
    for after, order in (("angle_start=0 angle_stop=180", [0, 2, 1, 3]), ("angles_file=woven.txt", [0, 1, 2, 3])):
        carry(folder, f"{views} angle_start=0 angle_stop=360 | save name=same", hint, f"{views} {after} | save name=same", V[order].transpose(1, 0, 2),
              again=True)  # as a note
    np.save(f"{folder}/half.npy", V / 2)
    np.save(f"{folder}/two.npy", np.stack([V, V + 300]))
    carry(folder, "npy two.npy | input m npy two.npy | crop mask=m", "take: N reads one volume, 0 to 1",
          "npy two.npy take=1 | input m npy two.npy take=1 | crop mask=m", V + 300)
    carry(folder, "npy two.npy | crop above=250", "take: N reads one volume, 0 to 1",
          "npy two.npy take=1 | crop above=250", V + 300)
    carry(folder, "npy f4.npy | invert name=a | invert input=input",
          "remove it, name it as a later stage's input or reference, or add a save stage after it",
          ("npy f4.npy | invert", "npy f4.npy | invert name=a | save name=kept | invert input=input"), 1 - V)
    carry(folder, "npy f4.npy | box radius={sweep 1 2} | crop above=100",
          "state x, y and z, or let it stand before the stage that is swept",
          ("npy f4.npy | box radius={sweep 1 2} | crop x=0,4", "npy f4.npy | crop above=100 | box radius={sweep 1 2}"),
          lambda a: a.shape[0] == 2)
    np.save(f"{folder}/labels.npy", ((V > 100) + 2 * (V > 200)).astype("i4"))
    carry(folder, "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=slice",
          "use scope: volume", "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=volume", V)
    carry(folder, "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=2 scope=volume",
          "n_labels says how many labels have a row, 65,536 at most",
          "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=volume", V)
    carry(folder,
          "npy f4.npy | input l npy labels.npy | histogram labels=l n_labels=4 scope=volume range=0,250 method=sampled",
          "leave method out",
          "npy f4.npy | input l npy labels.npy | histogram labels=l n_labels=4 scope=volume range=0,250", V)
    carry(folder, "npy f4.npy quantity=hu | nlm noise=rician sigma=5", "for CT leave out `noise`",
          "npy f4.npy quantity=hu | nlm sigma=5", V.shape)
    carry(folder, "npy f4.npy | input m mask half.npy | apply_mask mask=m",
          "make a mask of an image with a stage, such as `threshold`",
          "npy f4.npy | input m npy half.npy | threshold input=m above=50 name=t | apply_mask input=input mask=t",
          V.shape)
    carry(folder, "npy f4.npy | input m mask two.npy | apply_mask mask=m",
          "reads an image on the same grid, of which take: N beside the path chooses one volume, 0 to 1; stages take it for a mask or labels",
          "npy f4.npy | input m npy two.npy take=0 | apply_mask mask=m", V.shape)
    spaced = "npy f4.npy spacing=1,1,1"


@rows
def values_that_are_not_finite(folder):
    lines, _ = scans(folder)
    scan = "axes=z,view,detector theta_start=0 theta_stop=180"
    big = np.full((4, 8, 8), 3e38, "f4")
    np.save(f"{folder}/big.npy", big)
    carry(folder, "npy big.npy | box radius=2", "`rescale: {range: [0, 3e+38]}` before it makes the values small enough",
          "npy big.npy | rescale range=0,3e38 | box radius=2", np.ones((4, 8, 8)))
    counts = np.pad(np.exp(-lines), ((0, 0), (0, 0), (4, 4)), constant_values=1).astype("f4") * np.float32(0.01)
    spoiled = counts.copy()
    spoiled[1, 5, 12] = 3e38
    np.save(f"{folder}/spoiled.npy", spoiled)
    carry(folder, f"npy spoiled.npy {scan} quantity=counts | air detectors=3",
          "`bad_pixels: {highest: 1e+37}` before it fills counts that no detector gives",
          f"npy spoiled.npy {scan} quantity=counts | bad_pixels highest=1e37 | air detectors=3",
          lambda a: abs(a - counts / 0.01).max() < 0.1)
    holes = lines.copy()
    holes[:, ::7, 12] = np.nan
    np.save(f"{folder}/holes.npy", holes)
    carry(folder, f"npy holes.npy {scan} quantity=line_integral | center",
          "`bad_pixels` before it fills them from the pixels beside them",
          f"npy holes.npy {scan} quantity=line_integral | bad_pixels | center | fbp", lambda a: np.isfinite(a).all())
