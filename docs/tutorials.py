#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes notebooks of the pages in docs/tutorials, runs each in a Jupyter kernel of this Python, and compares what its cells print
with the page: a block ```text after a block ```python shows it. A page that needs PyTorch or public data is left out, with a message,
where there is none.

Usage: tutorials.py OUT [--write] [NAME...]
  OUT      gets the notebooks, NAME.ipynb, with what their cells gave
  --write  puts what the cells print, and their pictures, into the pages, for you to look at before you commit it
  NAME     of a tutorial; without one all are run

Needs the package tomostage, tomostage on PATH, h5py, pydicom, nibabel, matplotlib, nbclient and ipykernel (Debian: python3-nbclient
python3-ipykernel), and for some pages PyTorch. TOMOSTAGE_DATA names the public data (datasets/README.md)."""
import base64
import glob
import importlib.util
import io
import json
import os
import re
import shutil
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tutorials")
TOOTH = "projections/tomopy_tooth/tooth.h5"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?(?:\n!\[[^]]*\]\((\S+)\)\n)?", re.DOTALL)


def notebook_of(text):
    """The notebook of a page, whose cells of code know what the page shows below them."""
    cells, end = [], 0
    for block in BLOCK.finditer(text):
        cells.append(nbformat.v4.new_markdown_cell(text[end:block.start()].strip()))
        cells.append(nbformat.v4.new_code_cell(block[1].rstrip(), metadata={"shown": [block[2] or "", block[3]]}))
        end = block.end()
    cells.append(nbformat.v4.new_markdown_cell(text[end:].strip()))
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    return nbformat.v4.new_notebook(cells=[cell for cell in cells if cell.source])


def run(notebook, folder, files):
    """In a kernel of this Python, in a folder of its own."""
    os.makedirs(os.path.join(folder, "jupyter/kernels/here"))
    with open(os.path.join(folder, "jupyter/kernels/here/kernel.json"), "w", encoding="utf-8") as file:
        json.dump({"argv": [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                   "display_name": "here", "language": "python"}, file)
    os.environ.update(JUPYTER_PATH=os.path.join(folder, "jupyter"), MPLBACKEND="module://matplotlib_inline.backend_inline")
    os.mkdir(os.path.join(folder, "work"))
    for file in files:
        shutil.copy(file, os.path.join(folder, "work"))
    NotebookClient(notebook, kernel_name="here", timeout=600, resources={"metadata": {"path": os.path.join(folder, "work")}}).execute()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}


def given(cell):
    """What a cell printed, and its picture as PNG."""
    said, picture = "", None
    for output in cell.outputs:
        data = output.get("data", {})
        said += output.text if output.output_type == "stream" else "" if "image/png" in data else data.get("text/plain", "") + "\n"
        picture = base64.b64decode(data["image/png"]) if "image/png" in data else picture
    return said, picture


def compare(name, notebook, text, write):
    """The faults of a notebook that has run, and the page with what it printed."""
    faults = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        (shown, file), (said, picture) = cell.metadata.pop("shown"), given(cell)
        if (picture is None) != (file is None):
            faults.append(f"{name}: a cell {'draws no picture for ' + file if file else 'draws a picture that the page does not show'}\n{cell.source}")
        elif file and write:
            Image.open(io.BytesIO(picture)).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(os.path.join(PAGES, file), optimize=True)
        if said != shown:
            faults.append(f"{name}: a cell prints\n{said}--- the page shows\n{shown}--- the cell\n{cell.source}")
            code = f"```python\n{cell.source}\n```\n"
            old, new = (code + (f"\n```text\n{lines}```\n" if lines else "") for lines in (shown, said))
            text = text.replace(old, new, 1)
    return faults, text


def lacks(text):
    """What a page needs that is not here, or None."""
    if "import torch" in text and not importlib.util.find_spec("torch"):
        return "PyTorch is not installed"
    data = os.environ.get("TOMOSTAGE_DATA")
    if "tooth.h5" in text and not (data and os.path.exists(os.path.join(data, TOOTH))):
        return "TOMOSTAGE_DATA names no folder with " + TOOTH
    return None


def main(out, names, write):
    os.makedirs(out, exist_ok=True)
    faults, ran = [], 0
    for path in sorted(glob.glob(os.path.join(PAGES, "*.md"))):
        name = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        notebook = notebook_of(text)
        if name == "README" or names and name not in names:
            continue
        if lacks(text):
            print(f"SKIPPED {name}: {lacks(text)}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(notebook, folder, [os.path.join(os.environ["TOMOSTAGE_DATA"], TOOTH)] if "tooth.h5" in text else [])
            except CellExecutionError as error:
                faults.append(f"{name}: {error}")
                continue
        found, text = compare(name, notebook, text, write)
        ran, faults = ran + 1, faults + found
        nbformat.write(notebook, os.path.join(out, name + ".ipynb"))
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    print(f"tutorials: {ran} ran in a kernel, their notebooks are in {out}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    options = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not options or set(sys.argv[1:]) - set(options) - {"--write"}:
        sys.exit(__doc__)
    main(options[0], options[1:], "--write" in sys.argv)
