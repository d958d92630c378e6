# SPDX-License-Identifier: Apache-2.0
"""Several CUDA devices in one process write the bytes that one writes. One GPU is enough: it is named several times, and then has
as many sets of buffers, queues and drivers.

usage: test_devices.py PROGRAM [TEST...]. Exits 77 with the reason where there is no GPU. Prints a line for each test, and one that
counts them.
TOMOSTAGE_DEVICES names the devices to compare, by spaces; default: cuda:0,0 cuda:0,0,0, and cuda:0,1 where there are two."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import PROGRAM, digest, run, run_tests, test, write_nifti

DATASETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../datasets")
DEVICES = os.environ.get("TOMOSTAGE_DEVICES", "cuda:0,0 cuda:0,0,0").split()
INPUTS = tempfile.mkdtemp(prefix="tomostage-devices-")
os.environ["TOMOSTAGE_RATES"] = ""


def make_inputs():
    for arguments in (["study", "--size", "40", "--slices", "14", "--noise", "10"],
                      ["tilted", "--size", "64", "--tilt", "20"], ["wide", "--size", "256", "--slices", "33", "--noise", "25"]):
        run("phantom", "head", "-o", *arguments, "--quiet", cwd=INPUTS)
    for arguments in (["scan.nxs"], ["zingers.nxs", "--zingers", "300"], ["wide.nxs", "--wide"]):
        subprocess.run([sys.executable, os.path.join(DATASETS, "make_scan.py"), *arguments], cwd=INPUTS,
                       check=importlib.util.find_spec("h5py") is not None)
    subprocess.run([sys.executable, os.path.join(DATASETS, "make_mr.py"), "mr.npy"], cwd=INPUTS,
                   check=importlib.util.find_spec("numpy") is not None)


def least(chain):
    """The least GPU memory, in MiB, with which the chain runs on one device."""
    refused = run("check", chain, "--device", "cuda:0", "--gpu-memory", "1000", expect=2, cwd=INPUTS)
    return int(re.search(r"--gpu-memory (\d+)M would do", refused.stderr)[1])


def budgets(chain, device):
    """For everything, and for slabs of few slices, which every device has several of."""
    return (None, f"{least(chain) * (1 + device.count(','))}M")


def compare(folder, chain, out="out.h5", options=(), small=True):
    """Compares all bytes of the output, and all messages."""
    def run_on(name, device, memory):
        path = os.path.join(folder, name, out)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        done = run("run", chain, "-o", path, "--quiet", "--device", device, *options,
                   *(["--gpu-memory", memory] if memory else []), cwd=INPUTS)
        return digest(path), done.stderr.replace(path, out)

    expected = run_on("one", "cuda:0", None)
    for i, device in enumerate(DEVICES):
        for memory in budgets(chain, device) if small else (None,):
            found = run_on(f"{i}-{memory}", device, memory)
            assert found == expected, f"{device} with {memory} of memory writes other bytes or messages: {chain}\n{found}\n{expected}"


CHAINS = {
    "pointwise": "window center=40 width=400 | invert",
    "halos": "box radius=1 dimensions=3d | save name=smooth | median radius=2 dimensions=3d | tv weight=20 iterations=4 dimensions=3d",
    "wrapping_halos": "box radius=5 dimensions=3d border=wrap | median radius=2 dimensions=3d",
    "histograms": "window center=40 width=400 | equalize | histogram bins=64 | statistics",
    "slices": "statistics scope=slice | equalize scope=slice | clahe | histogram bins=32 scope=slice",
    "float_sums": "gaussian sigma=1.3 dimensions=3d | statistics | invert | box radius=1 | statistics percentiles=5,50,95 | rescale",
    "nlm": "nlm patch_distance=3 | statistics",
    "projections": "radon views=24 | save name=sinogram | fbp | save name=fbp | sirt input=sinogram iterations=3 | statistics",
    "sweeps": "gaussian sigma=1 | box radius={sweep 0 1 2} dimensions=3d | equalize | statistics",
    "searches": "gaussian sigma=1 | crop above=-500 | statistics",
    "masks": "threshold above=0 name=inside | apply_mask input=input mask=inside | box radius=1 dimensions=3d | statistics",
}


def add(name, stages, source):
    def check(folder):
        compare(folder, f"dicom {source} | {stages} | hdf5 x.h5")

    check.__name__ = f"{name} of {source}"
    test(check)


for stages_of in CHAINS.items():
    add(*stages_of, "study")
for wide in ("pointwise", "halos", "histograms", "float_sums", "masks"):
    add(wide, CHAINS[wide], "wide")


@test
def examples(folder):
    """The example of every stage that has CUDA code. Without h5py there is no scan, and those of scans are left out."""
    chains = os.path.join(DATASETS, "chains/stages")
    ran = 0
    for name in sorted(os.listdir(chains)):
        with open(os.path.join(chains, name), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(INPUTS, name), "w", encoding="utf-8") as file:
            file.write(re.sub(r"dicom: \./study", "dicom: ./wide", text))
        if run("check", name, "--device", "cuda:0", expect=None, cwd=INPUTS).returncode != 0:
            continue
        compare(os.path.join(folder, name), name, small=False)
        ran += 1
    assert ran > 25, f"only {ran} examples run on a CUDA device"


@test
def volumes(folder):
    """A series of volumes, one after the other."""
    write_nifti(os.path.join(INPUTS, "series.nii"), 3, 9, 24, 20, lambda v, z, i: (v + 1) * 0.1 + z * 0.013 + i % 17 / 3)
    compare(folder, "nifti series.nii | box radius=1 dimensions=3d | statistics | statistics scope=slice | equalize | hdf5 x.h5")


@test
def refused_values(folder):
    """Values that are no numbers end a run with the words of the CPU, which name the first of all slices that have some."""
    write_nifti(os.path.join(INPUTS, "holes.nii"), 1, 14, 24, 24, lambda v, z, i: float("nan") if z in (5, 6, 11) and i == 100 else 1.0 + i)
    for stages in "fbp", "ring | fbp", "fourier | equalize | statistics", "fbp | save name=volume | statistics scope=slice", "sirt iterations=3":
        chain = f"nifti holes.nii | radon views=12 | {stages} | hdf5 {folder}/x.h5"
        expected = run("run", chain, "--device", "cpu", expect=3, cwd=INPUTS).stderr
        assert "of slice 5 are NaN" in expected, expected
        for device in "cuda:0", *DEVICES:
            for memory in budgets(chain, device):
                found = run("run", chain, "--device", device, *(["--gpu-memory", memory] if memory else []), expect=3, cwd=INPUTS).stderr
                assert found == expected, f"{device} with {memory} of memory: {found}\n{expected}"


@test
def outputs(folder):
    """Values as they are, halves, and other formats, which the device does not compress."""
    for kind in ("compression: none", "dtype: f16", "compression: small"):
        name = f"{re.sub('[^a-z0-9]+', '-', kind)}.yaml"
        with open(os.path.join(INPUTS, name), "w", encoding="utf-8") as file:
            file.write(f"tomostage: 2\ninput: {{dicom: ./wide}}\nstages: [gaussian: {{sigma: 1}}, save: {{name: smooth}}, rescale: {{}}]\n"
                       f"output: {{hdf5: x.h5, {kind}}}\n")
        compare(os.path.join(folder, name), name)
    compare(os.path.join(folder, "nifti"), "dicom wide | box radius=1 | nifti x.nii.gz", "out.nii.gz")


@test
def profile(folder):
    """A profile has the work of all devices, and the result the same bytes."""
    chain = "dicom wide | box radius=1 dimensions=3d | statistics | hdf5 x.h5"
    compare(os.path.join(folder, "a"), chain, small=False)
    for device in DEVICES:
        name = os.path.join(folder, device.replace(",", "-").replace(":", "-"))
        run("run", chain, "-o", f"{name}.h5", "--quiet", "--device", device, "--profile", name, cwd=INPUTS)
        assert digest(f"{name}.h5") == digest(os.path.join(folder, "a/one/out.h5"))


@test
def who_gets_what(folder):
    """check states the slices and the memory of each device."""
    for device in DEVICES:
        plan = json.loads(run("check", "dicom wide | box radius=1 | hdf5 x.h5", "--device", device, "--json", cwd=INPUTS).stdout
                          .splitlines()[0])
        assert len(plan["devices"]) == 1 + device.count(",") and sum(d["slices"] for d in plan["devices"]) == 33, plan
        assert all(d["slices"] > 0 and d["gpu_memory_bytes"] <= plan["gpu_budget_bytes"] for d in plan["devices"]), plan


@test
def times(folder):
    """tomostage-bench times several devices from host memory to host memory, and compares their volumes."""
    bench = os.path.join(os.path.dirname(PROGRAM), "tomostage-bench")
    for device in DEVICES:
        done = subprocess.run([bench, "devices", "--device", device, "--smaller", "16", "--runs", "1", "--json"], cwd=folder,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)
        assert {row["job"] for row in rows} == {"sirt", "sirt tensor", "fbp", "fbp tensor"}, rows
        assert {row["devices"] for row in rows} == {1, 2, 1 + device.count(",")}, rows
        assert all(0 < row["seconds"] <= row["run_seconds"] for row in rows), rows


def main():
    run("phantom", "head", "-o", "first", "--size", "16", "--slices", "5", "--quiet", cwd=INPUTS)
    done = run("check", "dicom first | rescale | hdf5 y.h5", "--device", "cuda", "--json", expect=None, cwd=INPUTS)
    refused = json.loads(done.stdout.splitlines()[0])
    if refused.get("code") in ("cuda-not-built", "cuda-no-driver", "cuda-no-device"):
        print(f"SKIPPED all tests of several devices: {refused['message']}")
        return 77
    if "TOMOSTAGE_DEVICES" not in os.environ and run("check", "dicom first | rescale | hdf5 y.h5", "--device", "cuda:0,1", expect=None,
                                                     cwd=INPUTS).returncode == 0:
        DEVICES.append("cuda:0,1")
    make_inputs()
    return run_tests(sys.argv[2:])


sys.exit(main())
