#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results follow NeXus: volumes of tomography hold what NXtomoproc requires, exported projections what NXtomo requires, and every
table plots by itself. The validators punx and pynxtools find nothing but what docs/results.md lists. A crate with the provenance
is complete in itself, equal each time, and names no path, user or host.

Usage: test_nexus.py PROGRAM
Needs h5py and numpy. punx and pynx are looked for on the PATH and in the folder TOMOSTAGE_NEXUS_BIN; rules of crates and PROV that
need a package (prov, silx) are left out without it, with a line that says so."""
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(sys.argv[1])
NXTOMOPROC = {"title", "definition", "instrument/source/type", "instrument/source/name", "instrument/source/probe", "sample/name",
              "reconstruction/program", "reconstruction/version", "reconstruction/parameters/raw_file", "data/data", "data/x",
              "data/y", "data/z"}
NXTOMO = {"definition", "instrument/detector/data", "instrument/detector/image_key", "sample/name", "sample/rotation_angle",
          "data/data", "data/rotation_angle", "data/image_key"}
# These messages remain; docs/results.md says why, under NeXus.
KNOWN = {"punx": [r"NXDL field NXtomo:(start|end)_time not found"],
         "pynx": [r"required field /entry/reconstruction/date hasn't", r"Inconsistent dimensions for NXDL symbol 'n[XZ]'",
                  r"NOT valid according to", r"/entry/instrument/detector/data should be one of .*NX_INT",
                  r"Could not find any valid entry in file .*(sinogram)"]}


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}"


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def make_files(folder):
    """Files by name; the definition that each names, or None."""
    path = lambda name: os.path.join(folder, name)
    run("phantom", "asymmetric", "--size", "48", "--slices", "6", "-o", path("study"), "--quiet")
    run("phantom", "scan", "--size", "48", "--slices", "3", "--views", "40", "-o", path("scan.nxs"), "--quiet")
    study, scan = f"dicom {path('study')} | ", f"nexus {path('scan.nxs')} | "
    chains = {
        "ct": (study + "box radius=1 | histogram bins=64 | save name=smooth | statistics scope=slice percentiles=[5,95]", "NXtomoproc"),
        "compare": (study + "histogram bins=16 scope=slice | statistics | box radius=1 | compare reference=input data_range=2000",
                    "NXtomoproc"),
        "fbp": (study + "to_attenuation water=0.02 | radon views=40 | save name=sinogram | fbp | to_hu water=0.02", "NXtomoproc"),
        "sirt": (study + "to_attenuation water=0.02 | radon views=40 | sirt iterations=3", "NXtomoproc"),
        "scan": (scan.replace(" | ", " quantity=line_integral | ") + "center | fbp", "NXtomoproc"),
        "sinogram": (study + "to_attenuation water=0.02 | radon views=40", None)}
    files = {path("scan.nxs"): "NXtomo"}
    for name, (chain, definition) in chains.items():
        run("run", chain, "-o", path(name + ".h5"), "--device", "cpu", "--quiet")
        files[path(name + ".h5")] = definition
    run("export", path("sinogram.h5"), "-o", path("exported.nxs"))
    files[path("exported.nxs")] = "NXtomo"
    return files


# ---- what the definitions require ------------------------------------------------------------------

def check_required(path, definition):
    with h5py.File(path) as file:
        entry = file["entry"]
        named = text(entry["definition"][()]) if "definition" in entry else None
        assert named == definition, f"{path}: {named}, expected {definition}"
        for name in {"NXtomoproc": NXTOMOPROC, "NXtomo": NXTOMO}.get(definition, ()):
            assert name in entry, f"{path}: {name} is missing"
        if definition == "NXtomoproc":
            data = entry["data/data"]
            assert {"transform", "scaling", "offset"} <= set(data.attrs) and text(data.attrs["interpretation"]) == "image"
            assert entry["instrument/source/probe"][()] == b"x-ray"
            assert [entry["data"][axis].size for axis in "zyx"] == list(data.shape)
        elif definition == "NXtomo":
            frames = entry["instrument/detector/data"].shape
            assert entry["instrument/detector/image_key"].shape == entry["sample/rotation_angle"].shape == frames[:1]
            if path.endswith("exported.nxs"):
                assert text(entry["instrument/detector/x_rotation_axis_pixel_position"].attrs["units"]) == "pixel"


HDF5_NAMES = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}  # of dimension scales


def check_names(path):
    def look(name, item):
        for part in [name.split("/")[-1], *item.attrs]:
            known = part == "NX_class" or part in HDF5_NAMES
            assert known or re.fullmatch(r"[a-z_][a-z0-9_]*", part), f"{path}: the name {part} in {name}"
        assert isinstance(item, h5py.Dataset) or "NX_class" in item.attrs, f"{path}: {name} has no class"
    with h5py.File(path) as file:
        file.visititems(look)


def check_tables(path):
    """Returns how many groups of tables there are."""
    found = []

    def look(name, item):
        if not name.endswith("/tables"):
            return
        found.append(name)
        signal = item[text(item.attrs["signal"])]
        axes = [text(axis) for axis in item.attrs.get("axes", [])]
        assert text(item.attrs["NX_class"]) == "NXdata" and len(axes) == signal.ndim, f"{path}: {name}"
        for d, axis in enumerate(axes):
            assert item[axis].shape == (signal.shape[d],) and item.attrs[axis + "_indices"] == d, f"{path}: {name}/{axis}"
    with h5py.File(path) as file:
        file.visititems(look)
        if "entry/process_2_histogram" in file:
            tables = file["entry/process_2_histogram/tables"]
            edges = tables["edges"][:]
            assert np.allclose(tables["bin"][:], (edges[1:] + edges[:-1]) / 2) and tables["bin"].attrs["units"] == b"HU"
        if "entry/process_3_sirt" in file:
            assert text(file["entry/process_3_sirt/tables"].attrs["signal"]) == "residual"
    return len(found)


def check_silx(files):
    try:
        from silx.io import nxdata
    except ImportError as missing:
        return f"not seen through silx: {missing}"
    for path in files:
        with h5py.File(path) as file:
            assert nxdata.get_default(file) is not None and nxdata.get_default(file).is_valid, f"{path}: silx finds no default plot"
            groups = [item for item in file["entry"].values() if isinstance(item, h5py.Group) and "tables" in item]
            for group in groups:
                plot = nxdata.get_default(group["tables"])
                assert plot is not None and plot.is_valid, f"{path}: silx does not plot {group.name}/tables"
    return "silx plots every file and table"


# ---- the validators -------------------------------------------------------------------------------

def find(program):
    folder = os.environ.get("TOMOSTAGE_NEXUS_BIN")
    return shutil.which(program, path=folder) if folder else shutil.which(program)


def lengthen(source, target):
    """A copy whose attributes are texts of variable length: pynx takes the name of a class of fixed length for bytes, and fails."""
    def convert(_, item):
        for name, value in list(item.attrs.items()):
            if getattr(value, "dtype", np.dtype("f4")).kind == "S" or isinstance(value, bytes):
                item.attrs[name] = [text(one) for one in value] if np.ndim(value) else text(value)
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        convert(None, file)
        file.visititems(convert)


def complaints(program, path):
    """The lines of a validator that are no praise."""
    if program == "punx":
        command = [find("punx"), "validate", path, "--report", "NOTE,WARN,ERROR"]
        wanted = re.compile(r"^/.*\s(NOTE|WARN|ERROR)\s")
    else:
        copy = os.path.join(os.path.dirname(path), "copy_of_" + os.path.basename(path))
        lengthen(path, copy)
        command = [find("pynx"), "validate", "--ignore-undocumented", copy]
        wanted = re.compile("WARNING|ERROR|Traceback|Error:")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    output = done.stdout + done.stderr
    assert "summary" in output or program == "pynx", f"{program} {path}: {output[-400:]}"
    return [line for line in output.splitlines() if wanted.search(line)]


def check_validators(files):
    for program, known in KNOWN.items():
        if not find(program):
            print(f"skipped: {program} is not installed (pip install {'pynxtools' if program == 'pynx' else 'punx'})")
            continue
        n = 0
        for path in files:
            for line in complaints(program, path):
                assert any(re.search(pattern, line) for pattern in known), f"{program}: {path}: {line}"
                n += 1
        print(f"ok: {program} on {len(files)} files: {n} lines, all of which are known")


# ---- the crate --------------------------------------------------------------------------------------

def references(item):
    if isinstance(item, dict) and set(item) == {"@id"}:
        yield item["@id"]
    elif isinstance(item, dict):
        for value in item.values():
            yield from references(value)
    elif isinstance(item, list):
        for value in item:
            yield from references(value)


def check_crate(folder):
    crates = [os.path.join(folder, name) for name in ("crate", "again")]
    for crate in crates:
        run("export", os.path.join(folder, "fbp.h5"), "--provenance", crate, "--date", "2026-01-02")
    for date in ("2026-13-01", "2026-02-29", "2026-00-10", "2026-04-31", "yesterday"):
        done = subprocess.run([PROGRAM, "export", os.path.join(folder, "fbp.h5"), "--provenance", os.path.join(folder, "no"),
                               "--date", date], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "a date such as" in done.stderr, date
    again = [PROGRAM, "export", os.path.join(folder, "fbp.h5"), "--provenance", crates[1], "--date", "2026-01-02"]
    assert subprocess.run(again, capture_output=True, check=False).returncode == 1, "replaces a crate without --force"
    run(*again[1:], "--force")
    with open(os.path.join(crates[1], "notes.txt"), "w", encoding="utf-8") as notes:
        notes.write("mine\n")
    done = subprocess.run([*again, "--force"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no run has written" in done.stderr, "replaces a folder with files of others"
    os.remove(os.path.join(crates[1], "notes.txt"))
    texts = [{name: open(os.path.join(crate, name), encoding="utf-8").read() for name in sorted(os.listdir(crate))}
             for crate in crates]
    assert texts[0] == texts[1] and sorted(texts[0]) == ["chain.yaml", "prov.json", "ro-crate-metadata.json"]
    for hidden in (folder, socket.gethostname(), getpass.getuser()):
        assert len(hidden) < 3 or not any(re.search(rf"\b{re.escape(hidden)}\b", one) for one in texts[0].values()), hidden
    graph = {entity["@id"]: entity for entity in json.loads(texts[0]["ro-crate-metadata.json"])["@graph"]}
    missing = {one for entity in graph.values() for one in references(entity)} - set(graph)
    assert missing == {"https://w3id.org/ro/crate/1.1"}, missing
    steps = [graph[step["@id"]] for step in graph["chain.yaml"]["step"]]
    assert [step["name"] for step in steps] == ["to_attenuation", "radon", "save", "fbp", "to_hu"]
    assert graph["./"]["datePublished"] == "2026-01-02" and graph["#value-2-views"]["value"] == "40"
    with h5py.File(os.path.join(folder, "fbp.h5")) as file:
        for step, name in ((3, "sinogram"), (5, "data")):
            assert graph[f"#image-{step}"]["identifier"] == text(file[f"entry/{name}/data"].attrs["sha256_tree"])
    prov = json.loads(texts[0]["prov.json"])
    used = {(one["prov:activity"], one["prov:entity"]) for one in prov["used"].values()}
    assert used == {("run:step-1", "run:input-1"), *((f"run:step-{k}", f"run:image-{k - 1}") for k in range(2, 6))}
    run("check", os.path.join(crates[0], "chain.yaml"), "-i", os.path.join(folder, "study"), "-o", os.path.join(folder, "x.h5"))
    try:
        from prov.model import ProvDocument
        ProvDocument.deserialize(content=texts[0]["prov.json"], format="json")
    except ImportError as absent:
        return f"PROV not read by its package: {absent}"
    return "PROV is read by its package"


def check_round_trip(folder):
    """A scan that was exported is reconstructed as the sinogram that it was."""
    made = []
    for name, chain in (("direct", f"result {folder}/sinogram.h5 | fbp"),
                        ("back", f"nexus {folder}/exported.nxs quantity=line_integral | fbp")):
        run("run", chain, "-o", f"{folder}/{name}.h5", "--device", "cpu", "--quiet")
        with h5py.File(f"{folder}/{name}.h5") as file:
            made.append(file["entry/data/data"][...])
    assert np.array_equal(made[0], made[1]) and np.ptp(made[0]) > 0
    run("verify", f"{folder}/exported.nxs")


def main():
    with tempfile.TemporaryDirectory(prefix="tomostage-nexus-") as folder:
        files = make_files(folder)
        tables = 0
        for path, definition in files.items():
            check_required(path, definition)
            check_names(path)
            tables += check_tables(path)
            run("verify", path)
        assert tables > 8, tables
        print(f"ok: {len(files)} files and {tables} groups of tables have what their definitions require")
        check_round_trip(folder)
        print(f"ok: {check_silx(files)}")
        print(f"ok: the crate is whole; {check_crate(folder)}")
        check_validators(files)


if __name__ == "__main__":
    main()
