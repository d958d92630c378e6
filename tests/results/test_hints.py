# SPDX-License-Identifier: Apache-2.0
"""Hints are promises: what they name is carried out on the input that provoked them, and then the values are right.

Hints that other tests carry out are listed in hints_elsewhere.txt. Those that nothing carries out are counted: their number
may only fall.

usage: test_hints.py PROGRAM SOURCE [TEST...]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from harness import PROGRAM, run, run_tests, test

SOURCE = sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tests", "house"))
from hints import inventory, is_promise, pattern, tokens  # noqa: E402

LEFT = 108  # promises that nothing carries out; it may only fall
FAULTS, CARRIED = [], []  # what the program said, as tokens
V = (np.arange(4 * 8 * 8).reshape(4, 8, 8) * 7 % 251).astype("f4")


def said(done):
    """[(code, hint)] of its messages."""
    found, code = [], None
    for line in done.stderr.splitlines():
        code = (re.findall(r"\[([a-z0-9-]+)\]$", line) or [code])[-1]
        if line.startswith("  hint: "):
            found.append((code, line[8:]))
    return found


def words_of(chain):
    """A chain, or a list of a command's words; chains write to out.h5."""
    if isinstance(chain, list):
        return chain
    return [
        "run",
        chain,
        *([] if re.search(r"\| (hdf5|tiff|nifti|png|dicom) \S+$", chain) else ["-o", "out.h5"]),
        "--quiet",
        "--force",
        "--threads",
        "1",
    ]


def image(folder, path="entry/data/data"):
    with h5py.File(f"{folder}/out.h5") as file:
        return file[path][()]


def rows(function):
    """A test of several rows, all of which are tried."""

    def tried(folder):
        FAULTS.clear()
        function(folder)
        assert not FAULTS, "\n".join(FAULTS)

    tried.__name__ = function.__name__
    return test(tried)


def carry(*arguments, **named):
    try:
        carry_out(*arguments, **named)
    except AssertionError as fault:
        FAULTS.append(str(fault)[:1500])


def carry_out(folder, before, hint, after, check=None, shell=None, names=None):
    """Runs `before`, which must say the hint, and then what it names: a chain, or several that it offers. They must succeed
    without the message; check(image) is then true, or the image equals an array or has a shape."""
    done = run(*words_of(before), expect=None, cwd=folder)
    lines = [(code, line) for code, line in said(done) if tokens(hint) in tokens(line)]
    assert lines, f"{before} says no '{hint}' but:\n{done.stderr}"
    code = lines[0][0]
    if shell:
        subprocess.run(shell, shell=True, check=True, cwd=folder)
    for chain in (
        after if isinstance(after, list) and not isinstance(after[0], str) or isinstance(after, tuple) else [after]
    ):
        if os.path.exists(f"{folder}/out.h5"):
            os.remove(f"{folder}/out.h5")
        if isinstance(chain, str) and "@C" in chain:
            chain = chain.replace("@C", re.search(r"center=([\d.]+)", lines[0][1])[1])
        words = [re.search(r"--memory (\S+)", lines[0][1])[1] if word == "@M" else word for word in words_of(chain)]
        done = run(*words, expect=None, cwd=folder)
        if names:  # a command that says what is wrong
            assert names in done.stdout + done.stderr, f"{chain}: {done.stdout}{done.stderr}"
            continue
        assert (
            done.returncode == 0
        ), f"the hint '{hint}' of {before}: {chain} ends with {done.returncode}\n{done.stderr}"
        assert (
            f"[{code}]" not in done.stderr
        ), f"the hint '{hint}' of {before}: {chain} says [{code}] again\n{done.stderr}"
        if isinstance(check, tuple):
            assert image(folder).shape == check, f"{chain}: {image(folder).shape}"
        elif isinstance(check, np.ndarray):
            found = image(folder)
            assert found.shape == check.shape, f"{chain}: {found.shape}"
            assert np.allclose(found, check, rtol=1e-5, atol=1e-6), f"{chain}: {found.flat[:4]}, not {check.flat[:4]}"
        elif callable(check):
            assert check(image(folder)), f"{chain}: wrong values"
    if isinstance(check, str):
        assert os.path.exists(f"{folder}/{check}"), f"{chain}: wrote no {check}"
    CARRIED.extend(tokens(line) for _, line in lines)


def arrays(folder):
    for kind in ("u1", "u2", "i2", "i4", "f4"):
        np.save(f"{folder}/{kind}.npy", V.astype(kind))


@rows
def types_of_values(folder):
    arrays(folder)
    levels = np.sort(np.unique(V))
    carry(
        folder,
        "npy f4.npy | equalize method=opencv",
        "use method: skimage, or make the image u8 or u16",
        (
            "npy f4.npy | equalize method=skimage",
            "npy f4.npy | rescale dtype=u16 | equalize method=opencv",
            "npy f4.npy | window low=0 high=250 dtype=u8 | equalize method=opencv",
        ),
        lambda a: len(np.unique(a)) > 100 and (np.diff([a[V == v].mean() for v in levels]) >= 0).all(),
    )
    carry(
        folder,
        "npy u1.npy | equalize bins=100",
        "leave bins out",
        "npy u1.npy | equalize",
        lambda a: a.shape == V.shape,
    )
    carry(
        folder,
        "npy u1.npy | input r npy u2.npy | equalize method=opencv reference=r",
        "leave method out, or set it to skimage",
        (
            "npy u1.npy | input r npy u1.npy | equalize reference=r",
            "npy u1.npy | input r npy u1.npy | equalize reference=r method=skimage",
        ),
        V,
    )
    carry(
        folder,
        "npy f4.npy | clahe method=opencv",
        "put `rescale` to u16 before it, or use method: skimage",
        ("npy f4.npy | rescale dtype=u16 | clahe method=opencv", "npy f4.npy | clahe method=skimage"),
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | clahe clip_limit=0",
        "write clip_limit: .inf",
        "npy f4.npy | clahe clip_limit=.inf",
        V.shape,
    )
    carry(
        folder,
        "npy i4.npy quantity=attenuation | to_hu water=5",
        "it takes f32, and no stage changes the type of attenuation: "
        "write the input anew with such values, as with numpy's astype('float32')",
        "npy f4.npy quantity=attenuation | to_hu water=5",
        1000 * (V - 5) / 5,
    )
    carry(
        folder,
        "npy u2.npy quantity=transmission | minus_log nonpositive=floor",
        "it takes f32; `rescale` before it changes the type, with "
        "`range: [.., ..]`, what 0 and 1 are, and `quantity: transmission`",
        "npy u2.npy | rescale range=0,250 quantity=transmission | minus_log nonpositive=floor floor=0.004",
        -np.log(np.maximum(V / 250, 0.004)),
    )
    carry(
        folder,
        "npy f4.npy | histogram method=sampled range=0,250",
        "leave method out",
        "npy f4.npy | histogram range=0,250",
        V,
    )
    carry(
        folder,
        "npy f4.npy | histogram limits=dtype",
        "give range: [low, high], or limits: data",
        ("npy f4.npy | histogram range=0,250", "npy f4.npy | histogram limits=data"),
        V,
    )
    carry(folder, "npy f4.npy | histogram range=0", "write range: [low, high]", "npy f4.npy | histogram range=0,250", V)
    carry(
        folder,
        "npy f4.npy | histogram range=250,0",
        "write the lower number first: range: [low, high]",
        "npy f4.npy | histogram range=0,250",
        V,
    )
    carry(
        folder,
        "npy f4.npy | input r npy f4.npy | histogram scope=slice reference=r limits=data",
        "give range: [low, high], or scope: volume",
        (
            "npy f4.npy | input r npy f4.npy | histogram scope=slice reference=r range=0,250",
            "npy f4.npy | input r npy f4.npy | histogram scope=volume reference=r limits=data",
        ),
        V,
    )
    carry(
        folder,
        "npy f4.npy | statistics scope=volume percentiles=50 percentile_method=sort",
        "scope: slice, or percentile_method: histogram",
        (
            "npy f4.npy | statistics scope=slice percentiles=50 percentile_method=sort",
            "npy f4.npy | statistics scope=volume percentiles=50 percentile_method=histogram",
        ),
        V,
    )


