# SPDX-License-Identifier: Apache-2.0
"""What a person sees and keeps: files of a result in memory, pictures, progress, the table of a check."""
import subprocess
import sys
from html.parser import HTMLParser

import numpy
import pytest

import tomostage as ts


def chain_of(ct):
    return ts.dicom(ct) | ts.box(radius=2) | ts.save(name="smooth") | ts.statistics() | ts.equalize()


@pytest.mark.parametrize("suffix", ["h5", "nii", "nii.gz", "tif"])
def test_a_result_is_written_as_a_run_writes_it(ct, tmp_path, suffix):
    chain = ts.dicom(ct) | ts.box(radius=2)
    chain.run("cpu", write=tmp_path / f"run.{suffix}")
    result = chain.run("cpu")
    result.save(tmp_path / f"saved.{suffix}")
    parameters = {"pages": "slices", "pixel_size": 0.8, "spacing_z": 2.5} if suffix == "tif" else {}
    run, saved = (ts.read(tmp_path / f"{name}.{suffix}", **parameters) for name in ("run", "saved"))
    assert numpy.array_equal(saved.array, run.array) and numpy.array_equal(saved.array, result["data"])
    assert saved.affine == pytest.approx(run.affine, abs=1e-5) and saved.dtype == run.dtype
    assert (saved.quantity, saved.unit) == (run.quantity, run.unit)
    if suffix.startswith("nii"):
        assert (tmp_path / f"saved.{suffix}").read_bytes() == (tmp_path / f"run.{suffix}").read_bytes()


def test_a_saved_result_has_all_images_and_is_whole(ct, tmp_path):
    result = chain_of(ct).run("cpu")
    result.save(tmp_path / "r.h5")
    assert ts.verify(tmp_path / "r.h5")
    for name in ("smooth", "data"):
        image = ts.read(tmp_path / "r.h5", image=name)
        assert numpy.array_equal(image.array, result[name]) and image.origin == pytest.approx(result.images[name].origin)
        assert image.quantity == result.images[name].quantity
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["entry/data/data"].attrs["sha256_tree"].decode() == result.digest
        assert b"memory" in file["entry/provenance/chain"][()]  # the record says where the images came from


def test_saving_warns_and_refuses_as_a_run_does(ct, tmp_path):
    result = chain_of(ct).run("cpu")
    with pytest.warns(ts.ChainWarning, match="output-drops-image"):
        result.save(tmp_path / "r.nii.gz")
    for path, code in (("r.nii.gz", "output-exists"), ("r.xyz", "output-suffix")):
        with pytest.raises(ts.ChainError) as error:
            result.images["data"].save(tmp_path / path)
        assert error.value.records[0].code == code
    result.images["data"].save(tmp_path / "r.nii.gz", force=True)
    assert numpy.array_equal(ts.read(tmp_path / "r.nii.gz").array, result["data"])


def test_invalid_pixels_a_scan_and_a_sweep_are_saved(ct, volume, tmp_path):
    valid = volume > 0.2
    (ts.asimage(volume, valid=valid) | ts.statistics()).run("cpu").save(tmp_path / "masked.h5")
    assert numpy.array_equal(ts.read(tmp_path / "masked.h5").valid, valid)
    scan = ts.asimage(volume, angles=numpy.arange(32) * 3.0, beam=("fan-flat", 200.0, 300.0), spacing=(1, 0, 0.5))
    scan.save(tmp_path / "scan.h5")
    again = ts.read(tmp_path / "scan.h5")
    assert again.beam == scan.beam and again.axes[1].positions == scan.axes[1].positions and again.spacing[2] == 0.5
    (ts.dicom(ct) | ts.box(radius=ts.sweep(1, 2))).run("cpu").save(tmp_path / "sweep.h5")
    assert ts.read(tmp_path / "sweep.h5").axes[0].name == "box_radius"


