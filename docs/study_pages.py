#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/studies.md and the charts in docs/studies from a folder with the output of studies:
for every NAME that `tomostage study` lists, `tomostage study NAME -o FOLDER > FOLDER/NAME.txt`.

Usage: study_pages.py PROGRAM FOLDER 'DEVICE, at COMMIT'"""
import os
import re
import shutil
import subprocess
import sys

HEAD = """# Published experiments, repeated

For people who want to know whether what the literature says of GPUs and methods still holds: you can repeat each experiment here,
and see what came out then and now.

`tomostage study NAME` repeats a published experiment on this machine: it times the methods on the CPU and on a CUDA device,
holds every result against the oracle, prints a table, and with `-o FOLDER` draws a chart. `tomostage study` lists the studies,
`tomostage study all -o FOLDER` carries all of them out and writes a page, and `-i PATH` takes a slice of your own DICOM data
instead of the phantom. Times are medians; bars reach from the 10th to the 90th percentile.

The charts below were made on {where}: `tomostage study NAME -o studies > studies/NAME.txt`
for each, and `docs/study_pages.py` made this page of them.
"""
SENTENCES = re.compile(r"^then: (.*)\nnow: (.*)$", re.M)


def main(program, folder, where):
    docs = os.path.dirname(os.path.abspath(__file__))
    pictures = os.path.join(docs, "studies")
    os.makedirs(pictures, exist_ok=True)
    text = HEAD.format(where=where)
    for line in subprocess.run([program, "study"], check=True, capture_output=True, text=True).stdout.splitlines():
        name, sentence = line.split(maxsplit=1)
        with open(os.path.join(folder, f"{name}.txt"), encoding="utf-8") as file:
            then, now = SENTENCES.search(file.read()).groups()
        text += f"\n## {name}\n\n{sentence[0].upper() + sentence[1:]}.\n\n**Then:** {then}.\n\n**Now:** {now}.\n\n"
        text += f"![chart of the experiment {name}](studies/{name}.svg)\n"
        shutil.copy(os.path.join(folder, f"{name}.svg"), pictures)
    with open(os.path.join(docs, "studies.md"), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:4])