@rows
def intensities(folder):
    arrays(folder)
    z = (V - V.mean()) / V.std()
    carry(
        folder,
        "npy f4.npy | rescale method=z-score dtype=u8",
        "leave dtype out, or set it to f32",
        ("npy f4.npy | rescale method=z-score", "npy f4.npy | rescale method=z-score dtype=f32"),
        z,
    )
    carry(
        folder,
        "npy f4.npy | rescale method=z-score out_high=5",
        "leave out_low and out_high out, or use method range or percentiles",
        (
            "npy f4.npy | rescale method=z-score",
            "npy f4.npy | rescale method=range range=0,250 out_high=5",
            "npy f4.npy | rescale method=percentiles out_high=5",
        ),
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | rescale method=z-score range=0,1",
        "leave range out, or use method range",
        "npy f4.npy | rescale method=z-score",
        z,
    )
    carry(
        folder,
        "npy f4.npy | rescale method=z-score range=0,125",
        "use method range",
        "npy f4.npy | rescale method=range range=0,125",
        np.clip(V / 125, 0, 1),
    )
    carry(
        folder,
        "npy f4.npy | rescale out_low=5 out_high=1",
        "use `invert` to swap bright and dark",
        "npy f4.npy | rescale range=0,250 | invert",
        1 - V / 250,
    )
    carry(
        folder,
        "npy f4.npy | window center=100",
        "give center and width, or low and high",
        (
            "npy f4.npy | window center=125 width=250 function=linear-exact",
            "npy f4.npy | window low=0 high=250 function=linear-exact",
        ),
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | window low=0 high=250 unit=hu",
        "use unit: image",
        "npy f4.npy | window low=0 high=250 unit=image",
        V.shape,
    )
    carry(
        folder,
        "npy u2.npy | rescale quantity=transmission dtype=f32",
        "range: [0, 65535] for what was stored as 0 to 65535",
        "npy u2.npy | rescale quantity=transmission dtype=f32 range=0,65535",
        V / 65535,
    )
    carry(
        folder,
        "npy f4.npy | threshold",
        "above: VALUE, below: VALUE, or both; method: otsu finds one",
        (
            "npy f4.npy | threshold above=100",
            "npy f4.npy | threshold below=100",
            "npy f4.npy | threshold above=0 below=100",
            "npy f4.npy | threshold method=otsu",
        ),
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | threshold above=100 below=50",
        "a mask of values between two has `above`, the lower one, and `below`",
        "npy f4.npy | threshold above=50 below=100",
        lambda a: (a == ((V >= 50) & (V <= 100))).all() or (a == ((V > 50) & (V < 100))).all(),
    )
    carry(
        folder,
        "npy f4.npy | bounds above=100 below=50",
        "values between two have `above`, the lower one, and `below`",
        "npy f4.npy | bounds above=50 below=100",
        V,
    )
    carry(
        folder,
        "npy f4.npy | convolve kernel=custom",
        "weights: [[0, 1, 0], [1, 1, 1], [0, 1, 0]]",
        "npy f4.npy | convolve kernel=custom weights=[[0,1,0],[1,1,1],[0,1,0]]",
        V.shape,
    )


@rows
def boxes_and_grids(folder):
    arrays(folder)
    m = "npy f4.npy spacing=1,1,1"
    carry(
        folder,
        f"{m} | crop above=1000",
        "`statistics` in place of `crop` tells the range of the values; x, y and z give a box by hand",
        (f"{m} | statistics", f"{m} | crop x=0,8"),
        V,
    )
    carry(
        folder,
        f"{m} | crop above=100 below=50",
        "values between two have `above`, the lower one, and `below`",
        f"{m} | crop above=50 below=100",
        lambda a: a.size > 0,
    )
    carry(
        folder,
        f"{m} | crop x=2,20",
        "[first, end] with whole numbers 0 <= first < end <= 8",
        f"{m} | crop x=2,8",
        V[:, :, 2:],
    )
    carry(folder, f"{m} | crop x=100,200 unit=mm", "the centers lie from", f"{m} | crop x=0,7 unit=mm", V)
    carry(
        folder,
        f"{m} | resample spacing=1,1,1,1",
        "one number for all axes, [x, y], or [x, y, z]",
        (f"{m} | resample spacing=1", f"{m} | resample spacing=1,1", f"{m} | resample spacing=1,1,1"),
        V,
    )
    carry(
        folder,
        f"{m} | resample",
        "one of spacing, shape and like",
        (f"{m} | resample spacing=1", f"{m} | resample shape=8,8,4", f"{m} | input r {m} | resample like=r"),
        V,
    )
    carry(folder, "npy f4.npy | resample spacing=1", "`shape` needs none", "npy f4.npy | resample shape=8,8,4", V)
    carry(folder, "npy f4.npy | resample spacing=1,1", "`shape` needs none", "npy f4.npy | resample shape=8,8", V)
    carry(
        folder,
        f"{m} | input r npy f4.npy spacing=1,1,2 | compare reference=r data_range=250",
        "`resample` with `like:` puts a volume on the grid of another",
        f"{m} | input r npy f4.npy spacing=1,1,2 | resample like=r | compare reference=r data_range=250",
        V.shape,
    )
    run("phantom", "asymmetric", "-o", "ct", "--size", "16", "--slices", "4", "--quiet", cwd=folder)
    carry(folder, "dicom ct | reorient to=XYZ", "such as RAS", "dicom ct | reorient to=RAS", (4, 16, 16))
    run("phantom", "asymmetric", "-o", "tilted", "--size", "16", "--slices", "4", "--tilt", "20", "--quiet", cwd=folder)
    carry(
        folder,
        "dicom tilted tilt=refuse",
        "tilt: keep reads it with its exact step",
        "dicom tilted tilt=keep",
        (4, 16, 16),
    )
    carry(
        folder,
        "dicom tilted tilt=keep | box radius=1 dimensions=3d",
        "`unshear` before it, or work slice by slice",
        ("dicom tilted tilt=keep | unshear | box radius=1 dimensions=3d", "dicom tilted tilt=keep | box radius=1"),
        lambda a: a.shape[0] == 4,
    )
    carry(
        folder,
        "dicom tilted tilt=keep | reorient to=SAR",
        "`unshear` before it; orders of axes that keep the slices need none",
        "dicom tilted tilt=keep | unshear | reorient to=SAR",
        lambda a: 4 in a.shape,
    )


SCAN = (
    "nexus scan.nxs | input flats like=input frames=flats | input darks like=input frames=darks | "
    "flat_field flats=flats darks=darks"
)
N = 32


