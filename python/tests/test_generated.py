# SPDX-License-Identifier: Apache-2.0
"""stages.py is what its tables say; docs/errors.md is held in the same way."""
import pathlib
import subprocess
import sys

import tomostage as ts
from tomostage.results import program

GENERATE = pathlib.Path(__file__).parents[1] / "generate.py"


def test_stages_are_those_of_the_tables():
    done = subprocess.run([sys.executable, GENERATE, program(), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_stage_is_a_part_of_a_chain():
    assert str(ts.dicom("study", series=2) | ts.gaussian(sigma=[1, 2]) | ts.save(name="a")) == \
        "dicom study series=2 | gaussian sigma=[1, 2] | save name=a"
