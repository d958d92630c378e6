# SPDX-License-Identifier: Apache-2.0
"""Hints about files of scans, the rotation axis and line integrals: rows of test_hints.py."""
import re
import shutil

import h5py
import numpy as np

from harness import run
from hints_support import SCAN, carry, close, image, rows, scans, words_of, yaml

DISCS = ((-2.1, 1.3, 9, 0.05), (4.2, -3.1, 2.5, 0.08), (-5.2, -1.2, 1.6, -0.03))  # x, y, radius, 1/mm


def sinogram(degrees, n, center, slices=4, discs=DISCS):
    """Line integrals (z, view, detector) of discs that grow from slice to slice, for detector pixels of 1 mm."""
    theta = np.radians(degrees)[:, None]
    return np.stack(
        [
            sum(
                2 * value * np.sqrt(np.maximum(0, radius**2 - (np.arange(n) - center - x * np.cos(theta) - y * np.sin(theta)) ** 2))
                for x, y, radius, value in ((x, y, radius * (1 - 0.02 * z), value) for x, y, radius, value in discs)
            )
            for z in range(slices)
        ]
    ).astype("f4")


def nxtomo(path, lines, degrees, darks=2, flats=2, dark=10, **fields):
    """A scan of a beam of 20,000 counts; fields go to the detector."""
    n_views, shape = lines.shape[1], (lines.shape[0], lines.shape[2])
    frames = [np.full(shape, dark)] * darks + [np.full(shape, 20000 + dark)] * flats + list(20000 * np.exp(-lines.transpose(1, 0, 2)) + dark)
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        detector = entry.create_group("instrument/detector")
        entry["definition"] = "NXtomo"
        for name, kind in (("", "NXentry"), ("instrument", "NXinstrument"), ("instrument/detector", "NXdetector"), ("sample", "NXsample")):
            entry.require_group(name or "/entry").attrs["NX_class"] = kind
        detector["data"] = np.rint(frames).astype("u2")
        detector["image_key"] = np.array([2] * darks + [1] * flats + [0] * n_views)
        entry["sample/rotation_angle"] = np.concatenate([np.zeros(darks + flats), degrees])
        entry["sample/rotation_angle"].attrs["units"] = "degree"
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name] = 1.0
            detector[name].attrs["units"] = "mm"
        for name, value in fields.items():
            detector[name] = value


def alike(right, most=0.01):
    """Compares with a volume of a smaller grid about the axis: a wrong axis is further off than this."""

    def compare(found):
        begin = (found.shape[1] - right.shape[1]) // 2
        part = found[:, begin : begin + right.shape[1], begin : begin + right.shape[2]]
        return part.shape == right.shape and np.sqrt(((part - right) ** 2).mean()) < most

    return compare


def chain_of(name, more=""):
    return SCAN.replace("nexus scan.nxs", f"nexus {name} {more}")


@rows
def angles_that_do_not_fit(folder):
    """Lists with an angle too many or too few, or none; a unit that is called `unit`; and darks of no frames."""
    lines, slices = scans(folder)
    right, degrees = close(slices), np.arange(50) * 3.75
    counts = np.rint(50000 * np.exp(-lines.transpose(1, 0, 2))).astype("u2")

    def nexus(name, angles, attribute="units", unit="degree"):
        shutil.copy(f"{folder}/scan.nxs", f"{folder}/{name}.nxs")
        with h5py.File(f"{folder}/{name}.nxs", "r+") as file:
            sample = file[next(iter(file))]["sample"]
            for group in sample.parent.values():
                if isinstance(group, h5py.Group) and "rotation_angle" in group:
                    del group["rotation_angle"]
            if angles is not None:
                sample["rotation_angle"] = angles
                sample["rotation_angle"].attrs[attribute] = unit
        return lambda more: chain_of(f"{name}.nxs", more) + " | minus_log | fbp"

    def exchange(name, angles, darks=2, unit="degree"):
        with h5py.File(f"{folder}/{name}.h5", "w") as file:
            file["exchange/data"], file["exchange/data_white"] = counts, np.full((2, *counts.shape[1:]), 50000, "u2")
            file["exchange/data_dark"], file["exchange/theta"] = np.zeros((darks, *counts.shape[1:]), "u2"), angles
            file["exchange/theta"].attrs["units"] = unit
        return lambda more: (f"exchange {name}.h5 pixel_size=1 {more} | input flats like=input frames=flats | input darks like=input frames=darks | "
                             "flat_field flats=flats darks=darks | minus_log | fbp")

    for make in (nexus, exchange):
        for unit, factor in (("degree", 1), ("rad", np.pi / 180)):
            chain = make(f"more_{unit}", degrees[:49] * factor, unit=unit)
            carry(folder, chain(""), "theta_start: 0, theta_stop: 180 take all but the last of these angles", chain("theta_start=0 theta_stop=180"), right)
            chain = make(f"less_{unit}", degrees[:47] * factor, unit=unit)
            carry(folder, chain(""), "theta_start: 0, theta_stop: 176.25, endpoint: true go on by a step for the last view",
                  chain("theta_start=0 theta_stop=176.25 endpoint=true"), right)
    chain = nexus("none", None)
    carry(folder, chain(""), "theta_start and theta_stop in degrees (and endpoint) say what they are", chain("theta_start=0 theta_stop=180"), right)
    for unit, factor in (("rad", np.pi / 180), ("degree", 1)):
        run(*words_of(nexus("unit", degrees[:48] * factor, "unit", unit)("")), cwd=folder)
        assert right(image(folder)), unit
    chain = exchange("empty", degrees[:48], darks=0)
    carry(folder, chain(""), "leave out `darks` of flat_field and their input, for darks of 0",
          chain("").replace(" | input darks like=input frames=darks", "").replace(" darks=darks", ""), right)


