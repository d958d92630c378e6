# SPDX-License-Identifier: Apache-2.0
"""Several ranks under mpirun write the bytes that one process writes, end together where one of them fails, and leave nothing behind.

usage: test_ranks.py PROGRAM MPIRUN [cpu|cuda] [TEST...], a program with MPI. Prints a line for each test, and one that
counts them. With `cuda` the ranks compute on the GPUs that are there, each on its own or several on one, and are compared with one
process on the first GPU; where there is none that is said, and the exit code is 77. On the CPU most
chains run in 3 ranks, and with TOMOSTAGE_TESTS_ALL in the environment also in 1, 2 and 4."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py

from harness import PROGRAM, Skip, digest, run, run_tests, test, write_nifti

HERE = os.path.dirname(os.path.abspath(__file__))
DATASETS = os.path.join(HERE, "../../datasets")
# `mpirun --version` and `mpiexec --version` of Open MPI answer with one of these names.
os.environ.setdefault("HWLOC_HIDE_ERRORS", "2")  # without /sys, as in a chroot, MPI's library says so in each rank
OPEN_MPI = re.search("Open MPI|OpenRTE", subprocess.run([sys.argv[2], "--version"], capture_output=True, text=True).stdout)
MPIRUN = [sys.argv[2], *(["--allow-run-as-root", "--oversubscribe"] if OPEN_MPI else [])]
CUDA = sys.argv[3:4] == ["cuda"]
RANKS = (1, 2, 4) if CUDA else (1, 2, 3, 4) if os.environ.get("TOMOSTAGE_TESTS_ALL") else (3,)
# The options of one process and of several.
ONE, SEVERAL = (["--device", "cuda:0"], ["--device", "cuda"]) if CUDA else ([], [])
# On a GPU a slab has whole chunks, of which a small study has one: no other rank would have anything to do.
STUDY = "large" if CUDA else "small"
if not CUDA:
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # one process and several take the CPU
ENVIRONMENT = dict(os.environ, TOMOSTAGE_RATES="", OMP_WAIT_POLICY="passive")
INPUTS = tempfile.mkdtemp(prefix="tomostage-ranks-")
LIMIT_S = 300
with open(PROGRAM, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()


def know_leaks_of_mpi():
    """Open MPI ends without freeing what it has. Leaks are told by the library that allocated, so these must stay loaded, and frames be
    found without frame pointers."""
    keep = os.path.join(INPUTS, "keep.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", keep], input=b"int dlclose(void *library) { return library == 0; }", check=True)
    ENVIRONMENT.update(ASAN_OPTIONS="detect_leaks=1:verify_asan_link_order=0:fast_unwind_on_malloc=0",
                       LSAN_OPTIONS=f"suppressions={HERE}/leaks_of_mpi.txt:print_suppressions=0")
    MPIRUN.extend(["-x", f"LD_PRELOAD={keep}"] if OPEN_MPI else ["-genv", "LD_PRELOAD", keep])


def launch(n, *arguments):
    return subprocess.Popen([*MPIRUN, "-n", str(n), PROGRAM, *arguments], cwd=INPUTS, env=ENVIRONMENT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    out, err = process.communicate(timeout=LIMIT_S * (4 if SANITIZED else 1))
    assert "Sanitizer" not in err and "runtime error" not in err, err
    return process.returncode, out, err


def reason_against_cuda():
    """Why there is no GPU to compute on, or None."""
    with tempfile.TemporaryDirectory() as folder:
        run("phantom", "head", "-o", "study", "--size", "16", "--quiet", cwd=folder)
        done = run("check", "dicom study | box radius=1 | hdf5 x.h5", "--device", "cuda:0", expect=None, cwd=folder)
    return done.stderr.strip() if done.returncode else None


def ranks_run(n, *arguments, expect=0):
    code, out, err = end(launch(n, *arguments))
    assert code == expect, f"{n} ranks, {arguments}: exit {code}, expected {expect}\n{out}{err}"
    return out, err


def make_inputs():
    if os.path.exists(os.path.join(INPUTS, "tilted")):
        return
    scan = [sys.executable, os.path.join(DATASETS, "make_scan.py")]
    for command in (["phantom", "head", "-o", "tilted", "--size", "64", "--tilt", "20", "--quiet"],
                    ["phantom", "head", "-o", "study", "--size", "256", "--slices", "4", "--noise", "25", "--quiet"],
                    ["phantom", "head", "-o", "small", "--size", "40", "--slices", "14", "--noise", "10", "--quiet"],
                    ["phantom", "head", "-o", "large", "--size", "512", "--slices", "40", "--noise", "10", "--quiet"]):
        if command[3] != "large" or CUDA:
            run(*command, cwd=INPUTS)
    for arguments in (["scan.nxs"], ["zingers.nxs", "--zingers", "300"], ["wide.nxs", "--wide"]):
        subprocess.run([*scan, *arguments], cwd=INPUTS, check=True)
    subprocess.run([sys.executable, os.path.join(DATASETS, "make_mr.py"), "mr.npy"], cwd=INPUTS, check=True)


def compare(folder, chain, output, *options, ranks=RANKS, device=None):
    """Runs a chain in one process and in ranks, and compares all bytes of the output. A text with OUT names the output itself."""
    make_inputs()

    def arguments(name):
        out = os.path.join(folder, name, output)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        if "OUT" in chain:
            return ["run", chain_file("out.yaml", chain.replace("OUT", out)), "--quiet", *options]
        return ["run", chain, "-o", out, "--quiet", *options]

    one = os.path.join(folder, "one", output)
    done = run(*arguments("one"), *ONE, cwd=INPUTS)
    for n in ranks:
        several = os.path.join(folder, f"ranks-{n}", output)
        _, err = ranks_run(n, *arguments(f"ranks-{n}"), *(["--device", device] if device else SEVERAL))
        assert digest(os.path.dirname(several)) == digest(os.path.dirname(one)), f"{n} ranks write other bytes: {chain}"
        assert err == done.stderr, f"{n} ranks print other messages: {chain}\n{done.stderr}\n---\n{err}"
        shutil.rmtree(os.path.dirname(several))


def chain_file(name, text):
    make_inputs()
    with open(os.path.join(INPUTS, name), "w", encoding="utf-8") as file:
        file.write(text)
    return name


@test
def stages(folder):
    """The example of every stage."""
    chains = os.path.join(DATASETS, "chains/stages")
    make_inputs()
    compared = 0
    for name in sorted(os.listdir(chains)):
        shutil.copy(os.path.join(chains, name), INPUTS)
        if CUDA and "[stage-device]" in run("check", name, *ONE, cwd=INPUTS, expect=None).stderr:
            continue
        # Their inputs have one chunk; without compression slabs need no whole chunks.
        compare(os.path.join(folder, name), name, "out.h5", *(["--set", "output.compression=none"] if CUDA else []), ranks=(2 if CUDA else 3,))
        compared += 1
    assert compared > 40 - 10 * CUDA, compared


@test
def halos_and_tables(folder):
    compare(folder, f"dicom {STUDY} | box radius=1 dimensions=3d | save name=smooth | histogram bins=32 | clahe | statistics scope=slice "
            "| tv weight=20 iterations=4 dimensions=3d | hdf5 x.h5", "out.h5")


@test
def long_halos(folder):
    """A halo is longer than the slabs of a rank, and wraps around the volume."""
    compare(folder, f"dicom {STUDY} | box radius=5 dimensions=3d border=wrap | median radius=2 dimensions=3d | hdf5 x.h5", "out.h5")


@test
def histograms(folder):
    compare(folder, f"dicom {STUDY} | window center=40 width=400 | equalize | histogram bins=64 | statistics | hdf5 x.h5", "out.h5")


@test
def float_sums(folder):
    """Moments of floats stay apart by slice until the end."""
    compare(folder, f"dicom {STUDY} | gaussian sigma=1.3 dimensions=3d | statistics | invert | box radius=1 | statistics | hdf5 x.h5", "out.h5")


@test
def projections(folder):
    compare(folder, f"dicom {STUDY} | radon views=24 | save name=sinogram | fbp | save name=fbp | sirt input=sinogram iterations=3 "
            "| statistics | hdf5 x.h5", "out.h5")


@test
def sweeps(folder):
    compare(folder, f"dicom {STUDY} | gaussian sigma=1 | box radius={{sweep 0 1 2}} dimensions=3d | equalize | statistics | hdf5 x.h5",
            "out.h5")


@test
def searches(folder):
    compare(folder, f"dicom {STUDY} | gaussian sigma=1 | crop above=-500 | statistics | hdf5 x.h5", "out.h5")


@test
def little_memory(folder):
    """Slabs are of a few slices, and there are many rounds."""
    make_inputs()
    chain, option = f"dicom {STUDY} | box radius=1 dimensions=3d | equalize | statistics | hdf5 x.h5", "--gpu-memory" if CUDA else "--memory"
    if CUDA:
        refused = ranks_run(2, "run", chain, "-o", "x.h5", option, "1000", *SEVERAL, expect=2)[1]
    else:
        refused = run("check", chain, option, "1000", expect=2, cwd=INPUTS).stderr
    budget = int(refused.split(f"{option} ")[1].split("M")[0]) + 1
    compare(folder, chain, "out.h5", option, f"{budget}M", "--threads", "1")


@test
def more_ranks_than_slices(folder):
    text = "tomostage: 2\ninput: {dicom: ./small, slices: [3, 5]}\nstages: [box: {radius: 1}, equalize: {}, statistics: {}]\n"
    compare(folder, chain_file("few.yaml", text), "out.h5", ranks=(3, 4))


@test
def stored_values(folder):
    """Slices go to rank 0 as values, which nobody compresses."""
    for name, output in (("stored", "compression=none"), ("halves", "compression=none dtype=f16"), ("small", "compression=small")):
        compare(os.path.join(folder, name), f"dicom {STUDY} | box radius=1 dimensions=3d | save name=smooth | window center=40 width=400 "
                f"| hdf5 x.h5 {output}", "out.h5")


@test
def halves(folder):
    """Whoever rounds a value that no half can hold, the run fails with the largest of all."""
    compare(os.path.join(folder, "fit"), f"dicom {STUDY} | gaussian sigma=1 | hdf5 x.h5 dtype=f16", "out.h5")
    make_inputs()
    write_nifti(os.path.join(INPUTS, "steep.nii"), 1, 24, 40, 40, lambda v, z, i: 60000.0 + 1000 * z)
    chain = "nifti steep.nii | box radius=1 dimensions=3d | hdf5 x.h5 dtype=f16"
    one = run("run", chain, "-o", os.path.join(folder, "out.h5"), "--quiet", *ONE, cwd=INPUTS, expect=1)
    for n in RANKS:
        _, err = ranks_run(n, "run", chain, "-o", os.path.join(folder, "out.h5"), "--quiet", *SEVERAL, expect=1)
        assert one.stderr in err, f"{n} ranks\n{one.stderr}\n---\n{err}"


@test
def other_formats(folder):
    """Rank 0 writes them all."""
    for name, output in (("nifti", "out.nii.gz"), ("tiff", "out.tif"), ("png", "slices"), ("dicom", "series")):
        compare(os.path.join(folder, name), f"tomostage: 2\ninput: {{dicom: ./{STUDY}}}\nstages: [box: {{radius: 1}}, window: {{center: 40, width: 400}}]\n"
                f"output: {{{name}: OUT}}\n", output)
    compare(os.path.join(folder, "beside"), f"tomostage: 2\ninput: {{dicom: ./{STUDY}}}\nstages: [gaussian: {{sigma: 1}}, save: {{name: smooth}}, box: {{radius: 1}}]\n"
            "output: {hdf5: OUT.h5, dtype: f16, nifti: OUT}\n", "out.nii")


@test
def invalid_pixels(folder):
    """Their bits come from the rank that has computed the slice, and the input's are counted by the rank that reads it."""
    make_inputs()
    run("run", f"dicom {STUDY} | threshold above=0 name=inside | apply_mask input=input mask=inside | hdf5 masked.h5", "--force",
        "--quiet", cwd=INPUTS)
    compare(folder, "result masked.h5 | box radius=1 dimensions=3d | statistics | hdf5 x.h5", "out.h5")