def scans(folder):
    """A scan with a right answer: its reconstruction, which comes with it."""
    run(
        "phantom",
        "scan",
        "-o",
        "scan.nxs",
        "--size",
        str(N),
        "--slices",
        "4",
        "--views",
        "48",
        "--noise",
        "0",
        "--quiet",
        cwd=folder,
    )
    run(*words_of(SCAN + " | minus_log | save name=lines | fbp"), cwd=folder)
    lines, slices = image(folder, "entry/lines/data"), image(folder)
    assert lines.shape == (4, 48, N)
    for kind in ("f4", "i4"):
        np.save(f"{folder}/lines_{kind}.npy", lines.astype(kind))
    with h5py.File(f"{folder}/lines.h5", "w") as file:
        file["lines"], file["angles"], file["radians"] = lines, np.arange(48) * 3.75, np.radians(np.arange(48) * 3.75)
        file["other"] = np.arange(48) * 3.75
        file["other"].attrs["units"] = "turn"
    np.savetxt(f"{folder}/radians.txt", np.radians(np.arange(48) * 3.75))
    np.savetxt(f"{folder}/degrees.txt", np.arange(48) * 3.75)
    run("run", SCAN + " | minus_log | tiff lines.tif", "--quiet", cwd=folder)
    run("run", SCAN + " | minus_log | tiff lines/", "--quiet", cwd=folder)
    return lines, slices


def close(right, part=0.02):
    """Compares with the reconstruction from the scan itself; pixels are of another size in inputs without one."""

    def compare(found):
        return found.shape == right.shape and abs(found * right.max() / found.max() - right).max() < part * right.max()

    return compare


@rows
def quantities_of_scans(folder):
    lines, slices = scans(folder)
    npy = "npy lines_f4.npy axes=z,view,detector theta_start=0 theta_stop=180"
    np.save(f"{folder}/t.npy", np.exp(-lines))
    t = "npy t.npy axes=z,view,detector theta_start=0 theta_stop=180"
    padded = np.pad(lines, ((0, 0), (0, 0), (4, 4)))
    np.save(f"{folder}/counts.npy", np.round(20000 * np.exp(-padded)).astype("u2"))
    counts = "npy counts.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=counts"
    np.save(f"{folder}/padded.npy", padded)
    run(
        *words_of("npy padded.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral | fbp"),
        cwd=folder,
    )
    wider = image(folder)
    for stage in ("fbp", "fourier", "sirt iterations=3", "cgls iterations=3"):
        run(*words_of(f"{npy} quantity=line_integral | {stage}"), cwd=folder)
        right = image(folder)
        carry(
            folder,
            f"{t} quantity=transmission | {stage}",
            "`minus_log` makes them from a transmission",
            f"{t} quantity=transmission | minus_log | {stage}",
            close(right),
        )
        carry(
            folder,
            f"{npy} quantity=intensity | {stage}",
            "where the values are line integrals, say `quantity: line_integral` at the input, or in "
            "`rescale` with its `range`",
            (
                f"{npy} quantity=line_integral | {stage}",
                f"{npy} quantity=intensity | rescale range=0,1 clip=false quantity=line_integral | {stage}",
            ),
            close(right),
        )
    from_counts = "`flat_field`, or `air` without flats, and then `minus_log` make them from counts"
    carry(folder, "nexus scan.nxs | fbp", from_counts, SCAN + " | minus_log | fbp", slices)
    carry(folder, f"{counts} | fbp", from_counts, f"{counts} | air detectors=4 | minus_log | fbp", close(wider))
    carry(
        folder,
        "nexus scan.nxs | minus_log",
        "`flat_field` makes it from counts and flats, `air` from counts alone",
        SCAN + " | minus_log",
        lines,
    )
    right = lambda a: abs(a - padded).max() < 1e-3  # noqa: E731
    carry(folder, f"{counts} | minus_log", "`air` from counts alone", f"{counts} | air detectors=4 | minus_log", right)
    carry(
        folder,
        SCAN + " | minus_log | minus_log",
        "the logarithm of these was taken already, so leave minus_log out",
        SCAN + " | minus_log",
        lines,
    )
    carry(
        folder,
        SCAN + " | minus_log | fbp | minus_log",
        "this image is reconstructed, and minus_log goes before the reconstruction",
        SCAN + " | minus_log | fbp",
        slices,
    )
    carry(
        folder,
        f"{t} quantity=intensity | minus_log",
        "where the values are I/I0, say `quantity: transmission` at the input, or in `rescale` "
        "with its `range`; else `air` divides them by the beam beside the object",
        (
            f"{t} quantity=transmission | minus_log",
            f"{t} quantity=intensity | rescale range=0,1 clip=false quantity=transmission | minus_log",
        ),
        lines,
    )
    intensity = counts.replace("=counts", "=intensity")
    carry(
        folder,
        f"{intensity} | minus_log",
        "else `air` divides them by the beam beside the object",
        f"{intensity} | air detectors=4 | minus_log",
        right,
    )
    carry(
        folder,
        f"{t} quantity=transmission | minus_log | air detectors=4",
        "the logarithm of these was taken already, and air goes before minus_log",
        f"{counts} | air detectors=4 | minus_log",
        right,
    )
    hu = lambda a: abs(a - 1000 * (slices - 0.02) / 0.02).max() < 1  # noqa: E731
    carry(
        folder,
        "nexus scan.nxs | to_hu water=0.02",
        "`flat_field`, `minus_log` and a reconstruction such as `fbp` make one from counts",
        SCAN + " | minus_log | fbp | to_hu water=0.02",
        hu,
    )
    carry(
        folder,
        SCAN + " | to_hu water=0.02",
        "`minus_log` and a reconstruction such as `fbp` make one from a transmission",
        SCAN + " | minus_log | fbp | to_hu water=0.02",
        hu,
    )
    carry(
        folder,
        SCAN + " | minus_log | to_hu water=0.02",
        "a reconstruction such as `fbp` makes one of line integrals",
        SCAN + " | minus_log | fbp | to_hu water=0.02",
        hu,
    )
    np.save(f"{folder}/mu.npy", slices)
    carry(
        folder,
        "npy mu.npy | to_hu water=0.02",
        "where the values are 1/mm, say `quantity: attenuation` at the input",
        "npy mu.npy quantity=attenuation | to_hu water=0.02",
        hu,
    )
    carry(
        folder,
        "npy mu.npy | to_attenuation water=0.02",
        "where the values are HU, say `quantity: hu` at the input",
        "npy mu.npy quantity=hu | to_attenuation water=0.02",
        0.02 * (1 + slices / 1000),
    )
    carry(
        folder,
        "npy mu.npy quantity=hu spacing=1,1,1 | radon views=8",
        "`to_attenuation: {water: 0.0206}` before it makes line integrals as a scanner "
        "measures them, with vacuum outside; `to_hu` after a reconstruction leads back",
        "npy mu.npy quantity=hu spacing=1,1,1 | to_attenuation water=0.0206 | radon views=8 | fbp | to_hu water=0.0206",
        lambda a: a.shape[0] == 4,
    )
    carry(
        folder,
        "npy mu.npy quantity=hu | noise photons=1000",
        "`to_attenuation` and `radon` make line integrals of a CT",
        "npy mu.npy quantity=hu spacing=1,1,1 | to_attenuation water=0.0206 | radon views=8 | noise photons=1000",
        lambda a: a.shape[:2] == (4, 8),
    )
    carry(
        folder,
        "npy mu.npy quantity=attenuation | noise photons=1000",
        "`radon` makes line integrals of it",
        "npy mu.npy quantity=attenuation spacing=1,1,1 | radon views=8 | noise photons=1000",
        lambda a: a.shape[:2] == (4, 8),
    )
    carry(
        folder,
        "nexus scan.nxs | stitch",
        "`flat_field`, or `air` without flats, and then `minus_log` make line integrals",
        SCAN + " | minus_log",
        lines,
    )