@rows
def ends_of_the_range(folder):
    """Views with both ends of the range, or without the last, whose angles say the other. A list of the angles gives what is right."""
    for turn, n in ((180, 91), (360, 181), (360, 91)):
        for end in (True, False):
            degrees = np.linspace(0, turn, n, endpoint=end)
            lines = sinogram(degrees, 64, 33, discs=[(x * 2, y * 2, radius * 2, value) for x, y, radius, value in DISCS])
            np.save(f"{folder}/lines.npy", lines)
            scan = "npy lines.npy axes=z,view,detector spacing=1,1 quantity=line_integral "
            listed = "[" + ", ".join(f"{angle:.12g}" for angle in degrees) + "]"
            run(*words_of(f"{scan} angles={listed} | center center=33 | fbp"), cwd=folder)
            right, even = image(folder), f"{scan} theta_start=0 theta_stop={turn} endpoint="
            carry(folder, f"{even}{'false' if end else 'true'} | center center=33 | fbp", f"endpoint: {'true' if end else 'false'} of `input` gives the views these angles",
                  f"{even}{'true' if end else 'false'} | center center=33 | fbp", right)


@rows
def files_of_scans(folder):
    lines, slices = scans(folder)
    right = close(slices)

    def like(name, change):
        shutil.copy(f"{folder}/scan.nxs", f"{folder}/{name}")
        with h5py.File(f"{folder}/{name}", "r+") as file:
            entry = file[next(iter(file))]
            change(entry, entry["instrument/detector"], entry["sample/rotation_angle"])
        return name

    def units(name):
        def change(entry, detector, angles):
            del angles.attrs["units"]
            if name:
                angles.attrs["units"] = name
        return change

    def volume(name, more):
        return chain_of(name, more) + " | minus_log | fbp"

    like("plain.nxs", units(None))
    carry(folder, volume("plain.nxs", ""), "angle_unit: degree or angle_unit: radian says what it is", volume("plain.nxs", "angle_unit=degree"), right)
    like("rad.nxs", units("rad"))
    carry(folder, volume("rad.nxs", ""), "angle_unit: degree, or angle_unit: radian if they are radians", volume("rad.nxs", "angle_unit=degree"), right)
    carry(folder, "nexus rad.nxs", "angle_unit: radian if they are radians", "nexus rad.nxs angle_unit=radian",
          lambda a: a.shape == lines.shape, again=True)

    def nameless(entry, detector, angles):
        del entry["definition"]

    like("nameless.nxs", nameless)
    with h5py.File(f"{folder}/nameless.nxs") as file:
        entry = next(iter(file))
    base = f"/{entry}/instrument/detector"
    names = f"data={base}/data angles=/{entry}/sample/rotation_angle image_key={base}/image_key"
    carry(folder, volume("nameless.nxs", ""), "data, angles and image_key name the datasets of a scan that does not say so",
          volume("nameless.nxs", names), right)

    def second(entry, detector, angles):
        entry.copy("instrument/detector", entry["instrument"], "panel")
        entry["instrument/panel/data"][...] = entry["instrument/panel/data"][()] // 2

    like("two.nxs", second)
    carry(folder, "nexus two.nxs", "data: PATH, the frames of another, takes that one",
          (f"nexus two.nxs data=/{entry}/instrument/panel/data", f"nexus two.nxs data={base}/data"), lines.shape)

    def pixels(entry, detector, angles):
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name].attrs["units"] = "px"

    like("px.nxs", pixels)
    carry(folder, volume("px.nxs", ""), "pixel_size in mm stands for what the file says", volume("px.nxs", "pixel_size=1"), right)

    def turned(way):
        def change(entry, detector, angles):
            group = entry.create_group("sample/transformations")
            group.attrs["NX_class"] = "NXtransformations"
            group["omega"] = way * angles[()]
            for name, value in (("units", "degree"), ("transformation_type", "rotation"), ("vector", [0.0, 1, 0]), ("depends_on", ".")):
                group["omega"].attrs[name] = value
        return change

    like("other.nxs", turned(-1))
    hint = "angle_sense: y-to-x turns the views the other way; angle_sense: x-to-y says that rotation_angle is right"
    carry(folder, volume("other.nxs", ""), hint, volume("other.nxs", "angle_sense=x-to-y"), right)
    carry(folder, volume("other.nxs", ""), hint, volume("other.nxs", "angle_sense=y-to-x"), lambda found: found.shape == slices.shape and not right(found))

    def reversed_list(entry, detector, angles):
        group = entry.create_group("plotted")
        group.attrs["NX_class"] = "NXdata"
        group["rotation_angle"] = angles[()]
        group["rotation_angle"].attrs["units"] = "degree"
        angles[...] = angles[()][::-1]

    like("lists.nxs", reversed_list)
    carry(folder, volume("lists.nxs", ""), "angles: PATH takes another list of the file", volume("lists.nxs", f"angles=/{entry}/plotted/rotation_angle"), right)
    few = "slices=2,4"
    with h5py.File(f"{folder}/scan.nxs") as file:
        rows_of = file[f"{base}/data"][:, 2:, :]

    def fewer(entry, detector, angles):
        del detector["data"]
        detector["data"] = rows_of

    like("fewer.nxs", fewer)
    flats = "input flats nexus fewer.nxs frames=flats%s | input darks nexus fewer.nxs frames=darks%s | flat_field flats=flats darks=darks | minus_log"
    carry(folder, f"nexus scan.nxs {few} | " + flats % ("", ""), "slices: [first, end] here too says which of these they are",
          f"nexus scan.nxs {few} | " + flats % (" slices=0,2", " slices=0,2"), lines[2:])
    carry(folder, "nexus scan.nxs slices=0,2 | " + flats % ("", ""), "slices: [first, end] here too says which of them are those of `input`",
          "nexus scan.nxs slices=2,4 | " + flats % (" slices=0,2", " slices=0,2"), lines[2:])
    nxtomo(f"{folder}/foreign.nxs", lines, np.arange(48) * 3.75)
    carry(folder, ["diff", "foreign.nxs", "foreign.nxs"], "`diff` takes scans of other programs as 'exchange FILE', 'nexus FILE' or 'hdf5 FILE path=DATASET axes=...'",
          (["diff", "nexus foreign.nxs", "nexus foreign.nxs"],
          ["diff", *["hdf5 foreign.nxs path=/entry/instrument/detector/data axes=frame,z,detector"] * 2]))