@test
def series(folder):
    """Several volumes, one after the other."""
    make_inputs()
    write_nifti(os.path.join(INPUTS, "series.nii"), 3, 7, 12, 10, lambda v, z, i: (v + 1) * 0.1 + z * 0.013 + i % 17 / 3)
    compare(folder, "nifti series.nii | box radius=1 dimensions=3d | statistics | statistics scope=slice | equalize | hdf5 x.h5", "out.h5")
    for stage in ("rescale scope=series method=percentiles", "equalize scope=series", "histogram scope=series bins=50",
                  "statistics scope=series percentiles=1,50,99", "reduce axis=time method=sd", "n4 shrink=2 iterations=2"):
        compare(os.path.join(folder, stage.split()[0]), f"nifti series.nii | box radius=1 | {stage} | hdf5 x.h5", "out.h5")


# ---- GPUs ------------------------------------------------------------------------------------------

def gpus():
    return max(1, subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("GPU "))


@test
def devices_by_name(folder):
    """A device for all ranks, and several for each rank."""
    if not CUDA:
        raise Skip("the ranks compute on the CPU")
    chain = f"dicom {STUDY} | gaussian sigma=1.3 dimensions=3d | equalize scope=volume | histogram bins=64 | statistics | hdf5 x.h5"
    for device in ("cuda:0", "cuda:0,0", "cuda:0,0,0,0", "cuda:all", *(["auto"] if gpus() > 1 else [])):
        compare(os.path.join(folder, device), chain, "out.h5", ranks=(1, 2), device=device)