@rows
def angles_and_frames(folder):
    lines, slices = scans(folder)
    npy, right = "npy lines_f4.npy axes=z,view,detector quantity=line_integral", close(slices)
    turn = (
        "theta_start=0 theta_stop=3.14159265358979 angle_unit=radian",
        "theta_start=0 theta_stop=180 angle_unit=degree",
    )
    carry(
        folder,
        f"{npy} theta_start=0 theta_stop=3.14159265358979 | fbp",
        "angle_unit: radian, or angle_unit: degree if they are degrees",
        f"{npy} {turn[0]} | fbp",
        right,
    )
    h5 = "hdf5 lines.h5 path=/lines axes=z,view,detector quantity=line_integral"
    carry(
        folder,
        f"{h5} angles=/radians | fbp",
        "angle_unit: radian, or angle_unit: degree if they are degrees",
        f"{h5} angles=/radians angle_unit=radian | fbp",
        right,
    )
    carry(
        folder,
        f"{h5} angles=/other | fbp",
        "angle_unit: degree or angle_unit: radian says what it is",
        f"{h5} angles=/other angle_unit=degree | fbp",
        right,
    )
    carry(
        folder,
        f"{h5} theta_start=0 theta_stop=3.14159265358979 | fbp",
        "angle_unit: radian, or angle_unit: degree if they are degrees",
        f"{h5} {turn[0]} | fbp",
        right,
    )
    carry(
        folder,
        "hdf5 lines.h5 path=/lines axes=z,view,detector",
        "flats and darks have no angles: their axes are z, frame and detector",
        "hdf5 lines.h5 path=/lines axes=z,frame,detector",
        lines,
    )
    carry(
        folder,
        "hdf5 lines.h5 path=/line axes=z,y,x",
        "`tomostage info FILE` lists what is in the file",
        ["info", "lines.h5"],
    )
    tif = "tiff lines.tif pages=sinograms pixel_size=1 quantity=line_integral"
    carry(
        folder,
        f"{tif} | fbp",
        "angles: [...], or angles_file: PATH, or angle_start and angle_stop; in degrees",
        (
            f"{tif} angles={','.join(str(i * 3.75) for i in range(48))} | fbp",
            f"{tif} angles_file=degrees.txt | fbp",
            f"{tif} angle_start=0 angle_stop=180 | fbp",
        ),
        right,
    )
    carry(
        folder,
        f"{tif} | fbp",
        "frames: flats or darks have none, and neither have pages: slices",
        (
            f"{tif.replace(' quantity=line_integral', '')} frames=flats",
            "tiff lines.tif pages=slices pixel_size=1 spacing_z=1",
        ),
        lines,
    )
    carry(
        folder,
        f"{tif} angles_file=radians.txt | fbp",
        "angle_unit: radian, or angle_unit: degree if they are degrees",
        f"{tif} angles_file=radians.txt angle_unit=radian | fbp",
        right,
    )
    carry(
        folder,
        f"{tif} angle_start=0 angle_stop=3.14159265358979 | fbp",
        "angle_unit: radian, or angle_unit: degree if they are degrees",
        f"{tif} angle_start=0 angle_stop=3.14159265358979 angle_unit=radian | fbp",
        right,
    )
    carry(
        folder,
        "npy lines_f4.npy theta_start=0 theta_stop=180",
        "axes: [view, z, detector] says that the array is a scan",
        "npy lines_f4.npy axes=view,z,detector theta_start=0 theta_stop=180",
        lines.transpose(1, 0, 2),
    )
    carry(
        folder,
        "npy lines_f4.npy slices=2,9",
        "slices: [first, end] with 0 <= first < end <= 4",
        "npy lines_f4.npy slices=2,4",
        lines[2:],
    )
    np.save(f"{folder}/series.npy", np.stack([lines, lines + 1]))
    carry(folder, "npy series.npy take=2", "take: N with 0 <= N <= 1", "npy series.npy take=1", lines + 1)
    carry(
        folder,
        "npy lines_f4.npy axes=x,y,z",
        "bring the array into such an order in Python",
        "npy lines_f4.npy axes=z,y,x",
        lines,
    )
    carry(
        folder,
        SCAN.replace("frames=flats", "frames=darks", 1),
        "frames: flats where 'flats' is defined, or another input",
        SCAN,
        lambda a: abs(-np.log(a) - lines).max() < 1e-4,
    )
    carry(
        folder,
        SCAN.replace("scan.nxs", "scan.nxs frames=darks", 1),
        "frames: projections where 'input' is defined, or another input",
        SCAN.replace("scan.nxs", "scan.nxs frames=projections", 1),
        lambda a: abs(-np.log(a) - lines).max() < 1e-4,
    )
    part = SCAN.replace("scan.nxs", "scan.nxs slices=1,3", 1)
    carry(
        folder,
        part.replace("frames=flats", "frames=flats slices=0,2", 1),
        "slices: [1, 3] where 'flats' is defined",
        part.replace("frames=flats", "frames=flats slices=1,3", 1),
        lambda a: abs(-np.log(a) - lines[1:3]).max() < 1e-4,
    )
    carry(
        folder,
        f"{npy} theta_start=0 theta_stop=120 | fbp",
        "gaps=accept reconstructs from what is there",
        f"{npy} theta_start=0 theta_stop=120 | fbp gaps=accept",
        slices.shape,
    )
    chain = "tomostage: 2\ninput: {npy: lines_f4.npy, axes: [z, view, detector], quantity: line_integral, theta_start: 0, theta_stop: 120}\nstages:\n  - fbp: {%s}\n"
    for name, text in (("gap.yaml", chain % ""), ("accepted.yaml", chain % "gaps: accept")):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    carry(folder, "gap.yaml", "gaps: accept reconstructs from what is there", "accepted.yaml", slices.shape)


def no_force(chain, *more):
    return ["run", chain, "--quiet", *more]