def exchange(path, frames, degrees, chunks=None, lost=(), **others):
    """Counts (view, z, detector) in Data Exchange, without the chunks of the frames that are lost."""
    with h5py.File(path, "w") as file:
        data = file.create_dataset("exchange/data", frames.shape, "u2", chunks=chunks or (1, *frames.shape[1:]))
        for i in set(range(len(frames))) - set(lost):
            data[i] = frames[i]
        file["exchange/data_white"] = np.full((2, *frames.shape[1:]), 20000, "u2")
        file["exchange/data_dark"] = np.zeros((2, *frames.shape[1:]), "u2")
        file["exchange/theta"] = degrees
        for name, value in others.items():
            file[name] = value


@rows
def frames_of_other_files(folder):
    """Flats and darks of another file, of another exposure or beam, or of a detector that lay the other way."""
    half = np.arange(48) * 3.75
    lines = sinogram(half, 32, 15.5)
    profile = (1 - 0.3 * np.arange(32) / 32) * (1 - 0.1 * np.arange(4)[:, None] / 4)
    nxtomo(f"{folder}/views.nxs", lines - np.log(profile)[:, None], half, 0, 0, count_time=0.1)
    chain = "nexus views.nxs | input flats nexus %s frames=flats | input darks nexus %s frames=darks | %sflat_field %sflats=%s darks=%s"
    right = lambda a: a.shape == lines.shape and abs(a - lines).max() < 0.02  # noqa: E731

    def frames(name, flats=1, dark=10, turned=np.s_[:], **fields):
        nxtomo(f"{folder}/{name}", lines[:, :0], [], dark=dark, **fields)
        with h5py.File(f"{folder}/{name}", "r+") as file:
            file["entry/instrument/detector/data"][2:] = np.rint(20000 * flats * profile[turned] + dark)
        return name

    def of(flats, darks, before="", more="", names=("flats", "darks")):
        return chain % (flats, darks, before, more, *names) + " | minus_log"

    good, other = frames("good.nxs", count_time=0.1), frames("long.nxs", 2, count_time=0.2)
    divided = "`air` after this stage divides by the beam beside the object, where there is some"
    carry(folder, of(other, good), divided, of(other, good).replace("| minus_log", "| air detectors=4 | minus_log"), right)
    carry(folder, of(good, other), "take darks that were exposed as long as the views", of(good, good), right)
    with h5py.File(f"{folder}/views.nxs", "r+") as file:
        file["entry/control/data"] = np.full(48, 1000.0)
        file["entry/control"].attrs["NX_class"] = "NXmonitor"
    dim = frames("dim.nxs", 0.5)
    with h5py.File(f"{folder}/{dim}", "r+") as file:
        file["entry/control/data"] = [0.0, 0, 500, 500]
        file["entry/control"].attrs["NX_class"] = "NXmonitor"
    carry(folder, of(dim, good), divided, of(dim, good).replace("| minus_log", "| air detectors=4 | minus_log"), right)
    mirrored = frames("mirrored.nxs", turned=np.s_[:, ::-1], x_flipped=True)
    both = "flip input=flats name=flats_flipped | flip input=darks name=darks_flipped | "
    flipped = of(mirrored, mirrored, both, "input=input ", ("flats_flipped", "darks_flipped"))
    for name in ("flats", "darks"):
        carry(folder, of(mirrored, mirrored), f"flip: {{input: {name}, name: {name}_flipped}} as the first stage and {name}: {name}_flipped turn them round; "
              "`input: input` in the stage that follows flip takes the image", flipped, right)
    carry(folder, of(good, good, "flip | "), "flip after this stage mirrors the corrected image", of(good, good) + " | flip",
          lambda a: abs(a[:, :, ::-1] - lines).max() < 0.02)
    once = of(good, good, both.split("| ")[0] + "| ", "input=input ", ("flats_flipped", "darks"))
    carry(folder, once, "flats: flats takes them as they are read", of(good, good), right)


@rows
def places_that_the_file_says(folder):
    """Axes in another order, pixels of another size and angles of the begin of exposures, as NeXus files say them; lengths of HDF5 files."""
    lines, slices = scans(folder)
    right = close(slices)

    def like(name, change, turned=False):
        shutil.copy(f"{folder}/scan.nxs", f"{folder}/{name}")
        with h5py.File(f"{folder}/{name}", "r+") as file:
            entry = file[next(iter(file))]
            detector = entry["instrument/detector"]
            if turned:
                frames = detector["data"][()].transpose(0, 2, 1)
                del detector["data"]
                detector["data"] = frames
            change(entry, detector, entry["sample/rotation_angle"])
        return lambda more: chain_of(name, more) + " | minus_log | fbp"

    def put(group, name, values, units):
        group[name] = values
        group[name].attrs["units"] = units

    def named(entry, detector, angles):
        group = entry.create_group("plotted")
        group.attrs["NX_class"], group.attrs["signal"] = "NXdata", "data"
        group["data"], group.attrs["axes"] = detector["data"], ["rotation_angle", "x", "y"]

    def labelled(entry, detector, angles):
        for i, name in enumerate(("rotation_angle", "x", "y")):
            detector["data"].dims[i].label = name

    columns = np.arange(lines.shape[2]) - (lines.shape[2] - 1) / 2
    for name, change in (("named.nxs", named), ("labelled.nxs", labelled)):
        chain = like(name, change, True)
        carry(folder, chain(""), "axes: [view, detector, z] reads them as the file says", chain("axes=view,detector,z"), right)
    chain = like("across.nxs", lambda entry, detector, angles: put(detector, "x_pixel_offset", columns, "um"), True)
    carry(folder, chain(""), "axes: [view, detector, z] exchanges rows and columns", chain("axes=view,detector,z"), right)

    def binned(entry, detector, angles):
        put(detector, "x_pixel_offset", columns, "um")
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name][...] = detector[name][()] / 2

    chain = like("binned.nxs", binned)
    carry(folder, chain(""), "pixel_size: 0.001, in mm, where that is right", chain("pixel_size=0.001"), right)

    def begun(entry, detector, angles):
        put(angles.parent, "rotation_angle_end", angles[()] + 2, "degree")
        angles[...] = angles[()] - 2

    chain = like("begun.nxs", begun)
    carry(folder, chain(""), "angle_offset: 2 takes those of the middle", chain("angle_offset=2"), right)

    def spaced(found):
        with h5py.File(f"{folder}/out.h5") as file:
            steps = [abs(np.diff(file[f"entry/data/{name}"][()])[0]) for name in "zyx"]
        return found.shape == (4, 5, 6) and np.allclose(steps, (0.3, 0.2, 0.1))

    with h5py.File(f"{folder}/lengths.h5", "w") as file:
        for name in ("um", "none"):
            file[name] = np.arange(120, dtype="f4").reshape(4, 5, 6)
        file["um"].attrs["element_size_um"], file["none"].attrs["voxel_size"] = [300.0, 200, 100], [0.3, 0.2, 0.1]
    of = "hdf5 lengths.h5 path=/%s axes=z,y,x"
    carry(folder, of % "um" + " spacing=0.3,0.2,0.2", "spacing: [0.3, 0.2, 0.1] is what the file says", of % "um" + " spacing=0.3,0.2,0.1", spaced)
    carry(folder, of % "none", "spacing: [0.3, 0.2, 0.1], if it is in mm and in the order of the file's axes", of % "none" + " spacing=0.3,0.2,0.1", spaced)


