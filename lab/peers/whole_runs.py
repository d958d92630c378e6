# SPDX-License-Identifier: Apache-2.0
"""Whole runs beside other tools: jobs A and B of `tomostage bench runs`, as users of Python packages write them.

A peer is a process of its own, so that its imports count as tomostage's start does. It reads the same files and writes
the same image to HDF5, with gzip 1 where tomostage deflates, on all cores. Peers whose packages are absent are named in
one line. usage: whole_runs.py TOMOSTAGE [SLICES [ROWS]]   (of job A, 512 x 512, default 128, and of job B, default 16)"""
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

GZIP = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
CENTER = 1026.5  # the rotation axis of `phantom scan --size 2048`


def read_slices(folder):
    """Slices in rising z, rescaled."""
    import numpy
    import pydicom

    def read(path):
        image = pydicom.dcmread(path)
        values = image.pixel_array * float(image.RescaleSlope) + float(image.RescaleIntercept)
        return float(image.ImagePositionPatient[2]), values.astype("f4")

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return numpy.stack([values for _, values in sorted(threads.map(read, glob.glob(folder + "/*")), key=lambda r: r[0])])


def write(path, values):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=values, chunks=(1,) + values.shape[1:], **GZIP)


def smooth_and_equalize(folder, out):
    import scipy.ndimage
    from skimage.exposure import equalize_hist

    smooth = scipy.ndimage.uniform_filter(read_slices(folder + "/A"), (1, 5, 5), mode="reflect")
    write(out, equalize_hist(smooth, nbins=65536).astype("f4"))


def smooth_and_equalize_on_gpu(folder, out):
    import cupy
    from cucim.skimage.exposure import equalize_hist
    from cupyx.scipy.ndimage import uniform_filter

    smooth = uniform_filter(cupy.asarray(read_slices(folder + "/A")), (1, 5, 5), mode="reflect")
    write(out, cupy.asnumpy(equalize_hist(smooth, nbins=65536).astype("f4")))


def reconstruct_by_httomolibgpu(folder, out):
    """The functions that HTTomo runs, called directly, 32 rows at a time."""
    import cupy
    import h5py
    import numpy
    from httomolibgpu.prep.normalize import dark_flat_field_correction, minus_log
    from httomolibgpu.recon.algorithm import FBP3d_tomobar

    with h5py.File(folder + "/B.nxs") as file:
        raw = file["entry/data/data"][()]
        key = file["entry/data/image_key"][()]
        angles = numpy.deg2rad(file["entry/data/rotation_angle"][()][key == 0]).astype("f4")
    flats, darks, views = cupy.asarray(raw[key == 1]), cupy.asarray(raw[key == 2]), raw[key == 0]
    _, n_rows, n = views.shape
    with h5py.File(out, "w") as file:
        volume = file.create_dataset("data", (n_rows, n, n), "f4", chunks=(1, n, n), **GZIP)
        for first in range(0, n_rows, 32):
            rows = slice(first, min(first + 32, n_rows))
            part = cupy.asarray(numpy.ascontiguousarray(views[:, rows]))
            part = minus_log(dark_flat_field_correction(part, flats[:, rows], darks[:, rows]))
            part = cupy.asnumpy(FBP3d_tomobar(part, angles, CENTER, recon_mask_radius=None))
            volume[rows] = part if part.shape[0] == rows.stop - rows.start else part.swapaxes(0, 1)


def reconstruct_by_nabu(folder, out):
    """Nabu wants a name that ends in .nx, and writes where its file of settings says."""
    os.symlink(folder + "/B.nxs", folder + "/B.nx")
    with open(folder + "/nabu.conf", "w", encoding="utf-8") as file:
        file.write(
            f"""[dataset]
location = {folder}/B.nx
hdf5_entry = entry
[preproc]
flatfield = 1
take_logarithm = 1
normalize_srcurrent = 0
[reconstruction]
method = FBP
rotation_axis_position = {CENTER}
fbp_filter_type = ramlak
padding_type = zeros
enable_halftomo = 0
[output]
location = {os.path.dirname(out)}/nabu
file_format = hdf5
"""
        )
    subprocess.run(["nabu", folder + "/nabu.conf"], check=True)


PEERS = {
    "A": {
        "pydicom, SciPy, scikit-image, h5py": (smooth_and_equalize, "pydicom scipy skimage h5py"),
        "pydicom, CuPy, cuCIM, h5py": (smooth_and_equalize_on_gpu, "pydicom cupy cucim h5py"),
    },
    "B": {
        "h5py, httomolibgpu": (reconstruct_by_httomolibgpu, "h5py cupy httomolibgpu"),
        "Nabu": (reconstruct_by_nabu, "nabu"),
    },
}
CHAINS = {
    "A": "dicom A | box radius=2 | equalize | hdf5 ours.h5",
    "B": """tomostage: 2
input: {nexus: B.nxs}
inputs:
  flats: {nexus: B.nxs, frames: flats}
  darks: {nexus: B.nxs, frames: darks}
stages:
  - flat_field: {flats: flats, darks: darks}
  - minus_log: {nonpositive: floor}
  - center: {center: %s}
  - fbp: {filter: ramp}
output: {hdf5: ours.h5}
"""
    % CENTER,
}


def missing(packages):
    return [name for name in packages.split() if importlib.util.find_spec(name) is None]


def seconds_of(command, folder):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(" ".join(command) + "\n" + done.stdout)
    return time.monotonic() - begin


def difference(folder):
    """The mean difference of the two files, as a share of the largest value. Ours keeps smoothed slices as integers."""
    import h5py
    import numpy

    with h5py.File(folder + "/ours.h5") as ours, h5py.File(folder + "/theirs.h5") as theirs:
        a, b = ours["entry/data/data"][()], theirs["data"][()]
    return float(numpy.mean(numpy.abs(a - b)) / numpy.max(numpy.abs(b)))


def main(program, slices=128, rows=16):
    absent = sorted({name for job in PEERS.values() for _, packages in job.values() for name in missing(packages)})
    print(f"whole runs on {os.cpu_count()} cores; absent: {', '.join(absent) or 'nothing'}")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/B.yaml", "w", encoding="utf-8") as file:
            file.write(CHAINS["B"])
        for job, peers in PEERS.items():
            present = {name: peer for name, peer in peers.items() if not missing(peer[1])}
            if not present:
                continue
            scan = ["scan", "-o", "B.nxs", "--size", "2048", "--views", "1500", "--slices", str(rows)]
            head = ["head", "-o", "A", "--size", "512", "--slices", str(slices), "--noise", "20"]
            seconds_of([program, "phantom"] + (scan if job == "B" else head), folder)
            ours = [program, "run", "B.yaml" if job == "B" else CHAINS["A"], "--force", "--quiet"]
            for name in present:
                theirs = [sys.executable, os.path.abspath(__file__), "--peer", job, name, folder]
                times = [(seconds_of(ours, folder), seconds_of(theirs, folder)) for _ in range(3)]
                a, b = (sorted(side)[1] for side in zip(*times))
                agrees = f", differs by {difference(folder):.1e}" if os.path.exists(folder + "/theirs.h5") else ""
                print(f"job {job}: tomostage {a:.2f} s, {name} {b:.2f} s, ratio {b / a:.1f}{agrees}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        PEERS[sys.argv[2]][sys.argv[3]][0](sys.argv[4], sys.argv[4] + "/theirs.h5")
    elif len(sys.argv) < 2:
        raise SystemExit(__doc__)
    else:
        main(os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:]))