def test_an_image_shows_itself(ct, tmp_path):
    image = ts.read(ct)
    picture = image.show()
    assert picture._repr_png_() == picture.png and picture.png[:8] == b"\x89PNG\r\n\x1a\n"
    assert "axial slice 3" in picture.text and "-160 to 240 HU" in repr(picture)
    all_planes = image.show(tmp_path / "p.png", plane="all", window="0/100")
    assert (tmp_path / "p.png").read_bytes() == all_planes.png != picture.png
    assert "sagittal" in all_planes.text and "-50 to 50 HU" in all_planes.text
    picture.save(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes() == picture.png
    with pytest.raises(ts.ChainError, match="plane"):
        image.show(plane="axle")


def test_a_function_gets_the_progress(ct):
    events = []
    chain_of(ct).run("cpu", progress=events.append)
    assert events[0].kind == "started" and events[-1].kind == "finished" and {one.passes for one in events} == {2}
    assert [one.slices_done for one in events if one.kind == "progress"][-1] == 8 == events[-1].slices
    events.clear()
    sirt = ts.memory(numpy.ones((1, 8, 8), "float32")) | ts.radon(views=12) | ts.sirt(iterations=3)
    sirt.run("cpu", progress=events.append)
    assert {(one.stage, one.iteration, one.iterations) for one in events if one.kind == "iteration"} >= {("sirt", 3, 3)}
    events.clear()
    (ts.dicom(ct) | ts.crop(above=-500) | ts.box(radius=1)).run("cpu", progress=events.append)
    assert {one.search for one in events} == {"crop", None}


@pytest.mark.parametrize("stages", [ts.box(radius=1), ts.crop(above=-500) | ts.box(radius=1), ts.statistics()])
def test_an_error_in_the_function_stops_the_run(ct, stages, tmp_path):
    def fail(event):
        raise ZeroDivisionError("of the function")

    with pytest.raises(ZeroDivisionError, match="of the function"):
        (ts.dicom(ct) | stages).run("cpu", progress=fail, write=tmp_path / "r.h5")
    assert list(tmp_path.iterdir()) == []
    assert (ts.dicom(ct) | stages).run("cpu", progress=lambda event: None)["data"].ndim == 3


def test_progress_is_shown_in_a_terminal_only(ct):
    text = f"import tomostage as ts; (ts.dicom({ct!r}) | ts.box(radius=2)).run('cpu', progress=True)"
    plain = "import sys; sys.modules['tqdm'] = None; sys.modules['tqdm.auto'] = None; "
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
    shown = in_terminal(plain + text)
    assert "pass 1 of 1: slice 8 of 8" in shown and shown.endswith("\n")
    pytest.importorskip("tqdm")
    assert "8/8" in in_terminal(text)


@pytest.mark.parametrize("widgets", [False, True])
def test_progress_is_shown_in_a_notebook(ct, widgets):
    """A notebook has no terminal, and a shell of this name. Without tqdm a line is printed."""
    text = f"""
import sys, types
class ZMQInteractiveShell: pass
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=ZMQInteractiveShell)
if not {widgets}:
    sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
import tomostage as ts
(ts.dicom({ct!r}) | ts.box(radius=2)).run("cpu", progress=True)
"""
    if widgets:
        pytest.importorskip("tqdm")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert ("8/8" if widgets else "pass 1 of 1: slice 8 of 8") in done.stderr and "Warning" not in done.stderr


def in_terminal(text):
    """Runs Python in a terminal of 24 lines and 120 columns, and returns what it shows."""
    import fcntl
    import os
    import pty
    import struct
    import termios

    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", text], stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(main, 1 << 16):
            shown += part
    except OSError:
        pass  # the terminal is closed
    os.close(main)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def test_a_check_is_a_table_of_html(ct):
    class Cells(HTMLParser):
        rows, cell = [], None

        def handle_starttag(self, tag, attributes):
            self.rows += [[]] * (tag == "tr")
            if tag == "tr":
                self.rows[-1] = []
            self.cell = tag

        def handle_data(self, data):
            if self.cell in ("td", "th"):
                self.rows[-1].append(data)

    check, parser = chain_of(ct).check(), Cells()
    parser.feed(check._repr_html_())
    assert [row[0] for row in parser.rows] == ["stage", "input", "box", "save", "statistics", "equalize"]
    assert parser.rows[1][1:6] == ["8 x 64 x 64", "i16", "hu", "HU", "-"] and parser.rows[5][7] == "2"
    assert repr(check).splitlines()[0].split() == parser.rows[0]
    html = (ts.asimage(numpy.ones((1, 4, 4), "float32"), unit="<i>&") | ts.box(radius=1)).check()._repr_html_()
    assert "<i>" not in html and "<td>&lt;i&gt;&amp;</td>" in html