@rows
def views_that_are_none(folder):
    """Scans that were aborted, frames that the camera lost or gave again, and views without the object."""
    half = np.arange(48) * 3.75
    lines = sinogram(half, 32, 15.5)
    noise = np.random.default_rng(1).normal(0, 60, (48, 4, 32))
    frames = np.rint(20000 * np.exp(-lines.transpose(1, 0, 2)) + noise).astype("u2")
    corrected = "exchange %s%s | input flats like=input frames=flats | input darks like=input frames=darks | flat_field flats=flats darks=darks | minus_log"

    def without(name, hint, first, end, parameter="", check=None, after=""):
        right = np.delete(-np.log(frames / 20000), np.s_[first:end], axis=0).transpose(1, 0, 2)
        carry(folder, corrected % (name, "") + after, hint, corrected % (name, " " + (parameter or f"drop_views={first},{end}")) + after,
              check or (lambda found: found.shape == right.shape and np.allclose(found, right, atol=1e-5)))

    exchange(f"{folder}/aborted.h5", frames, half, lost=range(40, 48))
    without("aborted.h5", "drop_views: [40, 48] leaves them out", 40, 48)
    exchange(f"{folder}/chunks.h5", frames, half, (8, 4, 32), range(40, 48))
    without("chunks.h5", "drop_views: [40, 48] leaves them out", 40, 48)
    exchange(f"{folder}/pieces.h5", frames, half, (3, 2, 16), range(20, 22))
    exchange(f"{folder}/pieces.h5", frames, half)
    with h5py.File(f"{folder}/pieces.h5", "r+") as file:
        del file["exchange/data"]
        data = file.create_dataset("exchange/data", frames.shape, "u2", chunks=(3, 2, 16))
        data[:21], data[24:], data[21:24, :2] = frames[:21], frames[24:], frames[21:24, :2]
    without("pieces.h5", "drop_views: [21, 24] leaves them out", 21, 24)
    exchange(f"{folder}/several.h5", frames, half, lost=(3, 30, 31))
    without("several.h5", "drop_views: [[3, 4], [30, 32]] leaves them out", 0, 0, "drop_views=[[3,4],[30,32]]", (4, 45, 32))
    many = np.repeat(frames, 4, axis=0)
    exchange(f"{folder}/many.h5", many, np.arange(192) * 0.9375, lost=range(1, 192, 2))
    without("many.h5", "drop_views: [[first, end], ...] leaves them out", 0, 0, "drop_views=[" + ",".join(f"[{i},{i + 1}]" for i in range(1, 192, 2)) + "]",
            (4, 96, 32))
    with h5py.File(f"{folder}/rows.h5", "w") as file:
        file.create_dataset("data", (4, 48, 32), "f4", chunks=(1, 48, 32))[:3] = lines[:3]
    of_rows = "hdf5 rows.h5 path=data quantity=line_integral axes=%s | save name=same"
    for axes in ("z,view,detector theta_start=0 theta_stop=180", "z,y,x"):
        carry(folder, of_rows % axes, "slices: [0, 3] reads the longest range that is there", of_rows % (axes + " slices=0,3"), lines[:3])

    with h5py.File(f"{folder}/raw.h5", "w") as file:
        file.create_dataset("data", frames.shape, "u2", chunks=(8, 4, 32))[:40] = frames[:40]
    layout = h5py.VirtualLayout(frames.shape, "u2")
    layout[:] = h5py.VirtualSource("raw.h5", "data", frames.shape)
    layouts = {"of_one.h5": layout, "of_many.h5": h5py.VirtualLayout(frames.shape, "u2"), "of_some.h5": h5py.VirtualLayout(frames.shape, "u2")}
    for i in range(48):
        with h5py.File(f"{folder}/raw_{i}.h5", "w") as file:
            data = file.create_dataset("data", frames.shape[1:], "u2", chunks=(2, 32))
            if not 40 <= i:
                data[:] = frames[i]
        layouts["of_many.h5"][i] = h5py.VirtualSource(f"raw_{i}.h5", "data", frames.shape[1:])
        if i < 40:
            layouts["of_some.h5"][i] = h5py.VirtualSource(f"raw_{i}.h5", "data", frames.shape[1:])
    for name, layout in layouts.items():
        exchange(f"{folder}/{name}", frames, half)
        with h5py.File(f"{folder}/{name}", "r+") as file:
            del file["exchange/data"]
            file.create_virtual_dataset("exchange/data", layout)
        without(name, "drop_views: [40, 48] leaves them out", 40, 48)

    frozen, blank, two, dark, dim = (frames.copy() for _ in range(5))
    dark[[5, 30, 31]] = np.abs(noise[[5, 30, 31]] / 10)
    dim[12:14] //= 2
    frozen[20:26] = frozen[19]
    blank[33] = 20000 + noise[33]
    two[[7, 9]] = two[[6, 8]]
    for name, data in (("frozen.h5", frozen), ("blank.h5", blank), ("two.h5", two), ("dark.h5", dark), ("dim.h5", dim)):
        exchange(f"{folder}/{name}", data, half)
    carry(folder, corrected % ("frozen.h5", " drop_views=50"), "drop_views: [[3, 4], [7, 9]] leaves out views 3, 7 and 8",
          corrected % ("frozen.h5", " drop_views=[[3,4],[7,9]]"), (4, 45, 32))
    without("frozen.h5", "drop_views: [20, 26] of `input` leaves out these", 20, 26)
    without("blank.h5", "drop_views: [33, 34] of `input` leaves out these", 33, 34)
    without("two.h5", "drop_views: [[7, 8], [9, 10]] of `input` leaves out these", 0, 0, "drop_views=[[7,8],[9,10]]", (4, 46, 32))
    without("dark.h5", "drop_views: [[5, 6], [30, 32]] of `input` leaves out these", 0, 0, "drop_views=[[5,6],[30,32]]", (4, 45, 32))
    without("dim.h5", "drop_views: [12, 14] of `input` leaves out these", 12, 14)
    many = frames.copy()
    many[1:36:2] = many[0:35:2]
    exchange(f"{folder}/many.h5", many, half)
    without("many.h5", "drop_views: [1, 36] of `input` leaves out these and those between them", 1, 36)