@test
def one_device_shown(folder):
    """As Slurm does it, each rank sees a device of its own, which is number 0 to it."""
    if not CUDA:
        raise Skip("the ranks compute on the CPU")
    make_inputs()
    chain, one, out = f"dicom {STUDY} | box radius=1 | statistics | hdf5 x.h5", os.path.join(folder, "one.h5"), os.path.join(folder, "out.h5")
    run("run", chain, "-o", one, "--quiet", *ONE, cwd=INPUTS)
    parts = []
    for rank in range(gpus()):
        parts += [":"] * (rank > 0) + ["-n", "1", "env", f"CUDA_VISIBLE_DEVICES={rank}", PROGRAM, "run", chain, "-o", out, "--quiet", *SEVERAL]
    code, _, err = end(subprocess.Popen([*MPIRUN, *parts], cwd=INPUTS, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert code == 0, err
    assert digest(out) == digest(one), "other bytes"


# ---- what goes wrong -------------------------------------------------------------------------------

# Each of 200 volumes is one slab, of less than the 0.7 s after which a rank ends itself in the midst of one.
SLOW = f"nifti long.nii | tv weight=0.1 iterations={1500 if CUDA else 60 if SANITIZED else 300} dimensions=3d | hdf5 x.h5"


def processes():
    """The ranks that run, in the order in which they were started."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                program = file.read().split(b"\0")[0].decode()
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                found[int(pid)] = program, int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return sorted(pid for pid, (program, parent) in found.items() if program == PROGRAM and found.get(parent, ("", 0))[0] != PROGRAM)


def start_slow(out):
    """Starts a run of three ranks that takes long, and waits until it computes."""
    make_inputs()
    if not os.path.exists(os.path.join(INPUTS, "long.nii")):
        write_nifti(os.path.join(INPUTS, "long.nii"), 200, 9, 32, 32, lambda v, z, i: i % 17 / 3)
    process = launch(3, "run", SLOW, "-o", out, "--every", "0", *SEVERAL)
    assert "pass" in process.stderr.readline()
    return process, processes()


def expect_nothing(folder):
    assert os.listdir(folder) == [], f"left behind: {os.listdir(folder)}"


@test
def a_killed_rank(folder):
    for victim in range(3):
        process, ranks = start_slow(os.path.join(folder, "out.h5"))
        assert len(ranks) == 3, ranks
        os.kill(ranks[victim], signal.SIGKILL)
        code, _, _ = end(process)
        assert code != 0
        deadline = time.monotonic() + 30
        while processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processes() == [], "ranks run on"
        expect_nothing(folder)


@test
def a_folder_of_slices_beside_a_killed_rank(folder):
    """Rank 0, which the launcher asks to end, removes the folders that it has begun, although its slab lasts for minutes."""
    if not OPEN_MPI:
        raise Skip("mpiexec of MPICH kills the ranks beside a killed one, and these clean nothing up")
    make_inputs()
    chain = f"dicom small | tv weight=1 iterations=100000 dimensions=3d | png {folder}/p | tiff {folder}/t"
    process = subprocess.Popen([*MPIRUN, "--mca", "odls_base_sigkill_timeout", "10", "-n", "3", PROGRAM, "run", chain, "--quiet", *SEVERAL],
                               cwd=INPUTS, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while len(os.listdir(folder)) < 2:
        assert process.poll() is None, end(process)
        time.sleep(0.01)
    os.kill(processes()[2], signal.SIGKILL)
    code, _, err = end(process)
    assert code != 0 and "stopped by SIGTERM" in err, f"exit {code}\n{err}"
    expect_nothing(folder)


@test
def signals(folder):
    """A signal to one rank ends all of them with its exit code and one sentence; one to mpirun ends them too."""
    for victim in range(3):
        process, ranks = start_slow(os.path.join(folder, "out.h5"))
        os.kill(ranks[victim], signal.SIGTERM)
        code, _, err = end(process)
        assert code == 128 + signal.SIGTERM, f"exit {code}\n{err}"
        assert err.count("tomostage: stopped by SIGTERM; nothing was written") == 1, err
        expect_nothing(folder)
    process, _ = start_slow(os.path.join(folder, "out.h5"))
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] != 0
    expect_nothing(folder)


@test
def an_error_of_one_rank(folder):
    """Slice 12 holds a value that is no number, which one rank alone finds. All end with its message and its exit code."""
    make_inputs()
    write_nifti(os.path.join(INPUTS, "nan.nii"), 1, 14, 9, 9, lambda v, z, i: float("nan") if (z, i) == (12, 5) else 1.0 + i)
    one = run("run", "nifti nan.nii | radon views=12 | fbp | hdf5 x.h5", "-o", os.path.join(folder, "out.h5"), "--quiet", *ONE, cwd=INPUTS, expect=None)
    assert one.returncode in (1, 3), one.returncode
    for n in RANKS:
        _, err = ranks_run(n, "run", "nifti nan.nii | radon views=12 | fbp | hdf5 x.h5", "-o", os.path.join(folder, "out.h5"), "--quiet",
                           *SEVERAL, expect=one.returncode)
        assert err.count("error:") == 1 and one.stderr.splitlines()[0] in err, f"{one.stderr}\n---\n{err}"
        expect_nothing(folder)


@test
def other_pixels_on_one_rank(folder):
    """A slice of rank 0 has one other pixel than that of the others, of which one alone reads it. All end with its message."""
    make_inputs()
    arguments = ["run", "dicom padded | box radius=1 dimensions=3d | statistics | hdf5 x.h5", "-o", os.path.join(folder, "out.h5"),
                 "--quiet", "--threads", "1", *SEVERAL]
    places = [os.path.join(folder, name) for name in ("other", "same")]
    for place in places:
        os.mkdir(place)
        run("run", f"dicom '{INPUTS}/small' | threshold above=0 name=inside | apply_mask input=input mask=inside | dicom padded", "--quiet",
            cwd=place)
    with open(os.path.join(places[0], "padded/slice_0005.dcm"), "r+b") as file:
        file.seek(-40 * 40, os.SEEK_END)
        low = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([low ^ 1]))
    process = subprocess.Popen([*MPIRUN, "-n", "1", "--wdir", places[0], PROGRAM, *arguments, ":", "-n", "3", "--wdir", places[1], PROGRAM,
                                *arguments], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, out, err = end(process)
    assert code == 1 and err.count("error:") == 1 and "ranks-differ" in err, f"exit {code}\n{out}{err}"
    for place in places:
        shutil.rmtree(place)
    expect_nothing(folder)


def with_other_inputs(folder, chain, place_of_rank_0, place_of_others):
    """Runs a chain in three ranks, of which the first one has another working folder than the others."""
    arguments = ["run", chain, "-o", os.path.join(folder, "out.h5"), "--quiet", *SEVERAL]
    return end(subprocess.Popen([*MPIRUN, "-n", "1", "--wdir", place_of_rank_0, PROGRAM, *arguments, ":", "-n", "2",
                                 "--wdir", place_of_others, PROGRAM, *arguments], env=ENVIRONMENT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@test
def other_headers_on_one_rank(folder):
    """The pixels are the same, and a slope or an angle is not: that is found before anything is computed."""
    make_inputs()
    places = [os.path.join(folder, name) for name in ("other", "same")]
    for place in places:
        shutil.copytree(os.path.join(INPUTS, "small"), os.path.join(place, "small"))
        shutil.copy(os.path.join(INPUTS, "scan.nxs"), place)
    name = sorted(os.listdir(os.path.join(places[0], "small")))[5]
    with open(os.path.join(places[0], "small", name), "r+b") as file:
        content = file.read()
        file.seek(content.index(b"\x28\x00\x52\x10DS") + 8)  # Rescale Intercept
        assert file.read(5) == b"-1024"
        file.seek(-5, os.SEEK_CUR)
        file.write(b"-1000")
    with h5py.File(os.path.join(places[0], "scan.nxs"), "r+") as file:
        found = []
        file.visititems(lambda path, item: found.append(item) if path.endswith("rotation_angle") else None)
        found[0][20] += 0.01
    for chain in ("dicom small | box radius=1 | hdf5 x.h5", "nexus scan.nxs | air detectors=2 | minus_log | fbp | hdf5 x.h5"):
        for first, others in (places, places[::-1]):
            code, out, err = with_other_inputs(folder, chain, first, others)
            assert code == 1 and err.count("error:") == 1 and "[ranks-differ]" in err, f"{chain}: exit {code}\n{out}{err}"
    for place in places:
        shutil.rmtree(place)
    expect_nothing(folder)


@test
def an_error_on_one_machine(folder):
    """An input is missing on the machine of one rank: a note names the rank. What all find has no such note."""
    make_inputs()
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    for first, others, rank in ((INPUTS, empty, "rank 1 of 3"), (empty, INPUTS, "rank 0 of 3"), (empty, empty, None)):
        code, out, err = with_other_inputs(folder, "dicom small | box radius=1 | hdf5 x.h5", first, others)
        assert code == 3 and err.count("error:") == 1 and "[input-unreadable]" in err, f"exit {code}\n{out}{err}"
        assert (rank in err if rank else True) and err.count("[ranks-one]") == (rank is not None), err
    os.rmdir(empty)
    expect_nothing(folder)


@test
def errors_of_all_ranks(folder):
    """A chain that is wrong is reported once; so are an input that is not there and an output that is."""
    make_inputs()
    open(os.path.join(folder, "there.h5"), "w").close()
    for chain, code, name in (("dicom small | box radius=-1 | hdf5 x.h5", 2, "new.h5"), ("dicom absent | box radius=1 | hdf5 x.h5", 3, "new.h5"),
                              ("dicom small | box radius=1 | hdf5 x.h5", 1, "there.h5")):
        one = run("run", chain, "-o", os.path.join(folder, name), cwd=INPUTS, expect=code)
        _, err = ranks_run(3, "run", chain, "-o", os.path.join(folder, name), expect=code)
        assert err.count("error:") == 1 and one.stderr.splitlines()[0] in err, err
    assert os.listdir(folder) == ["there.h5"]


@test
def a_driver_that_crashes(folder):
    """Where a rank's CUDA driver crashes as it starts, the rank ends and the launcher the others. One process starts anew then, which a rank
    must not: MPI runs in it."""
    make_inputs()
    here = os.path.dirname(PROGRAM)
    drivers = [path for path in (os.path.join(here, "fake_driver"), os.path.join(here, "tests/fake_driver")) if os.path.isdir(path)]
    chain, out = "dicom small | box radius=1 | hdf5 x.h5", os.path.join(folder, "out.h5")
    if not drivers:
        raise Skip("the tests' own driver, fake_driver/libcuda.so.1, is not beside the program")
    if "[cuda-not-built]" in run("check", chain, "--device", "cuda", expect=None, cwd=INPUTS).stderr:
        raise Skip("this build has no CUDA code")
    crashes = ["env", f"LD_LIBRARY_PATH={drivers[0]}", "FAKE_DRIVER=crash", PROGRAM, "run", chain, "-o", out, "--quiet", "--device", "auto"]
    alone = subprocess.run(crashes, cwd=INPUTS, env=ENVIRONMENT, text=True, capture_output=True)
    assert alone.returncode == 0 and "driver crashed" in alone.stderr and os.path.exists(out), alone
    os.remove(out)
    for n in (1, 2):
        code, printed, err = end(subprocess.Popen([*MPIRUN, "-n", str(n), *crashes], cwd=INPUTS, env=ENVIRONMENT, text=True,
                                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        assert code != 0 and "Segmentation fault" in printed + err and "tomostage:" not in err, f"{n} ranks: exit {code}\n{printed}{err}"
        expect_nothing(folder)


def wait_for(path, process):
    while not os.path.exists(path):
        assert process.poll() is None, end(process)
        time.sleep(0.01)


@test
def a_checkpoint(folder):
    """SIGUSR1 to one rank stops all of them at a checkpoint, and a killed rank leaves one. As many ranks go on from it, or others."""
    make_inputs()
    chain = f"dicom {STUDY} | nlm patch_size=5 patch_distance={10 if CUDA else 12} dimensions=3d | equalize | statistics scope=slice | hdf5 x.h5"
    one, out, kept = (os.path.join(folder, name) for name in ("one.h5", "out.h5", "out.h5.checkpoint"))
    run("run", chain, "-o", one, "--quiet", *ONE, cwd=INPUTS)
    for number, others in ((signal.SIGUSR1, 3), (signal.SIGUSR1, 1), (signal.SIGKILL, 3)):
        process = launch(3, "run", chain, "-o", out, "--resume", "--quiet", "--threads", "1", *SEVERAL)
        wait_for(os.path.join(kept, "v0-p1-d0-z0.slab"), process)
        os.kill(processes()[1], number)
        code, _, err = end(process)
        assert (code == 75 and err.count(" kept in '") == 1) if number == signal.SIGUSR1 else code != 0, f"exit {code}\n{err}"
        assert not os.path.exists(out) and os.listdir(kept)
        ranks_run(others, "run", chain, "-o", out, "--resume", "--quiet", "--threads", "1", *SEVERAL)
        assert digest(out) == digest(one), f"{others} ranks write other bytes after signal {number}"
        assert not os.path.exists(kept)
        os.remove(out)


@test
def a_checkpoint_of_other_ranks(folder):
    """Ranks that cut z alike take the slabs of others, although each of them has read other slices of the input before."""
    make_inputs()
    study = "large" if CUDA else "broad"
    run("phantom", "head", "-o", "broad", "--size", "1024", "--slices", "24", "--noise", "10", "--quiet", cwd=INPUTS)
    slow = "nlm patch_size=5 patch_distance=10" if CUDA else "box radius=1"  # takes longer than the time limit
    chain = f"dicom {study} | {slow} dimensions=3d | equalize | statistics scope=slice | hdf5 x.h5 compression=small"
    one, out, kept = (os.path.join(folder, name) for name in ("one.h5", "out.h5", "out.h5.checkpoint"))
    run("run", chain, "-o", one, "--quiet", *ONE, cwd=INPUTS)
    arguments = ["run", chain, "-o", out, "--resume", "--quiet", "--threads", "1", *SEVERAL]
    for first, second in ((3, 1), (1, 3)):
        ranks_run(first, *arguments, "--time-limit", "1", expect=75)
        before = {name: os.stat(os.path.join(kept, name)).st_mtime_ns for name in os.listdir(kept)}
        ranks_run(second, *arguments, "--time-limit", "1", expect=75)
        after = {name: os.stat(os.path.join(kept, name)).st_mtime_ns for name in os.listdir(kept)}
        assert len(after) > len(before) > 1 and before.items() <= after.items(), f"{second} ranks compute again what {first} have kept"
        ranks_run(second, *arguments)
        assert digest(out) == digest(one), f"{second} ranks write other bytes behind {first}"
        os.remove(out)


@test
def studies(folder):
    """The processes that `batch` starts are no ranks, and several of it are refused."""
    make_inputs()
    arguments = ["batch", "dicom . | window center=40 width=400 | hdf5 x.h5", "small", "-o", os.path.join(folder, "results")]
    _, err = ranks_run(2, *arguments, expect=2)
    assert "[ranks-each]" in err and not os.path.exists(arguments[-1]), err
    ranks_run(1, *arguments)
    assert os.path.exists(os.path.join(arguments[-1], "small.h5")), os.listdir(arguments[-1])


@test
def refusals(folder):
    """What ranks cannot do yet is refused by name, once."""
    make_inputs()
    out = os.path.join(folder, "out.h5")
    run("run", "dicom small | box radius=1 | save name=smooth | equalize | hdf5 x.h5", "-o", out, "--quiet", cwd=INPUTS)
    refused = [("ranks-resume", ["--resume-from", out])]
    if "[cuda-not-built]" in run("check", "dicom small | box radius=1 | hdf5 x.h5", "--device", "cuda", expect=None, cwd=INPUTS).stderr:
        refused.append(("cuda-not-built", ["--device", "cuda"]))
    for code, arguments in refused:
        _, err = ranks_run(2, "run", "dicom small | box radius=1 | save name=smooth | equalize | hdf5 x.h5", "-o", os.path.join(folder, "other.h5"), *arguments, expect=2)
        assert err.count("error:") == 1 and f"[{code}]" in err, err


@test
def a_full_disk(folder):
    """The disk of rank 0, which writes, has 64 KiB. The others hear of it."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise Skip("a file system of the test's own may not be mounted here")
    disk = ('mount --make-rprivate / && mount -t tmpfs -o size=64k none "$1" || exit 99; folder=$1; shift; "$@"; code=$?; '
            'find "$folder" -mindepth 1 -printf "left %P\\n"; exit $code')
    make_large()
    for chain in ("dicom study | box radius=1 dimensions=3d | gaussian sigma=1 dimensions=3d | hdf5 x.h5",
                  "nifti times.nii | box radius=1 | hdf5 x.h5 dtype=f16"):
        arguments = [PROGRAM, "run", chain, "-o", os.path.join(folder, "out.h5"), "--quiet"]
        process = subprocess.Popen([*MPIRUN, "-n", "1", "unshare", "-m", "bash", "-c", disk, "bash", folder, *arguments, ":", "-n", "2", *arguments],
                                   cwd=INPUTS, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        code, out, err = end(process)
        assert code == 1 and err.count("error:") == 1 and "No space left" in err and "left " not in out, f"exit {code}\n{out}{err}"
        expect_nothing(folder)


@test
def events(folder):
    """Programs that read the events find those of one run."""
    make_inputs()
    out, _ = ranks_run(3, "run", "dicom small | box radius=1 | equalize | hdf5 x.h5", "-o", os.path.join(folder, "out.h5"), "--json")
    found = [json.loads(line)["event"] for line in out.splitlines()]
    assert found.count("started") == 1 and found.count("finished") == 1, found


# ---- what a rank says for all ------------------------------------------------------------------------

def pause_beside(folder, chain):
    """Runs a chain in two ranks. Rank 1 starts so late that the time limit of rank 0 has passed then: rank 0 pauses behind its first slab."""
    run_it = [PROGRAM, "run", chain, "-o", os.path.join(folder, "out.h5"), "--resume", "--quiet", "--threads", "1", *SEVERAL]
    late = ["sh", "-c", 'sleep 2; exec "$@"', "sh"]
    return end(subprocess.Popen([*MPIRUN, "-n", "1", *run_it, "--time-limit", "1", ":", "-n", "1", *late, *run_it], cwd=INPUTS, env=ENVIRONMENT,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@test
def a_pause_speaks_for_the_slabs_of_all(folder):
    """A time limit is one of the whole command, and the note counts the slabs that every rank has kept."""
    make_inputs()
    write_nifti(os.path.join(INPUTS, "volumes.nii"), 3, 6, 9, 9, lambda v, z, i: 1.0 + i)
    code, out, err = pause_beside(folder, "nifti volumes.nii | radon views=12 | fbp | hdf5 x.h5")
    n = len([name for name in os.listdir(os.path.join(folder, "out.h5.checkpoint")) if name.endswith(".slab")])
    assert code == 75 and (n == 3 or CUDA) and f"{n} slabs are kept in" in err and err.count(" kept in ") == 1, f"exit {code}, {n} slabs\n{out}{err}"


@test
def an_error_wins_over_a_pause(folder):
    """Rank 0 pauses where rank 1 finds a value that is no number. The error is reported, and so are the notes of rank 0."""
    if CUDA:
        raise Skip("a slab has whole chunks on a GPU, so that rank 1 has none of a small image")
    make_inputs()
    write_nifti(os.path.join(INPUTS, "late.nii"), 3, 6, 9, 9, lambda v, z, i: float("nan") if (v, z, i) == (1, 5, 5) else 1.0 + i)
    code, out, err = pause_beside(folder, "nifti late.nii | radon views=12 | fbp | hdf5 x.h5")
    assert code in (1, 3) and err.count("error:") == 1, f"exit {code}\n{out}{err}"
    assert err.count("[checkpoint-none]") == 1 and err.count("2 slabs are kept in") == 1, err


@test
def a_checkpoint_of_fewer_ranks(folder):
    """Four ranks of a machine go on with the memory of the two that they share it in place of; as many have what these had."""
    make_inputs()
    write_nifti(os.path.join(INPUTS, "volumes.nii"), 3, 6, 9, 9, lambda v, z, i: 1.0 + i)
    chain = "nifti volumes.nii | radon views=12 | fbp | hdf5 x.h5"
    one, out = os.path.join(folder, "one.h5"), os.path.join(folder, "out.h5")
    run("run", chain, "-o", one, "--quiet", *ONE, cwd=INPUTS)
    for n in (2, 4):
        pause_beside(folder, chain)
        with open(out + ".checkpoint/run.txt", encoding="utf-8") as file:
            first = file.readline()
        memory, on_host = int(first.split()[1].rstrip(",")), int(first.split()[-1])
        assert on_host == 2, first
        profile = os.path.join(folder, f"profile-{n}")
        ranks_run(n, "run", chain, "-o", out, "--resume", "--quiet", "--profile", profile, *SEVERAL)
        with open(profile + ".json", encoding="utf-8") as file:
            budget = int(file.read().split('"budget":')[1].split(",")[0].split("}")[0])
        assert budget == (memory if n == 2 else memory // 4 * 2), f"{n} ranks have {budget} of {memory} bytes"
        assert digest(out) == digest(one)
        os.remove(out)


def make_large():
    """Images of several chunks: of several slices each, of parts of a slice, and with odd ends. `times` has two volumes."""
    make_inputs()
    for name, shape in (("deep", (1, 150, 260, 130)), ("times", (2, 130, 260, 130)), ("wide", (1, 3, 2048, 1536)), ("odd", (1, 2, 1999, 1601))):
        if not os.path.exists(os.path.join(INPUTS, name + ".nii")):
            write_nifti(os.path.join(INPUTS, name + ".nii"), *shape, lambda v, z, i: (i * 7919 + z * 31 + v) % 1009 / 8)


def compressed_by_rank_0(folder, chain):
    """The bytes of values that rank 0 of two compresses itself."""
    profile = os.path.join(folder, "profile")
    ranks_run(2, "run", chain, "-o", os.path.join(folder, "profiled.h5"), "--force", "--quiet", "--threads", "2", "--profile", profile, *SEVERAL)
    with open(profile + ".json", encoding="utf-8") as file:
        return sum(event["args"]["bytes"] for event in json.load(file) if event["name"] == "compress")


@test
def chunks(folder):
    """Ranks compress the chunks that lie whole in their slabs, of one image and of each volume or value, as floats and as halves."""
    make_large()
    deep, wide, times = 150 * 260 * 130 * 4, 3 * 2048 * 1536 * 4, 2 * 130 * 260 * 130 * 4
    for name, chain, all_bytes in (
            ("deep", "nifti deep.nii | box radius=1 | hdf5 x.h5", deep),
            ("wide", "nifti wide.nii | box radius=1 | hdf5 x.h5", wide),
            ("small", "nifti wide.nii | box radius=1 | hdf5 x.h5 compression=small", wide),
            ("odd", "nifti odd.nii | box radius=1 | hdf5 x.h5", None),  # the last chunk of a slice is not full: its values go
            ("series", "nifti times.nii | box radius=1 | hdf5 x.h5", times),
            ("sweep", "nifti deep.nii | box radius={sweep 1 0} | hdf5 x.h5", 2 * deep),
            ("halves", "nifti deep.nii | box radius=1 | hdf5 x.h5 dtype=f16", deep / 2),
            ("halves-of-slices", "nifti wide.nii | box radius=1 | save name=smooth | gaussian sigma=1 | hdf5 x.h5 dtype=f16", wide),
            ("halves-of-a-series", "nifti times.nii | box radius=1 | hdf5 x.h5 dtype=f16", times / 2),
            ("halves-of-a-sweep", "nifti deep.nii | box radius={sweep 1 0} | hdf5 x.h5 dtype=f16 compression=small", deep)):
        compare(os.path.join(folder, name), chain, "out.h5", "--threads", "2")
        if all_bytes and not CUDA:
            done = compressed_by_rank_0(folder, chain)
            assert 0 < done < 0.8 * all_bytes, f"{name}: rank 0 has compressed {done} of {all_bytes} bytes itself"


@test
def alone(folder):
    """Processes that do not know of each other say so, and one of them gives the output its name."""
    make_inputs()
    environment = dict(ENVIRONMENT, OMPI_COMM_WORLD_SIZE="3")  # the variables that start MPI are missing
    arguments = [PROGRAM, "run", "dicom small | box radius=1 | hdf5 x.h5", "-o", os.path.join(folder, "out.h5"), "--quiet"]
    ended = [end(process) for process in [subprocess.Popen(arguments, cwd=INPUTS, env=environment, text=True, stdout=subprocess.PIPE,
                                                           stderr=subprocess.PIPE) for _ in range(3)]]
    assert sorted(code for code, _, _ in ended) == [0, 1, 1], ended
    for code, _, err in ended:
        assert "3 processes" in err and err.count("[ranks-alone]") == 1 and ("[output-exists]" in err) == (code == 1), err


try:
    if SANITIZED:
        know_leaks_of_mpi()
    reason = reason_against_cuda() if CUDA else None
    if reason:
        print(f"SKIPPED all: {reason}")
    code = 77 if reason else run_tests(sys.argv[4:])
finally:
    shutil.rmtree(INPUTS, ignore_errors=True)
sys.exit(code)
