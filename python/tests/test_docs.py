# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md, one after the other, beside a study."""
import os
import pathlib
import re
import shutil

import pytest

import tomostage as ts

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::tomostage.ChainWarning")
def test_examples_run(ct, tmp_path, capsys):
    shutil.copytree(ct, tmp_path / "study")
    before, names, skipped = os.getcwd(), {}, []
    os.chdir(tmp_path)
    try:
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            packages = {name for name in ("torch", "h5py", "nibabel", "jax") if f"import {name}" in block or f"to_{name}" in block}
            if "ts.open" in block:
                packages.add("h5py")
            missing = [name for name in packages if not _is_there(name)]
            if missing:
                skipped += missing
                continue
            exec(compile(block, "docs/python.md", "exec"), names)
    finally:
        os.chdir(before)
    printed = capsys.readouterr().out
    for line in re.search(r"prints\n\n((?:    .*\n)+)", PAGE)[1].splitlines():
        assert line[4:] in printed
    assert names["result"].images["smooth"].spacing == pytest.approx((2.5, 0.8, 0.8)) and names["wide"].shape == (3, 8, 64, 64)
    if skipped:
        pytest.skip(f"the examples with {', '.join(sorted(set(skipped)))}, which is not installed")


def _is_there(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def test_names_of_the_page_are_public():
    for name in set(re.findall(r"\bts\.(\w+)", PAGE)):
        assert hasattr(ts, name), name