@rows
def frames_that_are_missing(folder):
    half = np.arange(48) * 3.75
    lines = sinogram(half, 32, 15.5)
    frames = np.rint(20000 * np.exp(-lines.transpose(1, 0, 2))).astype("u2")
    corrected = "exchange %s | input flats %s | input darks %s | flat_field flats=flats darks=darks | minus_log"
    like = ("like=input frames=flats", "like=input frames=darks")
    right = lambda a: a.shape == lines.shape and abs(a - lines).max() < 2e-3  # noqa: E731
    exchange(f"{folder}/whole.h5", frames, half)
    for lost in ("data_white", "data_dark", "data"):
        exchange(f"{folder}/{lost}.h5", frames, half)
        with h5py.File(f"{folder}/{lost}.h5", "r+") as file:
            file.move(f"exchange/{lost}", f"raw/{lost}")
    flats = corrected % ("data_white.h5", *like)
    carry(folder, flats, "take the flats of another file, with `frames: flats` there; or, in place of flat_field, `air` divides by the beam beside the object",
          (corrected % ("data_white.h5", "exchange whole.h5 frames=flats", like[1]), "exchange data_white.h5 | air detectors=4 | minus_log"), right)
    carry(folder, corrected % ("data_dark.h5", *like), "leave out `darks` of flat_field and their input, for darks of 0; or take those of another file, with `frames: darks` there",
          ("exchange data_dark.h5 | input flats like=input frames=flats | flat_field flats=flats | minus_log",
           corrected % ("data_dark.h5", like[0], "exchange whole.h5 frames=darks")), right)
    by_path = "hdf5 data.h5 path=/raw/data axes=view,z,detector quantity=counts theta_start=0 theta_stop=180"
    carry(folder, corrected % ("data.h5", *like), "`tomostage info FILE` lists what the file has; `hdf5: FILE` with `path:` reads any of its datasets",
          (corrected % ("data.h5", *like)).replace("exchange data.h5", by_path).replace("like=input", "exchange whole.h5"), right)
    assert run("info", "data.h5", cwd=folder).stdout
    nxtomo(f"{folder}/keyed.nxs", lines, half, flats=0)
    carry(folder, chain_of("keyed.nxs") + " | minus_log", "take the flats of another file", "nexus keyed.nxs | air detectors=4 | minus_log",
          lambda a: abs(a - lines).max() < 0.05)


@rows
def angles_that_are_none(folder):
    """Angles that are no numbers, too few or not there, and axes in another order: what the hints name reads the scan."""
    half = np.arange(48) * 3.75
    lines = sinogram(half, 32, 15.5)
    frames = np.rint(20000 * np.exp(-lines.transpose(1, 0, 2))).astype("u2")
    even, counts = "theta_start=0 theta_stop=180", np.rint(20000 * np.exp(-lines)).astype("u2")
    by_path = "hdf5 %s path=/exchange/data axes=view,z,detector quantity=counts " + even

    def holes(*views):
        degrees = half.copy()
        degrees[list(views)] = np.nan
        return degrees

    other = "`hdf5: FILE` with `path: /exchange/data`, `axes: [view, z, detector]`, `quantity: counts`, theta_start and theta_stop reads the frames with even angles"
    for name, degrees in (("few.h5", half[:40]), ("all.h5", np.full(48, np.nan)), ("more.h5", np.append(half, 180))):
        exchange(f"{folder}/{name}", frames, degrees)
        carry(folder, f"exchange {name}", other, by_path % name, counts)
        carry(folder, f"hdf5 {name} path=/exchange/data axes=view,z,detector quantity=counts angles=/exchange/theta",
              "theta_start and theta_stop, in place of `angles`, read the views with even angles", by_path % name, counts)
    for name, views, drop in (("hole.h5", (7,), "[7, 8]"), ("end.h5", (46, 47), "[46, 48]"), ("holes.h5", (0, 5, 6), "[[0, 1], [5, 7]]")):
        exchange(f"{folder}/{name}", frames, holes(*views))
        nxtomo(f"{folder}/{name}.nxs", lines, holes(*views))
        for source in (f"exchange {name}", f"nexus {name}.nxs", f"hdf5 {name} path=/exchange/data axes=view,z,detector quantity=counts angles=/exchange/theta"):
            carry(folder, source, f"drop_views: {drop} leaves them out", f"{source} drop_views={drop.replace(' ', '')}", (4, 48 - len(views), 32))
    hint = "angles: PATH takes them from another dataset of the file, such as one that h5py adds: one angle for each frame, flats and darks too"
    for name in ("few.nxs", "none.nxs", "all.nxs"):
        nxtomo(f"{folder}/{name}", lines, half)
        with h5py.File(f"{folder}/{name}", "r+") as file:
            angles = file["entry/sample/rotation_angle"][()]
            del file["entry/sample/rotation_angle"]
            file["other"] = angles
            file["other"].attrs["units"] = "degree"
            if name != "none.nxs":
                file["entry/sample/rotation_angle"] = angles[5:] if name == "few.nxs" else angles + np.nan
                file["entry/sample/rotation_angle"].attrs["units"] = "degree"
        carry(folder, f"nexus {name}", hint, f"nexus {name} angles=/other", (4, 48, 32))
    for axes, order, turned in (("y:theta:x", "z, view, detector", (1, 0, 2)), ("x:y:theta", "detector, z, view", (2, 1, 0)), ("theta:x:y", "view, detector, z", (0, 2, 1))):
        exchange(f"{folder}/order.h5", frames.transpose(turned), half)
        with h5py.File(f"{folder}/order.h5", "r+") as file:
            file["exchange/data"].attrs["axes"] = axes
            del file["exchange/data_dark"]
            file["exchange/data_dark"] = np.zeros((2, *frames.shape[1:]), "u2").transpose(turned)
            file["exchange/data_dark"].attrs["axes"] = axes.replace("theta", "theta_dark") if axes == "y:theta:x" else axes
        carry(folder, "exchange order.h5", f"`hdf5: FILE` with `path: /exchange/data`, `axes: [{order}]`, `quantity: counts`, `angles: /exchange/theta` reads it",
              f"hdf5 order.h5 path=/exchange/data axes={order.replace(' ', '')} quantity=counts angles=/exchange/theta", counts)
        if axes != "y:theta:x":
            order = order.replace("view", "frame")
            carry(folder, "exchange order.h5 frames=darks", f"`hdf5: FILE` with `path: /exchange/data_dark`, `axes: [{order}]`, `quantity: counts` reads it",
                  f"hdf5 order.h5 path=/exchange/data_dark axes={order.replace(' ', '')} quantity=counts", (4, 2, 32))
        order = order.replace("frame", "view")
        carry(folder, "hdf5 order.h5 path=/exchange/data axes=" + ",".join(reversed(order.split(", "))) + " quantity=counts " + even,
              f"axes: [{order}] reads them as the file says", f"hdf5 order.h5 path=/exchange/data axes={order.replace(' ', '')} quantity=counts {even}", counts)


