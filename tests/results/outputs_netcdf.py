# SPDX-License-Identifier: Apache-2.0
"""Results as netCDF4, h5netcdf and xarray open them: every dimension has a scale, and its positions are those in the patient."""
import importlib

import h5py
import numpy as np

from harness import Skip, run, test, write_nifti
from outputs_support import letter_volume, phantom, result


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"there is no Python package {name}") from error


def is_scale(dataset):
    return dataset.attrs.get("CLASS") == b"DIMENSION_SCALE"


def scales_of(path):
    """Checks by h5py that every dimension of every dataset has one scale of its length, in the same group, and returns how many."""
    count = 0

    def look(name, item):
        nonlocal count
        if not isinstance(item, h5py.Dataset) or item.ndim == 0 or is_scale(item):
            return
        for n, dimension in zip(item.shape, item.dims):
            assert len(dimension) == 1, f"{name} has {len(dimension)} scales"
            scale = dimension[0]
            assert is_scale(scale) and scale.shape == (n,) and scale.name.split("/")[:-1] == item.name.split("/")[:-1], name
            users = [(item.file[user].name, int(axis)) for user, axis in scale.attrs["REFERENCE_LIST"]]
            assert any(user.split("/")[-1] == item.name.split("/")[-1] for user, _ in users), name
            count += 1
    with h5py.File(path) as file:
        file.visititems(look)
    return count


def chains(folder):
    source = phantom(folder)
    write_nifti(f"{folder}/times.nii", 3, 4, 5, 6, lambda v, z, i: v + z + i)
    letter = letter_volume(folder)[1]
    return [f"{source} | statistics scope=slice percentiles=[5,50,95] name=p | histogram bins=8 scope=slice | save name=b",
            f"{source} | threshold above=0 name=m | components name=c | statistics input=input labels=c",
            f"{source} | threshold above=0 name=m | apply_mask input=input mask=m",
            f"{source} | box radius={{sweep 0 1 2}} | histogram bins=8",
            f"{source} | rescale range=[0,1000]",
            f"{source} | crop z=[1,2] | box radius=1",
            f"nifti {folder}/times.nii | statistics",
            letter]


@test
def every_dimension_has_a_scale(folder):
    for chain in chains(folder):
        run("run", f"{chain} | hdf5 {folder}/r.h5", "--force")
        assert scales_of(f"{folder}/r.h5") >= 3, chain
        run("verify", f"{folder}/r.h5")


@test
def what_counts_the_elements_of_others_is_no_table(folder):
    chain = f"{phantom(folder)} | statistics scope=slice percentiles=[5,50,95] name=p | histogram bins=8 scope=slice"
    run("run", f"{chain} | hdf5 {folder}/r.h5")
    with h5py.File(f"{folder}/r.h5") as file:
        assert "index_3" in file["entry/process_1_statistics/tables"] and "slice" in file["entry/inputs/input"]
    assert "index_" not in run("tables", f"{folder}/r.h5").stdout


@test
def netcdf4_and_h5netcdf_name_every_dimension(folder):
    """They name those without a scale phony_dim."""
    readers = [package("netCDF4").Dataset, package("h5netcdf").File]

    def walk(group):
        for name, variable in group.variables.items():
            assert not any("phony" in dimension for dimension in variable.dimensions), (name, variable.dimensions)
            if name == "data":
                assert len(variable.dimensions) == len(variable.shape)
            [getattr(variable, "ncattrs", lambda: list(variable.attrs))()]
        return 1 + sum(walk(below) for below in group.groups.values())
    for chain in chains(folder):
        run("run", f"{chain} | hdf5 {folder}/r.h5", "--force")
        counts = []
        for reader in readers:
            with reader(f"{folder}/r.h5", "r") as file:
                counts.append(walk(file))
        assert counts[0] == counts[1] > 5, (chain, counts)


