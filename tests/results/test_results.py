#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs whole chains with the built program and looks at the results with h5py, h5dump and the NeXus rules, as a user would.

usage: test_results.py PROGRAM SOURCE_FOLDER [TEST...]. The public images are found through TOMOSTAGE_DATA.
Prints one line a test and a closing line that counts them.
"""
import filecmp
import gzip
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import h5py
import numpy as np

from harness import PROGRAM, Skip, need_data, run, run_tests, test

SOURCE = os.path.abspath(sys.argv[2])
MAIN_CHAIN = "box radius=2 | histogram bins=256 | equalize | save name=equalized | radon views=180"


def make_study(folder):
    study = os.path.join(folder, "study")
    if not os.path.exists(study):
        run("phantom", "asymmetric", "-o", study)
    return study


def affine_of_quaternion(pixdim, quaternion):
    """NIfTI-1's method 2: a rotation by a unit quaternion, its first component left out."""
    b, c, d = quaternion[:3]
    a = max(0.0, 1 - b * b - c * c - d * d) ** 0.5
    rotation = np.array([[a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
                         [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
                         [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c]])
    scale = np.diag([pixdim[1], pixdim[2], pixdim[3] * (-1 if pixdim[0] < 0 else 1)])
    return np.column_stack([rotation @ scale, quaternion[3:]])


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read_nifti(path):
    """Array (z, y, x) and affine (RAS) of a NIfTI-1 file."""
    raw = gzip.open(path).read()
    order = "<" if struct.unpack("<i", raw[:4])[0] == 348 else ">"
    dim = struct.unpack(order + "8h", raw[40:56])
    code, = struct.unpack(order + "h", raw[70:72])
    offset, slope, inter = struct.unpack(order + "3f", raw[108:120])
    if struct.unpack(order + "h", raw[254:256])[0] > 0:
        affine = np.array(struct.unpack(order + "12f", raw[280:328])).reshape(3, 4)
    else:
        affine = affine_of_quaternion(struct.unpack(order + "8f", raw[76:108]),
                                      struct.unpack(order + "6f", raw[256:280]))
    kind = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 512: "u2", 256: "i1", 768: "u4"}[code]
    array = np.frombuffer(raw, order + kind, count=dim[1] * dim[2] * dim[3], offset=int(offset))
    array = array.reshape(dim[3], dim[2], dim[1]).astype("f8")
    if slope not in (0, 1) or inter != 0:
        array = array * (slope or 1) + inter
    return array, affine


def affine_of(data_group):
    """The RAS affine of (x, y, z) indices from our LPS geometry."""
    geometry = {name: np.asarray(data_group[name][()] if name in data_group else data_group.attrs[name])
                for name in ("origin_mm", "direction", "step_z_mm")}
    spacing = [float(data_group["x"][1] - data_group["x"][0]), float(data_group["y"][1] - data_group["y"][0])]
    direction = geometry["direction"].reshape(3, 3)
    columns = [direction[0] * spacing[0], direction[1] * spacing[1], geometry["step_z_mm"], geometry["origin_mm"]]
    return np.diag([-1, -1, 1]) @ np.array(columns).T


@test
def chain_on_a_phantom_gives_a_nexus_file(folder):
    study, out = make_study(folder), os.path.join(folder, "a.h5")
    run("run", f"dicom {study} | {MAIN_CHAIN} | hdf5 {out}")
    with h5py.File(out) as f:
        entry = f[f.attrs["default"]]
        assert text(entry.attrs["NX_class"]) == "NXentry"
        data = entry[entry.attrs["default"]]
        assert text(data.attrs["NX_class"]) == "NXdata" and text(data.attrs["signal"]) == "data"
        axes = [text(axis) for axis in data.attrs["axes"]]
        assert axes == ["z", "view", "detector"], axes
        for axis, length in zip(axes, data["data"].shape):
            assert data[axis].shape == (length,) and data[axis].attrs["units"]
        assert data["view"][0] == 0 and abs(data["view"][1] - 1) < 1e-12 and text(data["view"].attrs["units"]) == "degree"
        assert data["data"].fletcher32 and data["data"].dtype == np.float32
        processes = sorted((g["sequence_index"][()], n) for n, g in entry.items()
                           if text(g.attrs.get("NX_class", "")) == "NXprocess")
        assert [n.split("_", 2)[2] for _, n in processes] == ["box", "histogram", "equalize", "save", "radon"]
        assert entry["process_1_box/parameters/radius"][()] == 2
        counts = entry["process_2_histogram/tables/counts"][...]
        assert counts.sum() + entry["process_2_histogram/tables/underflow"][()] \
            + entry["process_2_histogram/tables/overflow"][()] == entry["equalized/data"].size
        assert f.attrs["complete"] == 1
        chain = text(entry["provenance/chain"][()])
        assert "radius: 2" in chain and folder not in chain


@test
def stock_tools_open_the_result(folder):
    study, out = make_study(folder), os.path.join(folder, "stock.h5")
    run("run", f"dicom {study} | {MAIN_CHAIN} | hdf5 {out}")
    subprocess.run(["h5dump", "-H", out], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["h5dump", "-d", "/entry/equalized/data", "-o", os.devnull, out], check=True,
                   stdout=subprocess.DEVNULL)
    try:
        import silx.io
        with silx.io.open(out) as f:
            assert f["/entry/data/data"].shape == f["/entry/data/data"][()].shape
    except ImportError:
        pass
    try:
        import nexusformat.nexus as nx
    except ImportError:
        return
    root = nx.nxload(out)
    assert root.entry.data.nxsignal.shape == root.entry.data.nxsignal.nxdata.shape


@test
def equal_runs_compare_equal(folder):
    study = make_study(folder)
    ways = [[], ["--threads", "1"], ["--threads", "3"], ["--memory", "120M"]]
    for i, way in enumerate(ways):
        run("run", f"dicom {study} | {MAIN_CHAIN} | hdf5 {folder}/equal{i}.h5", "--quiet", *way)
        assert filecmp.cmp(f"{folder}/equal0.h5", f"{folder}/equal{i}.h5", shallow=False), way


@test
def halves_are_the_rounded_floats(folder):
    """output: {dtype: f16} against NumPy's own rounding, and its file as an input of each command."""
    study, chain = make_study(folder), "rescale | radon views=90 | save name=sinogram | fbp"
    for name, options in (("whole", ""), ("half", "dtype=f16"), ("stored", "dtype=f16 compression=none")):
        run("run", f"dicom {study} | {chain} | hdf5 {folder}/{name}.h5 {options}", "--quiet")
        run("verify", f"{folder}/{name}.h5")
    half = f"{folder}/half.h5"
    run("run", f"result {half} image=data | box radius=0 | hdf5 {folder}/again.h5", "--quiet")
    with h5py.File(f"{folder}/whole.h5") as whole, h5py.File(half) as f, h5py.File(f"{folder}/stored.h5") as stored, \
            h5py.File(f"{folder}/again.h5") as again:
        for path in ("entry/data/data", "entry/sinogram/data"):
            expected, found = whole[path][...].astype(np.float16), f[path][...]
            assert found.dtype == np.float16 and f[path].fletcher32 and f[path].shuffle and np.isnan(f[path].fillvalue)
            assert found.tobytes() == expected.tobytes() == stored[path][...].tobytes()
            assert text(f[path].attrs["sha256_tree"]) == text(stored[path].attrs["sha256_tree"])
            error = np.abs(found.astype("f8") - whole[path][...])
            assert (error <= np.maximum(np.abs(whole[path][...]) * 2.0**-11, 2.0**-25)).all()
        assert "dtype: f16" in text(f["entry/provenance/chain"][()]) and "nearest" in text(f[path].attrs["rounding"])
        assert (again["entry/data/data"][...] == f["entry/data/data"][...].astype("f4")).all()
    assert "(f32 stored as f16) before compression" in run("check", f"dicom {study} | {chain} | hdf5 x.h5 dtype=f16").stdout
    assert re.search(r"entry/data/data.* f16", run("info", half).stdout), run("info", half).stdout
    run("preview", half, "-o", f"{folder}/half.png")
    dump = subprocess.run(["h5dump", "-d", "/entry/data/data", half], check=True, capture_output=True, text=True).stdout
    assert "16-bit little-endian floating-point" in dump, dump[:500]


@test
def halves_of_other_programs_are_read_and_large_values_refused(folder):
    values = np.arange(4 * 16 * 16, dtype=np.uint16).reshape(4, 16, 16) * 31  # every exponent; no infinity, no NaN
    floats = np.where(np.isfinite(values.view(np.float16)), values.view(np.float16), np.float16(7)).astype("f4")
    for order, packed in (("<f2", None), (">f2", "gzip"), ("<f4", None)):
        with h5py.File(f"{folder}/in.h5", "w") as f:
            f.create_dataset("v", data=floats.astype(order), compression=packed)
        source = f"hdf5 {folder}/in.h5 path=v axes=z,y,x quantity=intensity | box radius=0"
        run("run", f"{source} | hdf5 {folder}/out.h5 dtype=f16", "--quiet", "--force")
        with h5py.File(f"{folder}/out.h5") as f:
            assert (f["entry/data/data"][...] == floats).all()
    with h5py.File(f"{folder}/in.h5", "r+") as f:
        f["angles"] = np.arange(0, 180, 11.25).astype("f2")
        f["angles"].attrs["units"] = "degree"
    run("run", f"hdf5 {folder}/in.h5 path=v axes=z,view,detector angles=angles | save name=s | hdf5 {folder}/out.h5", "--force")
    with h5py.File(f"{folder}/out.h5") as f:
        assert (f["entry/s/view"][...] == np.arange(0, 180, 11.25)).all() and (f["entry/s/data"][...] == floats).all()
    with h5py.File(f"{folder}/in.h5", "r+") as f:
        f["v"][2, 3, 4] = np.inf
        f["v"][3, 3, 4] = 65519
    run("run", f"{source} | hdf5 {folder}/out.h5 dtype=f16", "--quiet", "--force")
    before = open(f"{folder}/out.h5", "rb").read()
    with h5py.File(f"{folder}/in.h5", "r+") as f:
        f["v"][1, 2, 3] = -123456.5
    refused = run("run", f"{source} | hdf5 {folder}/out.h5 dtype=f16", "--quiet", "--force", expect=1).stderr
    assert "/entry/data/data has values of a magnitude up to 123456.5" in refused and "rescale" in refused, refused
    assert open(f"{folder}/out.h5", "rb").read() == before and len(os.listdir(folder)) == 2


@test
def nothing_personal_is_in_the_file(folder):
    study, out = make_study(folder), os.path.join(folder, "private.h5")
    run("run", f"dicom {study} | {MAIN_CHAIN} | hdf5 {out}")
    raw = open(out, "rb").read()
    words = [b"PHANTOM^", folder.encode(), b"2.25."]
    if len(os.uname().nodename) > 4:  # shorter names occur by chance
        words.append(os.uname().nodename.encode())
    for word in words:
        assert word not in raw, word
        assert word.decode().encode("utf-16-le") not in raw, word


@test
def verify_finds_a_flipped_bit(folder):
    study, out = make_study(folder), os.path.join(folder, "flip.h5")
    run("run", f"dicom {study} | save name=volume | hdf5 {out}")
    run("verify", out)
    raw = bytearray(open(out, "rb").read())
    raw[len(raw) // 2] ^= 4
    open(out, "wb").write(raw)
    assert subprocess.run([PROGRAM, "verify", out], capture_output=True).returncode != 0


@test
def the_script_of_the_documentation_agrees(folder):
    """docs/provenance.md: every digest of a result, recomputed without this program."""
    try:
        import pydicom  # noqa: F401
    except ImportError:
        raise Skip("pydicom is not installed")
    study, out, script = make_study(folder), os.path.join(folder, "script.h5"), os.path.join(folder, "check.py")
    run("run", f"dicom {study} | {MAIN_CHAIN} | hdf5 {out}")
    with open(f"{SOURCE}/docs/provenance.md") as page, open(script, "w") as file:
        file.write(page.read().split("```python\n")[1].split("```")[0])
    slices = sorted(os.path.join(study, name) for name in os.listdir(study))
    check = [sys.executable, script, out, *slices]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0 and f"{len(slices)} slices are right" in done.stdout, done.stderr
    with h5py.File(out, "r+") as f:
        f["entry/data/x" if "x" in f["entry/data"] else "entry/data/z"].attrs["units"] = np.bytes_("cm")
    assert subprocess.run(check, capture_output=True).returncode != 0


@test
def an_existing_file_is_not_overwritten(folder):
    study, out = make_study(folder), os.path.join(folder, "there.h5")
    open(out, "w").write("mine")
    done = run("run", f"dicom {study} | save name=volume | hdf5 {out}", expect=1)
    assert "--force" in done.stderr and open(out).read() == "mine"
    run("run", f"dicom {study} | save name=volume | hdf5 {out}", "--force")
    run("verify", out)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


@test
def signals_leave_nothing(folder):
    study = make_study(folder)
    empty = os.path.join(folder, "signals")
    os.mkdir(empty)
    for number in (signal.SIGINT, signal.SIGTERM):
        for delay in (0.02, 0.1, 0.3):
            process = subprocess.Popen([PROGRAM, "run", f"dicom {study} | radon views=2000 | hdf5 {empty}/x.h5"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(number)
            # Processor time is that of the program alone, whatever else the machine does.
            before = processor_seconds(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            code = process.returncode = os.waitstatus_to_exitcode(status)
            assert usage.ru_utime + usage.ru_stime - before < 2.5, "worked for longer than 2.5 s before it ended"
            assert code in (128 + number, -number), code
            assert os.listdir(empty) == [], os.listdir(empty)


@test
def a_signal_in_a_long_slab_leaves_no_folder(folder):
    """The program ends in the midst of a slab, where folders of pictures have temporary names. SIGUSR1 pauses only a run with a checkpoint."""
    study = make_study(folder)
    empty = os.path.join(folder, "signals")
    os.mkdir(empty)
    for number in (signal.SIGTERM, signal.SIGUSR1):
        process = subprocess.Popen([PROGRAM, "run", f"dicom {study} | tv weight=1 iterations=100000 | hdf5 {empty}/x.h5 | png {empty}/p | tiff {empty}/t"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(os.listdir(empty)) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        assert f"stopped by {number.name}; nothing was written" in process.communicate()[1]
        assert process.returncode == 128 + number and os.listdir(empty) == [], (process.returncode, os.listdir(empty))


@test
def an_exit_of_a_library_leaves_no_folder(folder):
    """A library calls exit() in the midst of a run: here a function of the tests does so as the folder is brought to the disk."""
    study, library = make_study(folder), os.path.join(folder, "exit.so")
    empty = os.path.join(folder, "exit")
    os.mkdir(empty)
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=b"void exit(int); int fsync(int fd) { (void)fd; exit(7); }", check=True)
    environment = dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    done = subprocess.run([PROGRAM, "run", f"dicom {study} | box radius=1 | png {empty}/p"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "[library-exit]" in done.stderr, done
    assert os.listdir(empty) == [], os.listdir(empty)


@test
def volumes_equal_the_reference_nifti(folder):
    base = os.path.join(need_data(), "ct/ibsi_sts001")
    for modality in ("CT", "MR_T1", "PET"):
        out = os.path.join(folder, modality + ".h5")
        run("run", f'dicom {base}/dicom/{modality}/image | save name=volume | hdf5 {out}')
        expected, affine = read_nifti(f"{base}/ref_nifti/{modality}_image.nii.gz")
        with h5py.File(out) as f:
            group = f["entry/volume"]
            values = group["data"][...].astype("f8")
            assert values.shape == expected.shape, (values.shape, expected.shape)
            scale = np.abs(expected).max()
            # The reference is 32-bit float: values agree to its rounding.
            assert np.abs(values - expected).max() <= 1e-6 * scale, np.abs(values - expected).max()
            assert np.abs(affine_of(group) - affine).max() < 2e-3, affine_of(group) - affine


@test
def the_main_chain_runs_on_real_studies(folder):
    base = os.path.join(need_data(), "ct")
    inputs = [f"{base}/ibsi_sts001/dicom/{m}/image" for m in ("CT", "MR_T1", "PET")]
    chain = "box radius=2 | histogram bins=256 | equalize | radon views=180"
    for i, path in enumerate(inputs):
        run("run", f"dicom {path} | {chain} | hdf5 {folder}/real{i}.h5")
        run("verify", f"{folder}/real{i}.h5")
    mixed = f"{base}/philips_head_5mm_mixed/dicom"
    listed = run("info", mixed, "--json").stdout
    series = [s for s in json.loads(listed)["series"] if not s.get("refused") and s["shape"][0] > 1]  # one is a localizer
    assert len(series) == 1 and series[0]["shape"] == [28, 512, 512], series
    run("run", f"dicom {mixed} series={series[0]['number']} | {chain} | hdf5 {folder}/philips.h5")


@test
def what_is_not_one_volume_is_refused_by_name(folder):
    base = os.path.join(need_data(), "ct")
    expected = {
        "geometry_failures/gantrytilting/001 tilt=refuse": r"tilt|sheared",
        "geometry_failures/sliceincrement/001": r"slice missing|missing",
        "geometry_failures/notavolume/001": r"same position|at one position|position",
        "geometry_failures/sliceorientation/001": r"orientation|series",
        "geometry_failures/slicecount/001": r"2 slices|two slices",
        "ge_head_tilt_varspacing/dicom": r"spacing|tilt|sheared",
    }
    seen = set()
    for path, pattern in expected.items():
        done = run("run", f"dicom {base}/{path} | save name=v | hdf5 {folder}/no.h5", expect=3)
        assert re.search(pattern, done.stderr), (path, done.stderr)
        assert not os.path.exists(f"{folder}/no.h5")
        seen.add(done.stderr.splitlines()[0])
    assert len(seen) == len(expected), "two folders share a message"


@test
def the_recorded_chain_gives_the_same_file_again(folder):
    study = make_study(folder)
    shutil.copytree(study, os.path.join(folder, "atlas"))
    chains = ["box radius=3 dimensions=3d border=wrap | clahe | radon angles=0,10.5,90",
              "box radius=1 border=constant constant=-1000 | window center=40 width=400 | clahe kernel_x=40",
              "window low=-100 high=300 dtype=u8 | clahe method=opencv tiles_x=4 | invert | radon views=7 arc=360",
              "rescale method=z-score | histogram bins=16 range=-3,3 | convolve kernel=sobel-x border=mirror",
              "rescale method=percentiles low_percentile=1 | equalize bins=100 | save name=a | statistics percentiles=5,50",
              "rescale range=-1000,1000 clip=false dtype=f32 | invert limits=data scope=slice | statistics scope=slice",
              "histogram limits=dtype scope=slice | equalize method=opencv name=b | radon input=b views=3 detectors=99"]
    for i, chain in enumerate(chains):
        first, again = f"{folder}/first{i}.h5", f"{folder}/again{i}.h5"
        run("run", f"dicom {study} | {chain} | hdf5 {first}", "--quiet")
        with h5py.File(first) as f:
            recorded = text(f["entry/provenance/chain"][()])
        open(f"{folder}/again{i}.yaml", "w").write(recorded)
        run("run", f"{folder}/again{i}.yaml", "-i", study, "-o", again, "--quiet")
        assert filecmp.cmp(first, again, shallow=False), chain
    matched = f"{folder}/matched.yaml"
    open(matched, "w").write("tomostage: 2\ninput: {dicom: study}\ninputs: {atlas: {dicom: atlas}}\n"
                             "stages: [{box: {radius: 1}}, {histogram: {reference: atlas}}, {equalize: {reference: atlas}}]\n")
    run("run", matched, "-o", f"{folder}/m1.h5")
    with h5py.File(f"{folder}/m1.h5") as f:
        open(f"{folder}/m2.yaml", "w").write(text(f["entry/provenance/chain"][()]))
    run("run", f"{folder}/m2.yaml", "-i", study, "-o", f"{folder}/m2.h5")
    assert filecmp.cmp(f"{folder}/m1.h5", f"{folder}/m2.h5", shallow=False)


@test
def bad_chains_are_refused_with_the_message_they_state(folder):
    chains = os.path.join(SOURCE, "tests/chains")
    names = sorted(n for n in os.listdir(chains) if n.endswith(".yaml"))
    assert len(names) >= 40, f"only {len(names)} bad chains"
    study = make_study(folder)
    for name in names:
        # The chain lies beside a study, so that errors of planning are reached.
        path = os.path.join(folder, name)
        raw = open(os.path.join(chains, name), "rb").read()
        open(path, "wb").write(raw)
        expected = re.findall(r"^# expect(?:-plan)?: (.*)$", raw.decode("utf-8", "replace"), re.MULTILINE)
        assert expected, f"{name} states no expectation"
        done = run("run", path, "-o", os.path.join(folder, "bad.h5"), expect=2)
        shown = [line.split(name + ":", 1)[1] for line in done.stderr.splitlines() if name + ":" in line]
        messages = [re.fullmatch(r"(.*) \[[a-z0-9-]+\]", line) for line in shown]
        assert all(messages), f"{name}: a message of {shown} shows no code"
        assert [m[1] for m in messages] == expected, f"{name}: {shown} instead of {expected}"
        assert not os.path.exists(os.path.join(folder, "bad.h5"))
    assert os.path.isdir(study)


sys.exit(run_tests(sys.argv[3:]))