@rows
def fans_that_are_called_parallel(folder):
    """Scanners of several fans, with angles of both senses; the number of the hint is that of the scanner."""
    y, x = np.mgrid[:48, :48] - 23.5
    volume = np.repeat(sum(mu * ((x - u) ** 2 + (y - v) ** 2 < r * r) for u, v, r, mu in ((-2, 3, 14, 0.05), (6, -5, 4, 0.08), (-9, -3, 3, -0.03)))[None], 3, axis=0)
    np.save(f"{folder}/mu.npy", volume.astype("f4"))
    for far, ends in ((1200, "0 theta_stop=360"), (500, "360 theta_stop=0"), (300, "0 theta_stop=360")):
        fan = f"beam=fan-flat source_axis={far / 2} source_detector={far}"
        run(*words_of(f"npy mu.npy quantity=attenuation spacing=1,1,1 | radon views=180 arc=360 {fan} detectors=72 detector_spacing=2"), cwd=folder)
        np.save(f"{folder}/lines.npy", image(folder))
        sense = "angle_sense=y-to-x " if ends[0] == "3" else ""
        views = f"npy lines.npy axes=z,view,detector quantity=line_integral spacing=2,2 theta_start={ends} "
        said = "`beam: fan-flat` of the input%s, with the scanner's `source_axis` and `source_detector` in mm, the latter about "
        carry(folder, views + "| fbp rows=48 columns=48 pixel_size=1", said % (", and the other `angle_sense`" if sense else ""),
              f"{views} {sense}{fan} | fbp rows=48 columns=48 pixel_size=1", lambda a: np.sqrt(((a - volume) ** 2).mean()) < 0.006)
        shown = run(*words_of(views + "| fbp"), cwd=folder).stderr
        assert abs(float(re.search(r"about (\d+) times", shown)[1]) * 2 / far - 1) < 0.03, shown


@rows
def guesses(folder):
    """`info` of a scan that does not say that it is one says what to try, with the size of a pixel."""
    half = np.arange(48) * 3.75
    for name, keyed in (("keyed.nxs", True), ("plain.h5", False)):
        nxtomo(f"{folder}/{name}", sinogram(half, 32, 15.5), half, **({} if keyed else {"darks": 0, "flats": 0}))
        with h5py.File(f"{folder}/{name}", "r+") as file:
            del file["entry/definition"]
            for size in ("x_pixel_size", "y_pixel_size"):
                file[f"entry/instrument/detector/{size}"][...] = 0.25
            if not keyed:
                del file["entry/instrument/detector/image_key"]
        chain = re.search("try: tomostage check '(.*)'", run("info", name, cwd=folder).stdout)[1]
        run(*words_of(chain), cwd=folder)
        assert image(folder).shape == (4, 48, 32)
        shown = run("check", chain, cwd=folder).stdout
        assert "0.25 mm x 0.25 mm" in shown and "counts" in shown, shown


@rows
def rotation_axes(folder):
    half, whole = np.arange(48) * 3.75, np.arange(96) * 3.75
    nxtomo(f"{folder}/middle.nxs", sinogram(half, 32, 15.5), half)
    run(*words_of(chain_of("middle.nxs") + " | minus_log | fbp"), cwd=folder)
    image_of_middle = image(folder)
    about = alike(image_of_middle)
    nxtomo(f"{folder}/pixel.nxs", sinogram(half, 32, 13), half, x_rotation_axis_pixel_position=13.0)
    nxtomo(f"{folder}/offset.nxs", sinogram(half, 32, 12.5), half, x_rotation_axis_pixel_position=-3.0)
    after = " | minus_log | %s | fbp"
    carry(folder, chain_of("pixel.nxs") + " | minus_log | fbp",
          "center: {center: 13} takes that for a detector pixel, center: {center: 13, convention: offset} for the distance from the middle, as files of the ESRF have it; center: {} searches",
          (chain_of("pixel.nxs") + after % "center center=13", chain_of("pixel.nxs") + after % "center"), about)
    carry(folder, chain_of("offset.nxs") + " | minus_log | fbp",
          "center: {center: -3, convention: offset} takes that for the distance from the middle, as files of the ESRF have it; center: {} searches",
          (chain_of("offset.nxs") + after % "center center=-3 convention=offset", chain_of("offset.nxs") + after % "center"), about)
    drift = np.pi**2 / 4 * np.arange(48)[:, None] / 48  # an object 1 pixel elsewhere, and another axis
    nxtomo(f"{folder}/drift.nxs", sinogram(half, 32, 15.5 + drift), half)
    carry(folder, chain_of("drift.nxs") + " | minus_log | fbp", "`center: {}` before it finds the axis", chain_of("drift.nxs") + after % "center",
          lambda a: alike(image_of_middle[:, :, 1:])(a[:, :, :-1]))
    nxtomo(f"{folder}/half.nxs", sinogram(whole, 32, 6), whole, field_of_view="Half")
    carry(folder, chain_of("half.nxs") + " | minus_log | fbp", "after minus_log: center: {method: overlap}, then stitch: {}",
          chain_of("half.nxs") + after % "center method=overlap | stitch", about)
    carry(folder, chain_of("half.nxs") + after % "center method=sinogram | stitch", "`method: overlap` searches nearly the whole detector",
          chain_of("half.nxs") + after % "center method=overlap | stitch", about)


