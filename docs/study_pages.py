#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/studies.md and the charts in docs/studies from a folder that `tomostage study all -o FOLDER` wrote.

Usage: study_pages.py FOLDER 'DEVICE, at COMMIT'"""
import html
import os
import re
import shutil
import sys

HEAD = """# Studies

`tomostage study NAME` repeats a published experiment on this machine: it times the methods on the CPU and on a CUDA device,
holds every result against the oracle, prints a table, and with `-o FOLDER` draws a chart. `tomostage study` lists the studies,
`tomostage study all -o FOLDER` carries all of them out and writes a page, and `-i PATH` takes a slice of your own DICOM data
instead of the phantom. Times are medians; bars reach from the 10th to the 90th percentile.

The charts below were made on {where}, by
`tomostage study all -o studies`; this page by `docs/study_pages.py studies`.
"""
PART = re.compile(r'<h2 id="([^"]+)">.*?</h2>\n<p>(.*?)</p>\n<p><b>Then:</b> (.*?)</p>\n<p><b>Now:</b> (.*?)</p>', re.S)


def main(folder, where):
    docs = os.path.dirname(os.path.abspath(__file__))
    pictures = os.path.join(docs, "studies")
    os.makedirs(pictures, exist_ok=True)
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        parts = PART.findall(file.read())
    text = HEAD.format(where=where)
    for name, sentence, then, now in parts:
        sentence, then, now = (html.unescape(part).strip() for part in (sentence, then, now))
        text += f"\n## {name}\n\n{sentence[0].upper() + sentence[1:]}.\n\n**Then:** {then}.\n\n**Now:** {now}.\n\n"
        text += f"![chart of the study {name}](studies/{name}.svg)\n"
        shutil.copy(os.path.join(folder, f"{name}.svg"), pictures)
    with open(os.path.join(docs, "studies.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{len(parts)} studies")


if __name__ == "__main__":
    main(*sys.argv[1:3])