@rows
def outputs(folder):
    arrays(folder)
    run("run", "npy f4.npy | statistics | hdf5 a.h5", "--quiet", cwd=folder)
    carry(
        folder,
        no_force("npy f4.npy | hdf5 a.h5"),
        "choose another name, or replace it with --force",
        (no_force("npy f4.npy | hdf5 b.h5"), no_force("npy f4.npy | hdf5 a.h5", "--force")),
        "b.h5",
    )
    carry(
        folder,
        no_force("npy f4.npy | nifti new/a.nii"),
        "make it first: mkdir -p 'new'",
        no_force("npy f4.npy | nifti new/a.nii"),
        "new/a.nii",
        shell="mkdir -p 'new'",
    )
    carry(
        folder,
        no_force("npy f4.npy | nifti o.h5"),
        "output.nifti takes .nii.gz, .nii",
        (no_force("npy f4.npy | nifti o.nii"), no_force("npy f4.npy | nifti o2.nii.gz")),
        "o.nii",
    )
    carry(
        folder,
        no_force("npy f4.npy | dicom o.dcm"),
        "name a folder; with a slash behind it, as in 'o.dcm/', it may have any name",
        (no_force("npy u2.npy spacing=1,1,1 | dicom o"), no_force("npy u2.npy spacing=1,1,1 | dicom o.dcm/")),
        "o",
    )
    carry(
        folder,
        no_force("npy f4.npy"),
        "hdf5 FILE.h5 in the chain, or -o FILE.h5",
        (no_force("npy f4.npy | hdf5 out.h5", "--force"), no_force("npy f4.npy", "-o", "out.h5", "--force")),
        V,
    )
    carry(
        folder,
        no_force("invert", "-o", "out.h5"),
        "dicom FOLDER in the chain, or -i FOLDER",
        (no_force("invert", "-i", "ct", "-o", "out.h5"), no_force("dicom ct | invert", "-o", "out.h5")),
        lambda a: a.shape == (3, 8, 8),
        shell=f"{PROGRAM} phantom disc -o ct --size 8 --slices 3 --quiet",
    )
    carry(
        folder,
        no_force("npy f4.npy", "-o", "x.foo"),
        "known: .h5, .hdf5, .nxs, .nii.gz, .nii, .tif, .tiff, .png",
        tuple(
            no_force("npy f4.npy slices=0", "-o", f"x{suffix}", "--force")
            for suffix in (".h5", ".hdf5", ".nxs", ".nii.gz", ".nii", ".tif", ".tiff", ".png")
        ),
        "x.png",
    )
    carry(
        folder,
        no_force("dicom ct", "-o", "x.foo"),
        "a folder is an output of the chain, such as dicom FOLDER",
        no_force("dicom ct | dicom written"),
        "written",
    )
    carry(
        folder,
        no_force("dicom ct | dicom ct"),
        "give the output a folder of its own: dicom FOLDER in the chain",
        no_force("dicom ct | dicom own"),
        "own",
    )
    carry(
        folder,
        no_force("npy f4.npy | hdf5 f4.npy", "--force"),
        "give the output a name of its own: hdf5 FILE.h5 in the chain, or -o FILE.h5",
        (no_force("npy f4.npy | hdf5 out.h5"), no_force("npy f4.npy", "-o", "out.h5")),
        V,
    )
    carry(
        folder,
        no_force("result a.h5 | png p.png"),
        "a folder can: png FOLDER in the chain",
        no_force("result a.h5 | png p"),
        "p",
    )
    carry(
        folder,
        no_force("npy f4.npy | save name=one | invert | nifti i.nii"),
        "add hdf5: FILE.h5 to the output",
        no_force("npy f4.npy | save name=one | invert | nifti i2.nii | hdf5 i.h5"),
        "i.h5",
    )
    carry(
        folder,
        ["export", "a.h5", "-o", "x.foo"],
        "known: .nii.gz, .nii, .tif, .tiff, .png, and .nxs for projections; --format tiff, png or dicom writes a folder",
        (
            ["export", "a.h5", "-o", "e.nii"],
            ["export", "a.h5", "-o", "e2.nii.gz"],
            ["export", "a.h5", "-o", "e.tif"],
            ["export", "a.h5", "-o", "e", "--format", "tiff"],
            ["export", "a.h5", "-o", "f", "--format", "png"],
        ),
        "e.nii",
    )
    carry(
        folder,
        ["export", "a.h5", "-o", "x.png"],
        "a folder can: --format png -o FOLDER",
        ["export", "a.h5", "-o", "g", "--format", "png"],
        "g",
    )
    carry(
        folder,
        ["export", "a.h5", "-o", "w.nii", "--window", "40,400"],
        "png and dicom have one; the stage `window` changes the values themselves",
        (
            ["export", "a.h5", "-o", "h", "--format", "png", "--window", "40,400"],
            no_force("npy f4.npy | window center=40 width=400 | nifti w.nii"),
        ),
        "w.nii",
    )
    run("preview", "a.h5", cwd=folder)
    carry(
        folder,
        ["preview", "a.h5"],
        "--force replaces it, -o FILE.png names another",
        (["preview", "a.h5", "--force"], ["preview", "a.h5", "-o", "q.png"]),
        "q.png",
    )
    carry(folder, ["preview", "a.h5", "-o", "q.txt"], "-o FILE.png", ["preview", "a.h5", "-o", "q2.png"], "q2.png")
    run(
        *words_of(
            "npy f4.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral | sirt iterations=2"
        ),
        cwd=folder,
    )
    shutil.copy(f"{folder}/out.h5", f"{folder}/sirt.h5")
    carry(
        folder,
        ["plot", "a.h5"],
        "`sirt` and `cgls` leave one in the result of their chain",
        ["plot", "sirt.h5"],
        "sirt.h5.svg",
    )
    carry(folder, ["plot", "sirt.h5", "-o", "r.png"], "-o FILE.svg", ["plot", "sirt.h5", "-o", "r.svg"], "r.svg")
    carry(
        folder,
        ["phantom", "heed", "-o", "k"],
        "did you mean 'head'?",
        ["phantom", "head", "-o", "k", "--size", "8", "--slices", "2"],
        "k",
    )
    carry(
        folder,
        ["phantom", "x", "-o", "k"],
        "there are: shepp-logan, head, disc, rods, asymmetric, gradient, scan",
        tuple(
            ["phantom", name, "-o", f"ph_{name}", "--size", "16", "--slices", "2"]
            for name in ("shepp-logan", "head", "disc", "rods", "asymmetric", "gradient")
        ),
        "ph_disc",
    )
    carry(
        folder,
        ["phantom", "disc", "-o", "k"],
        "name a new folder, or empty this one",
        ["phantom", "disc", "-o", "k2", "--size", "8", "--slices", "2"],
        "k2",
    )
    carry(
        folder,
        no_force("npy f4.npy", "-o", "m.h5", "--memory", "1"),
        "--memory",
        no_force("npy f4.npy", "-o", "m.h5", "--memory", "@M"),
        "m.h5",
    )
    carry(
        folder,
        no_force("npy f4.npy", "-o", "d.h5", "--device", "cuda"),
        "--device cpu",
        no_force("npy f4.npy", "-o", "d.h5", "--device", "cpu"),
        "d.h5",
    )