@test
def xarray_has_positions_in_the_patient(folder):
    """Whatever axes are exchanged and turned, along patient axes positions are the coordinates of LPS."""
    xarray, source = package("xarray"), phantom(folder)
    for engine in "netcdf4", "h5netcdf":
        package({"netcdf4": "netCDF4"}.get(engine, engine))
        for stage in "save name=same", "reorient to=LAS", "reorient to=PIR", "reorient to=ASR", "box radius=1":
            run("run", f"{source} | {stage} | hdf5 {folder}/r.h5", "--force")
            data, lps = result(f"{folder}/r.h5")
            with xarray.open_dataset(f"{folder}/r.h5", engine=engine, group="entry/data") as image:
                assert image["data"].dims == ("z", "y", "x") and np.array_equal(image["data"].values, data), stage
                assert image["data"].attrs["units"] in ("HU", b"HU")
                for column, axis in enumerate("xyz"):
                    assert image[axis].attrs["units"] in ("mm", b"mm")
                    at = int(np.argmax(np.abs(lps[:3, column])))  # the patient axis
                    expected = lps[at, 3] + np.arange(image[axis].size) * lps[at, column]
                    assert np.allclose(image[axis].values, expected, rtol=0, atol=1e-9), (stage, axis)
                    assert np.argmax(image[axis].attrs["vector"]) == at and max(image[axis].attrs["vector"]) == 1
    with xarray.open_dataset(f"{folder}/r.h5", engine="h5netcdf", group="entry/data") as some:
        assert "anterior" not in some.data_vars, "it belongs to the image, as a coordinate"
        z, y, x = (float(some[axis][1]) for axis in "zyx")
        assert some["data"].sel(z=z, y=y, x=x + 0.1, method="nearest") == some["data"][1, 1, 1]
        ends = " ".join(f"{axis}=[{float(some[axis][2])},{float(some[axis][4])}]" for axis in "zyx")
        expected = some["data"][2:5, 2:5, 2:5].values
    run("run", f"{source} | box radius=1 | crop unit=patient {ends} | hdf5 {folder}/c.h5")
    assert np.array_equal(result(f"{folder}/c.h5")[0], expected)


@test
def xarray_has_axes_of_sinograms_sweeps_and_times(folder):
    xarray = package("xarray")
    package("h5netcdf")
    sources, study = chains(folder), f"dicom {folder}/in"
    for chain, dims in ((sources[3], ("box_radius", "z", "y", "x")), (sources[6], ("time", "z", "y", "x")),
                        (f"{study} | radon views=12", ("z", "view", "detector"))):
        run("run", f"{chain} | hdf5 {folder}/r.h5", "--force")
        with xarray.open_dataset(f"{folder}/r.h5", engine="h5netcdf", group="entry/data") as image:
            assert image["data"].dims == dims and all(dim in image.coords for dim in dims), (image["data"].dims, dims)
            assert dims[1] != "view" or np.allclose(image["view"], np.arange(12) * 15)


@test
def a_placed_image_is_the_same_input_again(folder):
    """The axes of a result that is read again are those that its image had, whatever its positions in the file are."""
    source = phantom(folder)
    for stage in "save name=same", "reorient to=LAS", "reorient to=PIR", "crop z=[1,2]", "crop x=[3,9] y=[2,9]", "radon views=12":
        run("run", f"{source} | {stage} | hdf5 {folder}/a.h5", "--force")
        run("run", f"result {folder}/a.h5 | save name=again | hdf5 {folder}/b.h5", "--force")
        with h5py.File(f"{folder}/a.h5") as one, h5py.File(f"{folder}/b.h5") as other:
            for name in one["entry/data"]:
                a, b = one["entry/data"][name], other["entry/data"][name]
                assert np.array_equal(a[()], b[()]), (stage, name)
                for key in set(a.attrs) - {"DIMENSION_LIST", "REFERENCE_LIST"}:
                    assert np.array_equal(a.attrs[key], b.attrs[key]), (stage, name, key)
            for key in one["entry/data"].attrs:
                assert np.array_equal(one["entry/data"].attrs[key], other["entry/data"].attrs[key]), (stage, key)
