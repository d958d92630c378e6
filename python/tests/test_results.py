# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest

import tomostage as ts


@pytest.fixture(scope="module")
def result(ct, tmp_path_factory):
    path = tmp_path_factory.mktemp("result") / "r.h5"
    (ts.dicom(ct) | ts.box(radius=2) | ts.save(name="smooth") | ts.statistics() | ts.equalize()).run("cpu", write=path)
    return path


def test_open_reads_what_is_asked_for(result):
    pytest.importorskip("h5py")
    with ts.open(result) as file:
        assert list(file) == ["data", "smooth"] and len(file) == 2
        assert file["smooth"][3].shape == (64, 64) and "box" in file.chain and len(file.digest) == 64
        assert file.warnings == [] and file.tables["statistics"]["count"] == 8 * 64 * 64
        image = file.image("smooth")
    assert image.quantity == "hu" and image.origin == pytest.approx((-25.2, -25.2, -8.75))


def test_verify_says_what_was_changed(result, ct, tmp_path):
    report = ts.verify(result)
    assert report and "digest" in report
    assert ts.verify(result, ct)
    broken = tmp_path / "broken.h5"
    data = bytearray(result.read_bytes())
    data[len(data) // 2] ^= 1
    broken.write_bytes(data)
    assert not ts.verify(broken) and ts.verify(broken).returncode == 3


def test_rerun_and_diff(result, ct, tmp_path):
    assert ts.rerun(result, ct, output=tmp_path / "again.h5")
    assert ts.diff(result, tmp_path / "again.h5")
    other = ts.dicom(ct) | ts.box(radius=3) | ts.save(name="smooth") | ts.statistics() | ts.equalize()
    other.run("cpu", write=tmp_path / "3.h5")
    assert not ts.diff(result, tmp_path / "3.h5")
    with pytest.raises(ts.ChainError) as error:
        ts.diff(result, tmp_path / "nowhere.h5")
    assert error.value.status == "bad-input"


def test_batch_runs_many(ct, tmp_path):
    ts.batch(ts.dicom(ct) | ts.box(radius=1), ct, output=tmp_path / "all", quiet=True)
    assert (tmp_path / "all" / "ct.h5").exists()
    assert numpy.array_equal(ts.read(tmp_path / "all" / "ct.h5").array, ts.box(ts.read(ct).array, radius=1))
