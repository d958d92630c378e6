# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the program, and a head of 8 slices as a DICOM series."""
import subprocess

import numpy
import pytest

from tomostage.results import program


@pytest.fixture(scope="session")
def ct(tmp_path_factory):
    """A folder with a CT of a phantom."""
    folder = tmp_path_factory.mktemp("phantom") / "ct"
    subprocess.run([program(), "phantom", "head", "-o", folder, "--size", "64", "--slices", "8", "--quiet"], check=True)
    return str(folder)


@pytest.fixture
def volume():
    return numpy.random.default_rng(1).random((4, 32, 24), numpy.float32)