@rows
def search_of_the_axis(folder):
    half = np.arange(48) * 3.75

    def scan(name, lines):
        np.save(f"{folder}/{name}.npy", lines)
        return f"npy {name}.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral spacing=1,1"

    good = scan("good", sinogram(half, 32, 15.5))
    run(*words_of(f"{good} | fbp"), cwd=folder)
    volume = image(folder)
    about = alike(volume)
    off = scan("off", sinogram(half, 32, 12))

    lines = sinogram(half, 32, 12)
    lines[0] = sinogram([0], 32, 15.5, 1, DISCS[:1])[0]  # all views are the same
    empty = scan("empty", lines)
    hint = "look at it with strip: true, search another slice, or give the center"
    carry(folder, f"{empty} | center slice=0 | fbp", hint, f"{empty} | center slice=0 strip=true", None, again=True)
    filled = lambda a: about(np.concatenate([volume[:1], a[1:]]))  # noqa: E731
    carry(folder, f"{empty} | center slice=0 | fbp", hint,
          (f"{empty} | center slice=2 | fbp", f"{empty} | center center=12 | fbp"), filled)
    lost = sinogram(half, 32, 12)
    lost[:, 5] = 0
    mass = scan("mass", lost)
    hint = "give the center, and look at slices around it with strip: true"
    carry(folder, f"{mass} | center method=mass | fbp", hint, f"{mass} | center center=12 | fbp", about)
    carry(folder, f"{mass} | center method=mass | fbp", hint, f"{mass} | center center=12 strip=true", None)
    carry(folder, f"{off} | center method=overlap | fbp",
          "if the detector sees the whole object, method: sinogram or opposite; else center: NUMBER",
          (f"{off} | center method=sinogram | fbp", f"{off} | center method=opposite | fbp", f"{off} | center center=12 | fbp"), about)
    carry(folder, f"{off} | center search=1 | fbp", "reaches it, or give the center",
          (f"{off} | center search=@S | fbp", f"{off} | center center=12 | fbp"), about)
    random = np.random.default_rng(4)
    inside = [(*(30 * random.uniform(-0.7, 0.7, 2)), random.uniform(1, 5), random.uniform(-0.01, 0.02)) for _ in range(30)]
    many = sinogram(np.arange(96) * 1.875, 96, 47.5, 3, [(0, 0, 40, 0.02), *inside])
    cut = scan("cut", many[:, :, 16:84])
    hint = "look at it with strip: true, or give the center; what the rows lack shows in a reconstruction as well, less so with `pad: {}` before it"
    carry(folder, f"{cut} | center | fbp", hint, f"{cut} | center strip=true", None, again=True)
    carry(folder, f"{cut} | center | fbp", hint, f"{cut} | center center=31.5 | pad | fbp", None)
    np.save(f"{folder}/dim.npy", 0.4 * np.exp(-many))
    dim = "npy dim.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=transmission spacing=1,1"
    run(*words_of(f"{scan('whole', many)} | center | fbp"), cwd=folder)
    carry(folder, f"{dim} | minus_log | center | fbp", "if both ends are air, `air` before minus_log makes it 0, with as many `detectors` as see no object",
          f"{dim} | air detectors=4 | minus_log | center | fbp", alike(image(folder), 1e-3))
    hit = np.exp(-many)
    hit[1, 20::25, 30::20] = 3
    np.save(f"{folder}/hit.npy", hit)
    hit = dim.replace("dim", "hit")
    carry(folder, f"{hit} | minus_log | center | fbp", "outliers: {threshold: 1} before minus_log replaces them",
          f"{hit} | outliers threshold=1 | minus_log | center | fbp", alike(image(folder), 1e-3))
    small = ((8, 3, 8, 0.5), (-2, 5, 12, 0.35))
    run(*words_of(scan("middle", sinogram(np.arange(120) * 1.5, 96, 47.5, 1, small)) + " | fbp"), cwd=folder)
    right = alike(image(folder), 0.05)
    doubtful = scan("doubtful", sinogram(np.arange(120) * 1.5, 96, 22.3, 1, small))
    hint = "look at both with strip: true and center: NUMBER, and give the right one"
    carry(folder, f"{doubtful} | center search=24 | fbp", hint, f"{doubtful} | center center=22.3 | fbp", right)
    carry(folder, f"{doubtful} | center search=24 | fbp", hint, f"{doubtful} | center center=22.3 strip=true", None)
    np.save(f"{folder}/two.npy", np.stack([volume, volume]))
    series = "npy two.npy quantity=attenuation spacing=1,1,1%s | radon views=48 detectors=32 detector_spacing=1 | center%s | fbp"
    carry(folder, series % ("", ""), "state what it would find, or choose one volume with `take:` beside the input",
          (series % ("", " center=15.5"), series % (" take=1", "")), lambda a: about(a[-1] if a.ndim == 4 else a))


