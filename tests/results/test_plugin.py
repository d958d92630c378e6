#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example plugin, built from the public headers: help, pages and schema, the same bytes however a run is cut, what
results record, and what commands say about a plugin that is missing, another one, or none. And a map in Python.

Usage: test_plugin.py PROGRAM SOURCE LIBRARY"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from harness import PROGRAM, Skip, run, run_tests, test

SOURCE, LIBRARY = map(os.path.abspath, sys.argv[2:4])
FOLDER = tempfile.mkdtemp(prefix="tomostage-plugin-")
PLUGIN, OTHER, PARTS = (os.path.join(FOLDER, name) for name in ("sharpen_z.so", "other.so", "plugins"))
VALUES = (np.arange(12 * 9 * 10).reshape(12, 9, 10) * 37 % 251).astype("i2")
os.environ.pop("TOMOSTAGE_PLUGINS", None)


def compile_plugin(path, *flags, text=None, compiler="cc", source="datasets/plugins/sharpen_z.c"):
    shown = ["-x", "c", "-"] if text else [os.path.join(SOURCE, source)]
    done = subprocess.run([compiler, "-shared", *(["-fPIC"] if compiler == "cc" else []), "-I", os.path.join(SOURCE, "include"),
                           *flags, *shown, "-o", path], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return path


@test
def the_smallest_example_halves_values(folder):
    small = compile_plugin(f"{folder}/darken.so", "-O2", source="docs/example_plugin.c")
    values = VALUES.astype("f4")
    np.save(f"{folder}/v.npy", values)
    plug("run", "npy v.npy spacing=1,1,1 | darken", "-o", "dark.h5", "--device", "cpu", plugin=small, cwd=folder)
    with h5py.File(f"{folder}/dark.h5") as file:
        assert np.array_equal(file["entry/data/data"][:], values / 2)


def plug(*arguments, plugin=PLUGIN, **named):
    return run("--plugin", plugin, *arguments, **named)


def sharpen(folder, output, *options, chain="npy v.npy spacing=1,1,1 | sharpen_z radius=2 amount=0.5", **named):
    np.save(f"{folder}/v.npy", VALUES)
    return plug("run", chain, "-o", output, "--force", "--quiet", "--device", "cpu", *options, cwd=folder, **named)


def least_memory(folder, *command, **named):
    """What the hint of a run with too little memory says, in MiB: it depends on the processors."""
    done = plug(*command, "--memory", "1M", expect=2, cwd=folder, **named)
    return int(re.search(r"--memory (\d+)M would do", done.stderr)[1])


def expected(values, radius=2, amount=0.5):
    """In f32, with sums from low z to high z, as sharpen_z.c has them."""
    padded = np.pad(values.astype("f4"), ((radius, radius), (0, 0), (0, 0)), "symmetric")
    total = np.zeros(values.shape, "f4")
    for k in range(2 * radius + 1):
        total += padded[k:k + len(values)]
    return values + np.float32(amount) * (values - total / np.float32(2 * radius + 1))


def image(path):
    with h5py.File(path) as file:
        return file["entry/data/data"][()]


@test
def help_page_and_schema_have_the_stage(folder):
    assert plug("stages").stdout.splitlines()[-1] == "sharpen_z    sharpen along z"
    page = plug("stages", "sharpen_z").stdout
    digest = hashlib.sha256(open(PLUGIN, "rb").read()).hexdigest()
    for words in ("radius: integer, 1 to 64, unit pixel; default 1", f"version 1.0, of a plugin with SHA-256 {digest}",
                  "on the CPU alone: its table has no map_cuda()", "accuracy\n  not stated"):
        assert words in page, page
    os.mkdir(f"{folder}/pages")
    plug("stages", "--markdown", f"{folder}/pages")
    page = open(f"{folder}/pages/sharpen_z.md").read()
    assert page.startswith("# sharpen_z\n") and "| `radius` | integer | 1 to 64 | pixel |" in page, page
    schema = json.loads(plug("schema").stdout)
    stages = schema["properties"]["stages"]["items"]["oneOf"]
    assert stages[-1]["title"] == "sharpen_z" and "radius" in json.dumps(stages[-1])
    assert "--plugin FILE" in run("--help").stdout and "--plugin FILE" in run("check", "--help").stdout
    run("stages", "sharpen_z", expect=2)


@test
def the_bytes_depend_on_no_cut(folder):
    digests = set()
    for options in ([], ["--threads", "1"], ["--threads", "3"]):
        sharpen(folder, "o.h5", *options)
        digests.add(run("verify", "o.h5", cwd=folder).stdout.split()[-1])
    assert len(digests) == 1
    assert np.array_equal(image(f"{folder}/o.h5"), expected(VALUES))
    values = (np.arange(96 * 192 * 192).reshape(96, 192, 192) * 37 % 251).astype("i2")
    np.save(f"{folder}/large.npy", values)
    chain, slabs = "npy large.npy spacing=1,1,1 | sharpen_z radius=3 amount=0.5", set()
    least = least_memory(folder, "check", chain, "-o", "n.h5", "--device", "cpu")
    for memory in (f"{least}M", f"{least + 12}M", f"{least + 500}M"):
        plug("run", chain, "-o", "o.h5", "--force", "--quiet", "--memory", memory, "--device", "cpu", cwd=folder)
        assert np.array_equal(image(f"{folder}/o.h5"), expected(values, 3)), memory
        slabs.add(json.loads(plug("check", chain, "-o", "n.h5", "--json", "--memory", memory, "--device", "cpu",
                                  cwd=folder).stdout.splitlines()[-1])["slab_slices"])
    assert len(slabs) == 3, slabs


@test
def parameters_and_references_are_checked(folder):
    for chain, words in (("sharpen_z radius=65", "[parameter-range]"), ("sharpen_z radios=1", "did you mean 'radius'"),
                         ("sharpen_z amount=x", "[not-a-number]"), ("sharpen_z mask=none", "[unknown-name]"),
                         ("sharpen_zz", "did you mean 'sharpen_z'"),
                         ("save name=all | sharpen_z mask=all", "sharpen_z: the mask is not of type u8 [sharpen-mask]"),
                         ("sharpen_z | radon | sharpen_z", "[stage-axes]")):
        done = sharpen(folder, "o.h5", chain=f"npy v.npy spacing=1,1,1 | {chain}", expect=2)
        assert words in done.stderr, done.stderr
    chain = "npy v.npy spacing=1,1,1 | threshold above=100 name=t | sharpen_z input=input mask=t radius=2 amount=0.5"
    sharpen(folder, "o.h5", chain=chain)
    assert np.array_equal(image(f"{folder}/o.h5"), np.where(VALUES > 100, expected(VALUES), VALUES))
    done = sharpen(folder, "o.h5", "--device", "cuda", expect=None)
    assert done.returncode and ("has no CUDA code: its table has no map_cuda()" in done.stderr), done.stderr


@test
def results_record_the_plugin(folder):
    sharpen(folder, "o.h5")
    with h5py.File(f"{folder}/o.h5") as file:
        process = file["entry/process_1_sharpen_z"]
        assert process["stage_version"][()] == b"1.0"
        assert process["plugin_sha256"][()].decode() == hashlib.sha256(open(PLUGIN, "rb").read()).hexdigest()
        assert process["parameters/radius"][()] == 2
        assert FOLDER.encode() not in open(f"{folder}/o.h5", "rb").read()
    run("export", "o.h5", "--provenance", "crate", "--date", "2026-01-01", cwd=folder)
    entities = json.load(open(f"{folder}/crate/ro-crate-metadata.json"))["@graph"]
    assert [entity["softwareVersion"] for entity in entities if entity.get("name") == "sharpen_z" and "softwareVersion" in entity] == ["1.0"]


@test
def rerun_and_verify_name_the_plugin_that_they_lack(folder):
    sharpen(folder, "o.h5")
    digest = hashlib.sha256(open(PLUGIN, "rb").read()).hexdigest()
    run("verify", "o.h5", cwd=folder)
    for command in (["rerun", "o.h5", "-i", "v.npy"], ["verify", "o.h5", "--inputs", "v.npy"]):
        done = run(*command, expect=2, cwd=folder)
        assert "sharpen_z" in done.stderr and f"version 1.0, SHA-256 {digest} [plugin-missing]" in done.stderr, done.stderr
        assert "--plugin FILE loads it" in done.stderr, done.stderr
        plug(*command, cwd=folder)
        done = plug(*command, plugin=OTHER, cwd=folder)
        assert f"version 1.0 from the library with SHA-256 {digest}" in done.stderr, done.stderr
        assert "[plugin-other]" in done.stderr, done.stderr
    assert f"{digest}  {PLUGIN}\n" == subprocess.run(["sha256sum", PLUGIN], capture_output=True, text=True).stdout


@test
def a_run_resumes_only_what_the_same_library_computed(folder):
    sharpen(folder, "o.h5")
    chain = "npy v.npy spacing=1,1,1 | sharpen_z radius=2 amount=0.5 | invert"
    done = sharpen(folder, "p.h5", "--resume-from", "o.h5", chain=chain)
    assert "1 of 2 stages are taken" in done.stderr, done.stderr
    command = ["run", chain, "-o", "q.h5", "--resume-from", "o.h5", "--device", "cpu"]
    done = plug(*command, plugin=OTHER, expect=2, cwd=folder)
    assert "from another library [resume-nothing]" in done.stderr, done.stderr


@test
def a_checkpoint_is_of_one_library(folder):
    failing = TABLE.replace("NAME", "keeps").replace("return TS_OK", "return out->z_first > 0 ? TS_RUN_FAILED : TS_OK")
    compile_plugin(f"{folder}/failing.so", text=failing)
    compile_plugin(f"{folder}/right.so", text=TABLE.replace("NAME", "keeps"))
    np.save(f"{folder}/v.npy", np.zeros((64, 256, 256), "u1"))
    command = ["run", "npy v.npy | keeps | statistics", "-o", "o.h5", "--device", "cpu", "--checkpoint", "kept"]
    least = least_memory(folder, *command, plugin=f"{folder}/right.so")
    command += ["--memory", f"{least}M"]
    done = plug(*command, plugin=f"{folder}/failing.so", expect=1, cwd=folder)
    assert "keeps: its map() failed with status 1 and gave no reason [stage-failed]" in done.stderr, done.stderr
    assert os.listdir(f"{folder}/kept")
    done = plug(*command, "--resume", plugin=f"{folder}/right.so", expect=None, cwd=folder)
    assert done.returncode and "[checkpoint-differs]" in done.stderr, done.stderr


@test
def the_environment_names_plugins_too(folder):
    compile_plugin(f"{folder}/second.so", text=TABLE.replace("NAME", "second"))
    for names, count in ((f"{PLUGIN}:{folder}/second.so", 2), (f":{PLUGIN}:", 1), ("", 0), (f"{PLUGIN}:{PLUGIN}", 1)):
        done = subprocess.run([PROGRAM, "stages"], capture_output=True, text=True, env={**os.environ, "TOMOSTAGE_PLUGINS": names})
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.count("sharpen_z") + done.stdout.count("\nsecond ") == count, (names, done.stdout[-200:])
    stages = run("stages", "--plugin", PLUGIN, f"--plugin={folder}/second.so").stdout
    assert "\nsharpen_z " in stages and "\nsecond " in stages
    study = f"{folder}/studies/one"
    os.makedirs(os.path.dirname(study))
    run("phantom", "head", "--size", "16", "--slices", "4", "-o", study)
    with open(f"{folder}/chain.yaml", "w") as file:
        file.write("tomostage: 2\ninput: {dicom: x}\nstages: [sharpen_z]\noutput: {hdf5: o.h5}\n")
    plug("batch", "chain.yaml", "studies", "-o", "results", cwd=folder)
    assert glob.glob(f"{folder}/results/**/*.h5", recursive=True)


TABLE = """
#include <tomostage_stage.h>
static enum ts_status map(const struct ts_call *call, struct ts_image *out) { (void)call; (void)out; return TS_OK; }
static const struct ts_stage stage = {.size = sizeof stage, .name = "NAME", .version = "1", .summary = "a test",
                                      .axes = 1, .dtypes = 1, .map = map};
TS_PUBLIC const struct ts_stage *ts_plugin(size_t i) { return i < 1 ? &stage : NULL; }
"""


@test
def what_is_no_plugin_is_refused(folder):
    with open(f"{folder}/text.so", "w") as file:
        file.write("no library\n")
    os.mkfifo(f"{folder}/fifo.so")
    for name, text in (("none", "int other;"), ("empty", TABLE.replace("i < 1", "i < 0")), ("bad", TABLE.replace("NAME", "B-d")),
                       ("many", TABLE.replace("i < 1", "i < 100")), ("twice", TABLE.replace("i < 1", "i < 2").replace("NAME", "twice")),
                       ("box", TABLE.replace("NAME", "box")), ("npy", TABLE.replace("NAME", "npy")),
                       ("lacks", TABLE + "extern int lacking(void); int (*which)(void) = lacking;")):
        compile_plugin(f"{folder}/{name}.so", text=text)
    for name, words in (("missing.so", "No such file or directory [plugin-unreadable]"), ("", "[plugin-unreadable]"),
                        ("text.so", "[plugin-unreadable]"), ("fifo.so", "[plugin-unreadable]"),
                        ("lacks.so", "undefined symbol: lacking [plugin-unreadable]"),
                        ("none.so", "it has no function ts_plugin [plugin-foreign]"),
                        ("empty.so", "has no stage; it can have 1 to 64 of them [plugin-foreign]"),
                        ("many.so", "has too many stages; it can have 1 to 64 of them [plugin-foreign]"),
                        ("bad.so", "[stage-table]"), ("twice.so", "[stage-taken]"), ("box.so", "box: there is a stage"),
                        ("npy.so", "npy: is the name of an input or output in chains [stage-taken]")):
        done = run("stages", "--plugin", f"{folder}/{name}", expect=2)
        assert words in done.stderr and not done.stdout, (name, done.stderr)
    done = run("check", "npy v.npy | box", "--json", "--plugin", "missing.so", expect=2, cwd=folder)
    assert json.loads(done.stdout)["code"] == "plugin-unreadable", done.stdout
    for arguments, words in ((["stages", "--plugin"], "needs a value"), (["--plugin", "a:b", "stages"], "no colon"),
                             (["--plugin=", "stages"], "has a character at least")):
        assert words in run(*arguments, expect=2).stderr
    with open(f"{folder}/chain.yaml", "w") as file:
        file.write(f"tomostage: 2\nplugin: {PLUGIN}\ninput: {{npy: v.npy}}\nstages: [sharpen_z]\noutput: {{hdf5: o.h5}}\n")
    done = run("check", "chain.yaml", expect=2, cwd=folder)
    assert "unknown-key" in done.stderr and "unknown stage 'sharpen_z'" in done.stderr, done.stderr


@test
def a_map_may_be_a_python_function(folder):
    if os.environ.get("TOMOSTAGE_SANITIZE"):
        raise Skip("Python does not load a library with sanitizers")
    script = os.path.join(SOURCE, "datasets/plugins/python_map.py")
    done = subprocess.run([sys.executable, script, LIBRARY], capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "256 values through Python, 0 wrong\n"), done.stdout + done.stderr
    sys.path.insert(0, os.path.dirname(script))
    import python_map as example  # pylint: disable=import-outside-toplevel,import-error

    library = example.Library(LIBRARY)
    library.add_stage(example.FOLDED)
    values = example.array.array("f", range(4 * 8 * 8))
    right = example.folded_map

    @example.MAP
    def failing(call, out):
        return call.contents.refuse(call, 3, b"own-code", b"what Python said", b"a way out")

    for add, text, words in ((None, "memory volume | folded about=x", "not-a-number"), (None, "memory volume | folde", "did you mean"),
                             (example.Stage(), "", "stage-table"), (example.FOLDED, "", "stage-taken")):
        try:
            if add:
                library.add_stage(add)
            library.run(text, values, (4, 8, 8))
            raise AssertionError(f"{text or words} was not refused")
        except RuntimeError as error:
            assert words in str(error), error
    example.FOLDED.name, example.FOLDED.map = b"fails", failing
    library.add_stage(example.FOLDED)
    try:
        library.run("memory volume | fails", values, (4, 8, 8))
        raise AssertionError("what the map refused went through")
    except RuntimeError as error:
        assert "fails: what Python said [own-code]" in str(error) and "a way out" in str(error), error
    example.FOLDED.name, example.FOLDED.map = b"folded", right
    library.close()


@test
def the_example_on_cuda(folder):
    np.save(f"{folder}/v.npy", VALUES)
    probe = run("run", "npy v.npy | box radius=1", "-o", "b.h5", "--quiet", "--device", "cuda", expect=None, cwd=folder)
    if probe.returncode:
        raise Skip(f"no CUDA device: {probe.stderr.splitlines()[0]}")
    nvcc = shutil.which("nvcc") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/nvcc"))), None)
    if not nvcc:
        raise Skip("nvcc was not found")
    plugin = compile_plugin(f"{folder}/cuda.so", "-Xcompiler=-fPIC,-fopenmp", "-arch=native", "-DSHARPEN_Z_CUDA",
                            os.path.join(SOURCE, "datasets/plugins/sharpen_z.cu"), compiler=nvcc)
    for dtype in ("u1", "u2", "i2", "f4"):
        np.save(f"{folder}/v.npy", VALUES.astype(dtype))
        chain = "npy v.npy spacing=1,1,1 | threshold above=100 name=t | sharpen_z input=input mask=t radius=2 amount=0.5"
        plug("run", chain, "-o", "o.h5", "--quiet", "--force", "--device", "cuda", plugin=plugin, cwd=folder)
        assert np.array_equal(image(f"{folder}/o.h5"), np.where(VALUES > 100, expected(VALUES), VALUES)), dtype


if __name__ == "__main__":
    try:
        compile_plugin(PLUGIN, "-O2", "-fopenmp", "-Wall", "-Wextra", "-Werror")
        compile_plugin(OTHER, "-O1")
        code = run_tests(sys.argv[4:], 2)
    finally:
        shutil.rmtree(FOLDER)
    sys.exit(code)
