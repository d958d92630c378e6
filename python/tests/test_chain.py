# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import tomostage as ts


def test_run_gives_images_tables_and_a_digest(ct, tmp_path):
    chain = ts.dicom(ct) | ts.box(radius=2) | ts.save(name="smooth") | ts.statistics(percentiles=[5, 95]) | ts.equalize()
    result = chain.run("cpu", write=tmp_path / "r.h5")
    assert result["smooth"].shape == (8, 64, 64) and result["smooth"].dtype == numpy.int16
    assert result["data"].dtype == numpy.float32 and list(result) == ["smooth", "data"]
    assert result.images["smooth"].quantity == "hu" and result.images["data"].quantity == "intensity"
    statistics = result.tables["statistics"]
    assert statistics["mean"] == pytest.approx(result["smooth"].mean()) and statistics["percentiles"].shape == (2,)
    with ts.open(tmp_path / "r.h5") as file:
        assert file["data"].attrs["sha256_tree"].decode() == result.digest
        assert numpy.array_equal(file["smooth"][()], result["smooth"])
    assert result.warnings == []


def test_digest_is_that_of_the_documentation():
    values = numpy.arange(3 << 18, dtype=numpy.float32)
    data = values.tobytes()
    leaves = b"".join(hashlib.sha256(data[i : i + (1 << 20)]).digest() for i in range(0, len(data), 1 << 20))
    assert ts.digest(values) == hashlib.sha256(len(data).to_bytes(8, "little") + leaves).hexdigest()