@rows
def beams_and_fields(folder):
    half = np.arange(48) * 3.75
    lines = sinogram(half, 32, 15.5)
    nxtomo(f"{folder}/good.nxs", lines, half)
    run(*words_of(chain_of("good.nxs") + " | minus_log | fbp"), cwd=folder)
    volume = image(folder)
    np.save(f"{folder}/mu.npy", volume)
    np.save(f"{folder}/t.npy", np.exp(-lines))

    def minus_log(name, change, more=""):
        """A scan whose frames are changed, two darks, two flats and the views, and its line integrals."""
        nxtomo(f"{folder}/{name}", lines, half, **({"darks": 3} if "dark" in name else {}))
        with h5py.File(f"{folder}/{name}", "r+") as file:
            frames = file["entry/instrument/detector/data"][()]
            change(frames)
            file["entry/instrument/detector/data"][...] = frames
        return chain_of(name) + " %s| minus_log"

    def flat_among(frames):
        frames[2] = frames[4]

    darks = minus_log("darks.nxs", flat_among) % ""
    carry(folder, darks, "flat_field: {combine: median} leaves out what differs from most of them",
          darks.replace("darks=darks", "darks=darks combine=median"), lambda a: abs(a - lines).max() < 2e-3, again=True)

    for name, first, open_darks, drop in (("darks_half.nxs", 2, [2, 3], "[2, 4]"), ("darks_most.nxs", 0, [0, 1, 2], "[0, 3]"), ("darks_turns.nxs", 0, [0, 2], "[[0, 1], [2, 3]]")):
        nxtomo(f"{folder}/{name}", lines, half, darks=4)
        with h5py.File(f"{folder}/{name}", "r+") as file:
            for dark in open_darks:
                file["entry/instrument/detector/data"][dark] = 20010
        carry(folder, chain_of(name) + " | minus_log", f"drop_views: {drop} leaves them out",
              (chain_of(name) + " | minus_log").replace("frames=darks", f"frames=darks drop_views={drop.replace(' ', '')}"), lambda a: abs(a - lines).max() < 2e-3)
    nxtomo(f"{folder}/darks_many.nxs", lines, half, darks=20)
    with h5py.File(f"{folder}/darks_many.nxs", "r+") as file:
        file["entry/instrument/detector/data"][10:20] = 20010
    many = chain_of("darks_many.nxs") + " | minus_log"
    carry(folder, many, "drop_views of this input leaves out those that are brighter than 10010",
          many.replace("frames=darks", "frames=darks drop_views=10,20"), lambda a: abs(a - lines).max() < 2e-3)
    flats = chain_of("flats_half.nxs") + " | minus_log"
    nxtomo(f"{folder}/flats_half.nxs", lines, half, flats=4)
    with h5py.File(f"{folder}/flats_half.nxs", "r+") as file:
        file["entry/instrument/detector/data"][4:6] = file["entry/instrument/detector/data"][6]
    carry(folder, flats, "drop_views: [2, 4] leaves them out", flats.replace("frames=flats", "frames=flats drop_views=2,4"),
          lambda a: abs(a - lines).max() < 2e-3)

    tilt = np.rint(20000 * (1 + 0.1 * ((np.arange(32) + 0.5) / 32 - 0.5)) + 10)
    for name, n, moved, said, drop in (
        ("moved.nxs", 4, [0, 1], "drop_views: [[2, 4]] of this input leaves out those that differ from the first, drop_views: [[0, 2]] the others", "[[0,2]]"),
        ("moved_late.nxs", 40, range(9), "drop_views: [[9, 40]] of this input leaves out those that differ from the first, drop_views: [[0, 9]] the others", "[[0,9]]"),
        ("moved_back.nxs", 20, range(0, 20, 5), "drop_views of this input leaves out flats: keep those that had the beam of the views", "[[0,1],[5,6],[10,11],[15,16]]"),
    ):
        nxtomo(f"{folder}/{name}", lines, half, flats=n)
        with h5py.File(f"{folder}/{name}", "r+") as file:
            for flat in moved:
                file["entry/instrument/detector/data"][2 + flat] = tilt
        chain = chain_of(name) + " | minus_log"
        carry(folder, chain, said, chain.replace("frames=flats", f"frames=flats drop_views={drop}"), lambda a: abs(a - lines).max() < 2e-3)

    def one_pixel(frames):
        frames[4:, :, 20] = 0

    def one_row(frames):
        frames[4:, 2, :] = 3

    for name, dead in (("pixel.nxs", one_pixel), ("row.nxs", one_row)):
        floored = minus_log(name, dead)
        for hint in ("`bad_pixels: {lowest: 1e-06}` before minus_log fills those of dead pixels from the pixels beside them",
                     "nonpositive: error ends the run instead, and says where the first one is"):
            carry(folder, floored % "", hint, floored % "| bad_pixels lowest=1e-06 ",
                  lambda a: np.sqrt(((a - lines) ** 2).mean()) < 0.03)
        carry(folder, floored % "", "nonpositive: error ends the run instead, and says where the first one is",
              ["run", floored % "" + " nonpositive=error", "-o", "x.h5"], names="the first is at z ")
    exchanged = minus_log("exchanged.nxs", lambda frames: None) % ""
    with h5py.File(f"{folder}/exchanged.nxs", "r+") as file:
        file["entry/instrument/detector/image_key"][:4] = [1, 1, 2, 2]
    carry(folder, exchanged.replace("flat_field", "flat_field dead=nan"),
          "flats that are nowhere brighter than the darks, or no numbers, give them, as where the two were exchanged",
          chain_of("good.nxs") + " | minus_log", lambda a: abs(a - lines).max() < 2e-3)
    text = "tomostage: %d\ninput: {npy: t.npy, axes: [z, view, detector], theta_start: 0, theta_stop: 180, quantity: transmission}\nstages:\n  - minus_log: {%s}\n"
    old, new = yaml(folder, "old.yaml", text % (1, "")), yaml(folder, "new.yaml", text % (2, ""))
    carry(folder, old, "`tomostage: 2` takes the new ones; a value that is written is taken in every version",
          (new, yaml(folder, "given.yaml", text % (1, "nonpositive: floor"))), lines)
    fan = "npy mu.npy quantity=attenuation spacing=1,1,1 | radon views=96 arc=360 beam=fan-flat source_axis=200 source_detector=200 center=12 detectors=46 detector_spacing=1"
    hint = "`rebin: {}` before it takes rays from the longer side in a whole turn; of an object within that circle `circle` keeps what is right; sirt takes any rays"
    carry(folder, f"{fan} | fbp", hint, (f"{fan} | rebin | fbp", f"{fan} | sirt iterations=100"), alike(volume))
