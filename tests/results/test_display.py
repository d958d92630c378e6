#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tomostage study display` through EGL and OpenGL, without a display: the study itself holds each picture that it reads back
against the CPU's, and counts those that went through host memory; a row stands for pictures that were right.

Usage: test_display.py PROGRAM; 77 where this machine has no OpenGL that needs no display, which it says loudly."""
import json
import os
import subprocess
import sys
import tempfile

SIDES = [256, 512]


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.argv[1], "study", "display", "--most", str(SIDES[-1] ** 2), "--runs", "2", "-o", folder]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout
        rows = json.load(open(os.path.join(folder, "display.json"), encoding="utf-8"))
        assert "frames" in text and os.path.getsize(os.path.join(folder, "display.svg")) > 0, text
    if not rows:
        assert "\nno rows" in text, text
        print(f"!!!! SKIPPED: NO PICTURE WAS SHOWN !!!!\n{text}")
        return 77
    for subject in ["file", "memory"]:
        cpu = [row for row in rows if (row["device"], row["subject"]) == ("CPU", subject)]
        assert [row["side"] for row in cpu] == SIDES, text
    assert all(row["error"] == 0 and row["frames_per_second"] > 0 for row in rows), text
    print(f"{len(rows)} rows of pictures that came to the screen as they should")
    return 0


sys.exit(main())