@rows
def commands(folder):
    arrays(folder)
    run(*words_of("npy f4.npy"), cwd=folder)
    shutil.copy(f"{folder}/out.h5", f"{folder}/a.h5")
    carry(
        folder,
        ["run", "a.h5"],
        "`tomostage rerun a.h5 -i INPUT` runs the chain that it holds and compares; as an input: 'result a.h5 | STAGE | hdf5 OUT.h5'",
        (["rerun", "a.h5", "-i", "f4.npy"], no_force("result a.h5 | invert | hdf5 b.h5")),
        "b.h5",
    )
    carry(
        folder,
        ["run", "f4.npy"],
        "as an input: 'npy f4.npy | STAGE | hdf5 OUT.h5'",
        no_force("npy f4.npy | invert | hdf5 c.h5"),
        "c.h5",
    )
    run("phantom", "disc", "-o", "ct", "--size", "8", "--slices", "3", "--quiet", cwd=folder)
    run("phantom", "scan", "-o", "s.nxs", "--size", "8", "--slices", "3", "--views", "4", "--quiet", cwd=folder)
    carry(
        folder,
        ["run", "ct"],
        "as an input: 'dicom ct | STAGE | hdf5 OUT.h5'",
        no_force("dicom ct | invert | hdf5 out.h5"),
        (3, 8, 8),
    )
    carry(
        folder,
        ["run", "s.nxs"],
        "or of a scan 'nexus s.nxs'",
        no_force("nexus s.nxs | box radius=1 | hdf5 out.h5"),
        (3, 4, 8),
    )
    carry(
        folder,
        ["run", "nothere.yaml"],
        "one line such as 'dicom ./study | box radius=2 | hdf5 out.h5'",
        no_force("dicom ./ct | box radius=2 | hdf5 out.h5"),
        (3, 8, 8),
    )
    carry(
        folder,
        ["run", "gausian"],
        "did you mean the stage 'gaussian'?",
        no_force("dicom ct | gaussian sigma=1 | hdf5 out.h5"),
        (3, 8, 8),
    )
    carry(
        folder,
        no_force("dicom ct | box radius=1", "--set", "box=4", "-o", "out.h5"),
        "box.radius=3, of a second box box#2.radius=3, of the input input.series=2",
        (
            no_force("dicom ct | box radius=1", "--set", "box.radius=3", "-o", "out.h5"),
            no_force(
                "dicom ct | box radius=1 | box radius=1",
                "--set",
                "box#2.radius=3",
                "--set",
                "input.series=1",
                "-o",
                "out.h5",
                "--force",
            ),
        ),
        (3, 8, 8),
    )
    carry(
        folder,
        ["rerun", "a.h5", "-i", "f4.npy", "-o", "a.h5"],
        "give the second result a name of its own, or leave -o out",
        (["rerun", "a.h5", "-i", "f4.npy", "-o", "a2.h5"], ["rerun", "a.h5", "-i", "f4.npy"]),
        "a2.h5",
    )
    carry(
        folder,
        ["rerun", "a.h5"],
        "-i PATH gives all inputs of the chain, -i input=PATH this one",
        (["rerun", "a.h5", "-i", "f4.npy"], ["rerun", "a.h5", "-i", "input=f4.npy"]),
    )
    carry(folder, ["rerun", "a.h5", "-i", "imput=f4.npy"], "it has: input", ["rerun", "a.h5", "-i", "input=f4.npy"])
    np.save(f"{folder}/other.npy", V + 1)
    carry(
        folder,
        ["rerun", "a.h5", "-i", "other.npy"],
        "`tomostage verify a.h5 --inputs PATH` names what differs",
        ["verify", "a.h5", "--inputs", "other.npy"],
        names="slice 0",
    )
    run(*words_of("npy f4.npy | window low=0 high=250 dtype=f32 function=linear-exact"), cwd=folder)
    shutil.copy(f"{folder}/out.h5", f"{folder}/box.h5")
    resumed = no_force(
        "npy other.npy | window low=0 high=250 dtype=f32 function=linear-exact | invert", "-o", "out.h5", "--force"
    )
    carry(
        folder,
        [*resumed, "--resume-from", "box.h5"],
        "`tomostage verify box.h5 --inputs PATH` names what changed",
        ["verify", "box.h5", "--inputs", "other.npy"],
        names="slice 0",
    )
    carry(
        folder,
        [*resumed, "--resume-from", "box.h5"],
        "without --resume-from everything is computed",
        resumed,
        1 - np.minimum(V + 1, 250) / 250,
    )
    carry(
        folder,
        no_force("npy other.npy | invert", "-o", "out.h5", "--force", "--resume-from", "a.h5"),
        "without --resume-from everything is computed",
        no_force("npy other.npy | invert", "-o", "out.h5", "--force"),
        -V,
    )
    carry(
        folder,
        ["report", "a.h5", "--profile", "f4.npy"],
        "`tomostage run CHAIN --profile NAME` writes NAME.json",
        ["run", "npy f4.npy", "-o", "a.h5", "--force", "--quiet", "--profile", "prof"],
        "prof.json",
    )
    run("batch", "invert", "ct", "-o", "bb", "--quiet", cwd=folder)
    carry(
        folder,
        ["batch", "invert", "ct", "-o", "bb", "--quiet"],
        "--resume verifies results that are there and goes on with the others",
        ["batch", "invert", "ct", "-o", "bb", "--quiet", "--resume"],
        "bb/ct.h5",
    )


def yaml(folder, name, text):
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)
    return ["run", name, "-o", "out.h5", "--quiet", "--force"]


