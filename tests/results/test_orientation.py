#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A letter F, which no mirroring or turning maps onto itself, stands upright and reads from left to right wherever a volume
is drawn: a volume as it came, and a reconstruction of its projections, in the pictures of this program and in silx, whose own
code reads and draws them. nibabel finds the voxels of a CT where the HDF5 file says that they lie in the patient.

Usage: test_orientation.py PROGRAM
Needs h5py, numpy and matplotlib; what needs silx (Debian: python3-silx) or nibabel is left out without them."""
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import image as pictures
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

N, STEM, LONG, SHORT = 48, 14, 34, 28


def letter():
    """Row 0 is the top of the letter's picture: a stem at the left, a long bar at the top, a shorter one in the middle."""
    f = np.zeros((N, N), "f4")
    f[8:40, STEM:STEM + 5] = f[8:13, STEM:LONG] = f[21:26, STEM:SHORT] = 1
    return f


def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")


def expect_upright(drawn, what):
    """The picture is most like the letter as it is, among its eight mirrored and turned forms."""
    drawn = drawn.astype(float)
    forms = {(mirrored, turns): np.rot90(letter().T if mirrored else letter(), turns)
             for mirrored in (False, True) for turns in range(4)}
    likeness = {form: np.corrcoef(drawn.ravel(), picture.ravel())[0, 1] for form, picture in forms.items()}
    best = max(likeness, key=likeness.get)
    if best != (False, 0) or likeness[best] < 0.8:
        sys.exit(f"{what} is not upright: like form {best} of the letter, {likeness}")


def smaller(picture):
    """N x N means of a picture that was cut to the outline of what it shows."""
    rows, columns = (np.linspace(0, n, N + 1).astype(int) for n in picture.shape)
    return np.array([[picture[a:max(b, a + 1), c:max(d, c + 1)].mean() for c, d in zip(columns, columns[1:])]
                     for a, b in zip(rows, rows[1:])])