def test_a_file_a_line_and_objects_are_the_same_chain(ct, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(f"tomostage: 2\ninput: {{dicom: {ct}}}\nstages:\n  - box: {{radius: 2}}\n  - equalize\n")
    line, objects = f"dicom {ct} | box radius=2 | equalize", ts.dicom(ct) | ts.box(radius=2) | ts.equalize()
    chains = [ts.Chain.load(path), ts.Chain(line), objects]
    assert len({chain.to_yaml() for chain in chains[1:]}) == 1
    assert len({chain.run("cpu").digest for chain in chains}) == 1
    assert ts.Chain(chains[1].to_yaml()).run("cpu").digest == chains[0].run("cpu").digest


def test_paths_of_a_file_are_relative_to_its_folder(ct, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(f"tomostage: 2\ninput: {{dicom: {os.path.relpath(ct, tmp_path)}}}\nstages: [equalize]\n")
    assert (ts.Chain.load(path) | ts.box(radius=1)).run("cpu")["data"].shape == (8, 64, 64)


def test_set_changes_the_chain_or_leaves_it_as_it_was(ct):
    chain = ts.dicom(ct) | ts.box(radius=2)
    three = (ts.dicom(ct) | ts.box(radius=3)).run("cpu").digest
    assert chain.set("box.radius", 3) is chain and chain.run("cpu").digest == three
    for parameter, value in (("box.radius", -1), ("box.radios", 3), ("bix.radius", 3)):
        with pytest.raises(ts.ChainError):
            chain.set(parameter, value)
    assert chain.run("cpu").digest == three
    assert str(chain | ts.equalize()).endswith("box radius=3 | equalize")


def test_check_is_a_table_and_runs_nothing(ct):
    check = (ts.dicom(ct) | ts.box(radius=2)).check()
    assert "8 x 64 x 64" in repr(check) and repr(check) in check._repr_html_().replace("&lt;", "<").replace("&amp;", "&")
    assert check.plan["stages"][1]["parameters"]["radius"] == 2


def test_errors_have_records_and_carets():
    with pytest.raises(ts.ChainError) as error:
        ts.Chain("dicom ct | bxo radius=2 | equalize bins=0")
    first, second = error.value.records
    assert first.code == "unknown-stage" and first.span == (1, 12, 3) and first.hint.startswith("known:")
    assert second.code == "parameter-range" and second.stage == "equalize.bins"
    assert "  1 | dicom ct | bxo radius=2" in str(error.value) and "^~~" in str(error.value)
    assert error.value.status == "bad-chain"
    again = pickle.loads(pickle.dumps(error.value))
    assert again.records == error.value.records and str(again) == str(error.value)


@pytest.mark.parametrize("text, status, code", [
    ("dicom nowhere | box radius=2", "bad-input", "input-unreadable"),
    ("box radius=2", "bad-chain", None),
    ("dicom {ct} | box radius=2 | statistics mask=nothing", "bad-chain", None),
    ("dicom {ct} | backproject", "bad-chain", None)])
def test_errors_of_a_run(ct, text, status, code):
    with pytest.raises(ts.ChainError) as error:
        ts.Chain(text.replace("{ct}", ct)).run("cpu")
    assert error.value.status == status and error.value.records
    assert code is None or error.value.records[0].code == code


def test_a_file_is_replaced_only_if_asked(ct, tmp_path):
    chain, path = ts.dicom(ct) | ts.box(radius=2), tmp_path / "r.nii.gz"
    chain.run("cpu", write=path)
    with pytest.raises(ts.ChainError) as error:
        chain.run("cpu", write=path)
    assert error.value.records[0].code == "output-exists"
    chain.run("cpu", write=path, force=True)


def test_images_go_to_arrays_of_the_caller(ct):
    chain = ts.dicom(ct) | ts.box(radius=2) | ts.save(name="smooth") | ts.equalize()
    smooth = numpy.empty((8, 64, 64), numpy.int16)
    result = chain.run("cpu", out={"smooth": smooth})
    assert result["smooth"] is smooth and numpy.array_equal(smooth, chain.run("cpu")["smooth"])
    every_second = numpy.zeros((16, 64, 64), numpy.int16)[::2]
    chain.run("cpu", out={"smooth": every_second})
    assert numpy.array_equal(every_second, smooth)


@pytest.mark.parametrize("out, code", [
    ({"smoth": numpy.empty((8, 64, 64), numpy.int16)}, "image-unknown"),
    ({"data": numpy.empty((8, 64, 64), numpy.int8)}, "memory-array"),
    ({"data": numpy.empty((8, 64, 65), numpy.int16)}, "memory-array"),
    ({"data": numpy.empty((64, 64, 8), numpy.int16).T}, "memory-array")])
def test_arrays_that_do_not_fit_are_refused(ct, out, code):
    with pytest.raises(ts.ChainError) as error:
        (ts.dicom(ct) | ts.box(radius=2)).run("cpu", out=out)
    assert error.value.records[0].code == code


def test_an_array_that_cannot_be_written_is_refused(ct):
    values = numpy.empty((8, 64, 64), numpy.int16)
    values.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        (ts.dicom(ct) | ts.box(radius=2)).run("cpu", out={"data": values})


def test_a_sweep_is_an_axis(ct):
    result = (ts.dicom(ct) | ts.box(radius=ts.sweep(1, 2))).run("cpu")
    assert result["data"].shape == (2, 8, 64, 64)
    assert numpy.array_equal(result["data"][1], (ts.dicom(ct) | ts.box(radius=2)).run("cpu")["data"])
    assert result.images["data"].axes[0].name == "box_radius"


@pytest.mark.parametrize("text", ["a b", 'a"b', "a\\b", "a=b|c", "a,b", "#2", "null", "~", "-1", "é", "", "[a]"])
def test_any_text_may_be_a_parameter(text):
    chain = ts.nifti("x y") | ts.save(name="a")
    again = ts.Chain(str(ts.dicom("x", series=text) | ts.save(name="a")))
    assert again.to_yaml() == ts.Chain(again.to_yaml()).to_yaml() and 'nifti: "x y"' in chain.to_yaml()
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert f'series: "{escaped}"' in again.to_yaml() or (text in ("", "null", "~") and "series" in again.to_yaml())


def test_threads_run_one_chain(ct):
    chain = ts.dicom(ct) | ts.box(radius=2) | ts.equalize()
    digests = []
    threads = [threading.Thread(target=lambda: digests.append(chain.run("cpu", threads=1).digest)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert digests == [chain.run("cpu").digest] * 4


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy
import tomostage as ts

def wait_and_interrupt():
    main = threading.main_thread().ident
    code = ts.Result.__init__.__code__  # which executes the run
    while sys._current_frames()[main].f_code is not code:
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=wait_and_interrupt, daemon=True).start()
before = signal.getsignal(signal.SIGINT)
x = numpy.zeros((20000, 64, 64), numpy.uint8)
try:
    (ts.memory(x) | ts.nlm(patch_size=7, patch_distance=10, h=1)).run("cpu", memory=70 << 20, threads=1)
except KeyboardInterrupt:
    assert signal.getsignal(signal.SIGINT) is before
    ts.gaussian(x[:4], sigma=1)
    print("stopped")
"""


def test_ctrl_c_stops_a_run_and_other_threads_go_on(tmp_path):
    """The run would take minutes. That the other thread sees it at work shows that the GIL is released."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300)
    assert done.stdout == "stopped\n" and done.stderr == "", done.stderr


def test_memory_does_not_grow(volume):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    chain = ts.memory(volume) | ts.statistics() | ts.save(name="s") | ts.box(radius=1)

    def some(n):
        for _ in range(n):
            chain.run("cpu", threads=1)
            with pytest.raises(ts.ChainError):
                ts.Chain("dicom ct | bxo")

    some(300)
    before = resident()
    some(500)
    assert resident() - before < 4 << 20


def test_an_image_has_the_axis_that_the_run_found():
    angles, pixels, middle = numpy.arange(180.0), numpy.arange(64.0), 27.25
    turns = numpy.radians(angles)[:, None]
    s = pixels[None] - middle - 8 * numpy.cos(turns) - 4 * numpy.sin(turns)
    scan = (2 * numpy.sqrt(numpy.maximum(81 - s**2, 0))).astype("f4")
    image = ts.asimage(scan, spacing=1, angles=angles)
    found = (ts.memory(image) | ts.center()).run("cpu").images["data"]
    assert found.axes[-1].first == pytest.approx(-middle, abs=0.5)