@rows
def chains_in_yaml(folder):
    arrays(folder)
    begin = "tomostage: 2\ninput: {npy: f4.npy}\nstages:\n"
    right = yaml(folder, "right.yaml", begin + "  - invert: {}\n")

    def wrong(text, hint, then=right, check=1 - V, n=[0]):
        n[0] += 1
        carry(folder, yaml(folder, f"w{n[0]}.yaml", text), hint, then, check)

    wrong(
        "- 1\n",
        "a chain begins with the line `tomostage: 2`; an image is named in it, or by -i",
        (right, yaml(folder, "by.yaml", "tomostage: 2\nstages:\n  - invert: {}\n") + ["-i", "f4.npy"]),
    )
    wrong("# nothing\n", "write `tomostage: 2`, and below it `input`, `stages` and `output`")
    wrong("input: {npy: f4.npy}\nstages:\n  - invert: {}\n", "the first line of a chain is: tomostage: 2")
    wrong(
        "tomostage: 2\ninput: {npy: f4.npy}\n",
        "stages: [] writes the input as it is",
        yaml(folder, "none.yaml", "tomostage: 2\ninput: {npy: f4.npy}\nstages: []\n"),
        V,
    )
    wrong(
        "tomostage: 2\ninput: {}\nstages: [invert]\n",
        "an input is a format and a path, such as input: {dicom: FOLDER}; known: ",
    )
    wrong(begin + "  - invert {}\n", "a colon stands behind the name of a stage: - invert: {...}")
    wrong(
        begin + "  box: {radius: 1}\n  invert: {}\n",
        "each stage stands in its own line: - box: {radius: 2}",
        yaml(folder, "two.yaml", begin + "  - box: {radius: 2}\n  - invert: {}\n"),
        V.shape,
    )
    wrong(
        begin + "  - invert\n  - box:\n    radius: 2\n",
        "- box: {...}, or indent the parameters further than the name",
        yaml(folder, "in.yaml", begin + "  - invert\n  - box:\n      radius: 2\n"),
        V.shape,
    )
    wrong(
        begin + "  - box: 2\n",
        "box: {PARAMETER: VALUE}; `tomostage stages box` lists its parameters",
        yaml(folder, "map.yaml", begin + "  - box: {radius: 2}\n"),
        V.shape,
    )
    wrong(begin + "  - box: 2\n", "`tomostage stages box` lists its parameters", ["stages", "box"], None)
    wrong(
        begin + "  - box: radius=2\n",
        "box: {radius: 2}",
        yaml(folder, "map.yaml", begin + "  - box: {radius: 2}\n"),
        V.shape,
    )
    wrong(
        begin + "  - rescale: {range: 0,250}\n",
        "a list of numbers stands in brackets: [0, 1]",
        yaml(folder, "list.yaml", begin + "  - rescale: {range: [0, 250]}\n"),
        V / 250,
    )
    wrong(
        begin + "  - invert: {limits: both}\n",
        "choices: ",
        yaml(folder, "ch.yaml", begin + "  - invert: {limits: data}\n"),
        V.max() - V,
    )
    wrong(
        begin + "  - save: {}\n  - invert: {}\n",
        "name: names the result in the output file",
        yaml(folder, "save.yaml", begin + "  - save: {name: one}\n  - invert: {}\n"),
    )
    wrong(
        begin + "  - &a invert: {}\n",
        "name: labels a stage's output, for later stages to refer to",
        yaml(folder, "name.yaml", begin + "  - invert: {name: a}\n  - invert: {input: a}\n"),
        V,
    )
    wrong(
        begin + "  - invert: {input: later}\n  - invert: {name: later}\n",
        "a stage takes what stands before it: outputs of earlier stages, and sources",
        yaml(folder, "before.yaml", begin + "  - invert: {name: later}\n  - invert: {input: later}\n"),
        V,
    )
    old = yaml(folder, "old.yaml", begin.replace("2", "1", 1) + "  - outliers: {size: 3, threshold: 1000}\n")
    if "version-defaults" in run(*old, expect=None, cwd=folder).stderr:
        carry(
            folder,
            old,
            "`tomostage: 2` takes the new ones",
            yaml(folder, "new.yaml", begin + "  - outliers: {size: 3, threshold: 1000}\n"),
            V.shape,
        )
    carry(
        folder,
        "npy f4.npy | box radius={from 0 to 10}",
        "{sweep 1 2 4} or {from 0 to 10 step 2} on one line",
        ("npy f4.npy | box radius={sweep 1 2 4}", "npy f4.npy | box radius={from 0 to 10 step 2}"),
        lambda a: a.shape[0] in (3, 6),
    )
    carry(
        folder,
        "npy f4.npy | box radius={from 0 to 10}",
        "{sweep: [1, 2, 4]} in YAML",
        yaml(folder, "sweep.yaml", begin + "  - box: {radius: {sweep: [1, 2, 4]}}\n"),
        lambda a: a.shape[0] == 3,
    )
    carry(
        folder,
        "npy f4.npy | invert -o c.h5",
        "options of the command, such as -o FILE, stand outside the quotes of the chain",
        no_force("npy f4.npy | invert", "-o", "out.h5"),
        1 - V,
    )
    carry(
        folder,
        "npy f4.npy | hdf5 a.h5 | invert",
        "outputs stand at the end of the line; `save` keeps an image before it",
        no_force("npy f4.npy | save name=first | invert | hdf5 out.h5"),
        1 - V,
    )
    carry(
        folder,
        "npy f4.npy | input | invert",
        "`input NAME FORMAT PATH`, or `input NAME like=input frames=flats`",
        "npy f4.npy | input r npy f4.npy | apply_mask mask=r",
        V,
    )
    carry(folder, "npy f4.npy > box radius=2", "| box radius=...", "npy f4.npy | box radius=2", V.shape)
    carry(folder, "npy f4.npy | box radius: 3", "radius=VALUE", "npy f4.npy | box radius=3", V.shape)
    carry(
        folder,
        "npy f4.npy | box radius=3 mm",
        "box PARAMETER=VALUE, and | before the next stage",
        "npy f4.npy | box radius=3",
        V.shape,
    )
    carry(folder, "npy f4.npy | box sigma=3", "sigma is a parameter of", "npy f4.npy | gaussian sigma=3", V.shape)
    carry(folder, "npy f4.npy series=3", "known: npy, axes", "npy f4.npy axes=z,y,x", V)
    carry(
        folder,
        ["run", "invert", "-i", "f4.npy", "--set", "input.series=1", "-o", "out.h5", "--quiet"],
        "is a parameter of dicom",
        ["run", "invert", "-i", "ct", "--set", "input.series=1", "-o", "out.h5", "--quiet"],
        (3, 8, 8),
        shell=f"{PROGRAM} phantom disc -o ct --size 8 --slices 3 --quiet",
    )
    run("run", "npy f4.npy | tiff t.tif", "--quiet", cwd=folder)
    carry(
        folder,
        ["run", "invert", "-i", "t.tif", "-o", "out.h5", "--quiet"],
        "begin the chain with the input, as `tomostage info FILE` writes it, or give each: --set input.NAME=VALUE",
        (
            no_force("tiff t.tif pages=slices pixel_size=1 spacing_z=1 | invert", "-o", "out.h5"),
            [
                "run",
                "invert",
                "-i",
                "t.tif",
                "--set",
                "input.pages=slices",
                "--set",
                "input.pixel_size=1",
                "--set",
                "input.spacing_z=1",
                "-o",
                "out.h5",
                "--quiet",
            ],
        ),
        1 - V,
    )


@rows
def runs(folder):
    arrays(folder)
    run("run", "npy f4.npy | statistics | hdf5 a.h5", "--quiet", cwd=folder)
    os.makedirs(f"{folder}/a")
    for i in range(4):
        run("run", f"npy f4.npy slices={i} | tiff a/page{i + (i > 2)}.tif", "--quiet", cwd=folder)
    pages = "tiff a pages=views pixel_size=1"
    np.savetxt(f"{folder}/angles.txt", [0, 45, 90, 180])
    carry(
        folder,
        f"{pages} angle_start=0 angle_stop=180",
        "angles_file gives the angles of the views that are there; gaps: accept takes them as evenly spaced",
        (f"{pages} angles_file=angles.txt", f"{pages} angle_start=0 angle_stop=180 gaps=accept"),
        V.transpose(1, 0, 2),
    )
    os.makedirs(f"{folder}/b")
    for i in range(3):
        run("run", f"npy f4.npy slices={i} | tiff b/page{i}.tif", "--quiet", cwd=folder)
    with open(f"{folder}/b/page2.tif", "r+b") as file:
        file.truncate(100)
    slices = "tiff b pages=slices pixel_size=1 spacing_z=1"
    carry(
        folder,
        slices,
        "supply the file anew or remove it; `unreadable: skip` reads what is left of the folder",
        f"{slices} unreadable=skip",
        V[:2],
    )
    np.save(f"{folder}/half.npy", V / 2)
    np.save(f"{folder}/two.npy", np.stack([V, V + 300]))
    carry(
        folder,
        "npy two.npy | input m npy two.npy | crop mask=m",
        "take: N reads one volume, 0 to 1",
        "npy two.npy take=1 | input m npy two.npy take=1 | crop mask=m",
        V + 300,
    )
    carry(
        folder,
        "npy two.npy | crop above=250",
        "take: N reads one volume, 0 to 1",
        "npy two.npy take=1 | crop above=250",
        V + 300,
    )
    carry(
        folder,
        "npy f4.npy | invert name=a | invert input=input",
        "remove it, name it as a later stage's input or reference, or add a save stage after it",
        ("npy f4.npy | invert", "npy f4.npy | invert name=a | save name=kept | invert input=input"),
        1 - V,
    )
    carry(
        folder,
        "npy f4.npy | box radius={sweep 1 2} | crop above=100",
        "state x, y and z, or let it stand before the stage that is swept",
        ("npy f4.npy | box radius={sweep 1 2} | crop x=0,4", "npy f4.npy | crop above=100 | box radius={sweep 1 2}"),
        lambda a: a.shape[0] == 2,
    )
    np.save(f"{folder}/labels.npy", ((V > 100) + 2 * (V > 200)).astype("i4"))
    carry(
        folder,
        "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=slice",
        "use scope: volume",
        "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=volume",
        V,
    )
    carry(
        folder,
        "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=2 scope=volume",
        "n_labels says how many labels have a row, 65,536 at most",
        "npy f4.npy | input l npy labels.npy | statistics labels=l n_labels=4 scope=volume",
        V,
    )
    carry(
        folder,
        "npy f4.npy | input l npy labels.npy | histogram labels=l n_labels=4 scope=volume range=0,250 method=sampled",
        "leave method out",
        "npy f4.npy | input l npy labels.npy | histogram labels=l n_labels=4 scope=volume range=0,250",
        V,
    )
    carry(
        folder,
        "npy f4.npy quantity=hu | nlm noise=rician sigma=5",
        "for CT leave out `noise`",
        "npy f4.npy quantity=hu | nlm sigma=5",
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | input m mask half.npy | apply_mask mask=m",
        "make a mask of an image with a stage, such as `threshold`",
        "npy f4.npy | input m npy half.npy | threshold input=m above=50 name=t | apply_mask input=input mask=t",
        V.shape,
    )
    carry(
        folder,
        "npy f4.npy | input m mask two.npy | apply_mask mask=m",
        "reads an image on the same grid, of which take: N beside the path chooses one volume, 0 to 1; stages take it for a mask or labels",
        "npy f4.npy | input m npy two.npy take=0 | apply_mask mask=m",
        V.shape,
    )
    spaced = "npy f4.npy spacing=1,1,1"