def drawn_by_silx(path):
    """The slice as silx's plot draws it with the axes that its reader of NXdata finds; row 0 is the top of the canvas."""
    from silx.gui.colors import Colormap
    from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib
    from silx.io import nxdata
    from silx.math.calibration import ArrayCalibration
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    class Plot:
        """What the backend asks of the widget that it usually belongs to."""
        def __getattr__(self, name):
            return lambda *_, **__: None

    with h5py.File(path) as file:
        data = nxdata.get_default(file)
        assert data.is_valid and data.signal.ndim == 3, "silx reads another thing than a volume"
        signal = data.signal[data.signal.shape[0] // 2]
        y, x = (ArrayCalibration(axis[:]) for axis in data.axes[-2:])
    plot = Plot()
    backend = BackendMatplotlib(plot)
    FigureCanvasAgg(backend.fig)
    backend.addImage(signal, (x(0), y(0)), (x.get_slope(), y.get_slope()), Colormap("gray", vmin=0, vmax=float(signal.max())), 1)
    ends = [(axis(0), axis(0) + axis.get_slope() * N) for axis in (x, y)]
    backend.ax.set_xlim(min(ends[0]), max(ends[0]))
    backend.ax.set_ylim(min(ends[1]), max(ends[1]))  # silx draws y upwards
    backend.ax.set_axis_off()
    backend.ax.set_position((0, 0, 1, 1))
    backend.fig.canvas.draw()
    return smaller(np.asarray(backend.fig.canvas.buffer_rgba())[:, :, 0].astype(float))


def check_front(folder):
    """An axial slice of a patient: the positions of the file rise to the back, and the front is at the top in silx."""
    import nibabel
    nifti, path = os.path.join(folder, "axial.nii"), os.path.join(folder, "axial.h5")
    values = np.stack([letter()] * 3).transpose(2, 1, 0)
    nibabel.save(nibabel.Nifti1Image(values, np.diag([-0.5, -0.5, 2, 1])), nifti)  # columns to L, rows to P
    run("run", f"nifti {nifti} | save name=all | hdf5 {path}", "--device", "cpu", "--quiet")
    with h5py.File(path) as file:
        group = file["/entry/data"]
        assert np.all(np.diff(group["y"][:]) > 0) and np.array_equal(group["anterior"][:], -group["y"][:])
        assert [name.decode() for name in group.attrs["axes"]] == ["z", "anterior", "x"]
    expect_upright(drawn_by_silx(path), "an axial slice of a patient in silx")
    coronal = os.path.join(folder, "coronal.h5")
    run("run", f"result {path} | reorient to=LIP | hdf5 {coronal}", "--device", "cpu", "--quiet")
    with h5py.File(coronal) as file:
        assert "anterior" not in file["/entry/data"], "rows of coronal planes run to the feet"


def check_axes(path):
    with h5py.File(path) as file:
        y, x = file["/entry/data/y"], file["/entry/data/x"]
        assert np.all(np.diff(y[:]) < 0) and np.all(np.diff(x[:]) > 0), f"{path}: y does not fall, or x does not rise"
        assert np.allclose(np.diff(y[:]), y.attrs["spacing"]) and y.attrs["spacing"] == -0.5


def check_patient(folder):
    """A CT as DICOM: the same voxel lies at the same place in the HDF5 file and in NIfTI."""
    try:
        import nibabel
    except ImportError:
        return "no nibabel"
    study, path, nifti = (os.path.join(folder, name) for name in ("ct", "ct.h5", "ct.nii.gz"))
    run("phantom", "head", "-o", study, "--size", "64", "--slices", "4", "--quiet")
    run("run", f"dicom {study} | save name=all | hdf5 {path} | nifti {nifti}", "--device", "cpu", "--quiet")
    image = nibabel.load(nifti)
    values = np.asarray(image.dataobj)
    with h5py.File(path) as file:
        group = file["/entry/data"]
        data, direction = group["data"][:], np.reshape(group.attrs["direction"], (3, 3))
        for z, row, column in ((0, 0, 0), (1, 20, 40), (2, 14, 30), (2, 31, 12), (3, 63, 5)):
            lps = (group.attrs["origin_mm"] + column * abs(group["x"].attrs["spacing"]) * direction[0] +
                   row * abs(group["y"].attrs["spacing"]) * direction[1] + z * group.attrs["step_z_mm"])
            assert np.allclose(lps, [group["x"][column], group["y"][row], group["z"][z]]), "positions are those of LPS"
            index = np.rint(np.linalg.inv(image.affine) @ [-lps[0], -lps[1], lps[2], 1])[:3].astype(int)
            assert values[tuple(index)] == data[z, row, column], f"voxel {z}, {row}, {column} lies elsewhere in NIfTI"
    return "nibabel"


def main():
    done = []
    with tempfile.TemporaryDirectory() as folder:
        scan, volume, slices = (os.path.join(folder, name) for name in ("f.h5", "volume.h5", "fbp.h5"))
        with h5py.File(scan, "w") as file:
            file["f"] = np.stack([letter()] * 3)
        source = f"hdf5 {scan} path=/f axes=z,y,x spacing=0.5,0.5,0.5"
        run("run", f"{source} quantity=intensity | save name=all | hdf5 {volume}", "--device", "cpu", "--quiet")
        run("run", f"{source} quantity=attenuation | radon views=120 detectors={N} | fbp | hdf5 {slices}", "--device", "cpu",
            "--quiet")
        for path in (volume, slices):
            check_axes(path)
            with h5py.File(path) as file:
                expect_upright(file["/entry/data/data"][1], f"{path}, in the order of its rows,")
            run("preview", path, "-o", path + ".png", "--dataset", "/entry/data/data", "--plain")
            picture = pictures.imread(path + ".png")
            expect_upright(smaller(picture if picture.ndim == 2 else picture[:, :, 0]), f"the preview of {path}")
            try:
                expect_upright(drawn_by_silx(path), f"{path} in silx")
                done = ["silx"]
            except ImportError as missing:
                done = [f"no silx ({missing})"]
        try:
            check_front(folder)
        except ImportError as missing:
            done.append(f"no front ({missing})")
        # The result as an input has rising indices again, and its output is the same image.
        again = os.path.join(folder, "again.h5")
        run("run", f"result {slices} | save name=all | hdf5 {again}", "--device", "cpu", "--quiet")
        check_axes(again)
        with h5py.File(slices) as first, h5py.File(again) as second:
            for name in ("data", "x", "y", "z"):
                assert np.array_equal(first[f"/entry/data/{name}"][:], second[f"/entry/data/{name}"][:]), name
        done.append(check_patient(folder))
    print("upright in the file, in preview and where drawn: " + ", ".join(done))


main()