@rows
def beams(folder):
    lines, slices = scans(folder)
    np.save(f"{folder}/mu.npy", slices)
    mu = "npy mu.npy quantity=attenuation spacing=1,1,1"
    fan = "beam=fan-flat source_axis=200 source_detector=300"
    carry(
        folder,
        f"{mu} | radon views=16 {fan} method=tensor",
        "leave method out",
        f"{mu} | radon views=16 {fan}",
        lambda a: a.shape[1] == 16,
    )
    scan = f"{mu} | radon views=16 arc=120 {fan}"
    for stage in ("fbp",):
        carry(
            folder,
            f"{scan} | {stage}",
            "gaps: accept reconstructs from what is there; sirt and cgls need no whole scan",
            (f"{scan} | fbp gaps=accept", f"{scan} | sirt iterations=2", f"{scan} | cgls iterations=2"),
            lambda a: a.shape[0] == 4,
        )
    carry(
        folder,
        f"{scan} | rebin",
        "sirt and cgls need no whole scan",
        (f"{scan} | sirt iterations=2", f"{scan} | cgls iterations=2"),
        lambda a: a.shape[0] == 4,
    )
    whole = f"{mu} | radon views=48 arc=360 {fan}"
    carry(
        folder,
        f"{whole} | backproject model=linear",
        "fbp has the pixel-driven backprojection of a fan, with its weights; filter: none",
        f"{whole} | fbp filter=none",
        lambda a: a.shape[0] == 4,
    )
    carry(
        folder,
        f"{whole} | center",
        "give where the axis stands, such as center: {center:",
        f"{whole} | center center=@C | fbp",
        lambda a: a.shape[0] == 4,
    )
    carry(
        folder,
        f"{whole} | backproject method=tensor",
        "leave method out",
        f"{whole} | backproject",
        lambda a: a.shape[0] == 4,
    )
    turn = "npy lines_f4.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral"
    carry(
        folder,
        f"{turn} | stitch",
        "fbp and fourier take half a turn as it is",
        (f"{turn} | fbp", f"{turn} | fourier"),
        slices.shape,
    )
    right = close(slices, 0.05)
    radians = turn.replace("180", "3.14159265358979 angle_unit=degree")
    carry(
        folder,
        f"{radians} | fbp",
        "the angles are degrees; where these are, gaps: accept takes them",
        f"{radians} | fbp gaps=accept",
        slices.shape,
    )
    carry(
        folder,
        f"{radians} | sirt iterations=2",
        "where these are, fbp with gaps: accept takes them",
        f"{radians} | fbp gaps=accept",
        slices.shape,
    )
    carry(
        folder, f"{turn} | minus_log", "the logarithm of these was taken already, so leave minus_log out", turn, lines
    )
    dark = lines.copy()
    dark[:] = np.exp(-lines)
    dark[0, 0, 0] = -1
    np.save(f"{folder}/dark.npy", dark)
    low = turn.replace("lines_f4", "dark").replace("line_integral", "transmission")
    expected = lines.copy()
    expected[0, 0, 0] = -np.log(0.5)
    carry(
        folder,
        f"{low} | minus_log nonpositive=error",
        "nonpositive: floor takes `floor` in their place",
        f"{low} | minus_log nonpositive=floor floor=0.001",
        lambda a: np.isfinite(a).all() and np.allclose(a[1:], lines[1:], atol=1e-4),
    )
    dark[0, 0, 0] = np.inf
    np.save(f"{folder}/inf.npy", dark)
    inf = low.replace("dark.npy", "inf.npy")
    carry(
        folder,
        f"{inf} | minus_log",
        "`bad_pixels` before minus_log fills them, nonfinite: nan lets them pass as NaN",
        (f"{inf} | bad_pixels | minus_log", f"{inf} | minus_log nonfinite=nan"),
        lambda a: np.allclose(a[1:], lines[1:], atol=1e-4),
    )


def elsewhere():
    """The hints that other tests carry out, as tokens; each test must be there."""
    with open(os.path.join(SOURCE, "tests", "results", "hints_elsewhere.txt")) as file:
        lines = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
    for hint, path, name in lines:
        with open(os.path.join(SOURCE, path)) as other:
            assert name in other.read(), f"{path} has no {name}, which is to carry out '{hint}'"
    return [tokens(hint) for hint, _, _ in lines]


def reason(path, text):
    """Why nothing carries a hint out."""
    for words, why in (
        ("^cuda/|gpu|device|GPU|tensor|method: stack|occupancy", "needs a CUDA device, or a build with CUDA"),
        ("MPI|launcher", "needs a launcher of several processes"),
        ("view/|--view|--frames", "needs a window"),
        ("make room|free some space", "needs a full disk"),
        ("ulimit", "needs a limit of the system"),
        ("supply|copy the file|copy it", "asks for other files"),
    ):
        if re.search(words, f"{path} {text}"):
            return why
    return "not yet"


@test
def every_promise(folder):
    hints = {(path, text): pattern(text) for path, text in inventory(SOURCE) if is_promise(text)}
    others = elsewhere()
    unknown = [hint for hint in others if not any(hint in tokens(text) for _, text in hints)]
    assert not unknown, f"hints_elsewhere.txt has hints that are no more: {unknown}"
    left = [
        (path, text)
        for (path, text), found in hints.items()
        if not any(found.search(line) for line in CARRIED) and not any(hint in tokens(text) for hint in others)
    ]
    for path, text in left:
        print(f"not carried out ({reason(path, text)}): {path}: {text}")
    print(f"{len(hints)} promises, of which {len(hints) - len(left)} are carried out and {len(left)} are not")
    if len(sys.argv) <= 3:
        assert (
            len(left) == LEFT
        ), f"{len(left)} promises are not carried out: if fewer than {LEFT}, set LEFT to that; else add a row"


sys.exit(run_tests(sys.argv[3:]))
