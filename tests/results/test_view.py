#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tomostage view` in a window, on an X server without a screen (Xvfb): what stands in the window is the picture that
--frames writes, to the gray level, before and after keys and clicks; the window closes by its key, with exit code 0; a chain
that is run and shown leaves its result. Through EGL without any display the pictures are the same bytes too.

Usage: test_view.py PROGRAM; 77 where tomostage-view was not built, or Xvfb or xdotool is missing, which it says loudly."""
import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy

WIDTH, HEIGHT, SECONDS = 640, 400, 60


def pixels_of(path):
    """The picture of a PNG with 8 bits of red, green, blue and opacity, without its opacity."""
    data, chunks, at = open(path, "rb").read(), {}, 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8:at + 8 + length]
        at += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, color) == (8, 6), (depth, color)
    rows = numpy.frombuffer(zlib.decompress(chunks[b"IDAT"]), numpy.uint8).reshape(height, 1 + 4 * width)
    out = numpy.zeros((height + 1, width + 1, 4), int)  # a row and a column of zeros before the first ones
    for y, row in enumerate(rows):
        kind, line = row[0], row[1:].reshape(width, 4).astype(int)
        if kind == 0:
            out[y + 1, 1:] = line
        elif kind == 2:
            out[y + 1, 1:] = (line + out[y, 1:]) & 255
        else:
            for x in range(width):
                a, b, c = out[y + 1, x], out[y, x + 1], out[y, x]
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                paeth = numpy.where((pa <= pb) & (pa <= pc), a, numpy.where(pb <= pc, b, c))
                out[y + 1, x + 1] = (line[x] + {1: a, 3: (a + b) // 2, 4: paeth}[kind]) & 255
    return out[1:, 1:, :3].astype(numpy.uint8)


def screen_of(folder):
    """What the X server shows, from the file in the form of xwd that it keeps."""
    data = open(os.path.join(folder, "Xvfb_screen0"), "rb").read()
    head = struct.unpack(">25I", data[:100])
    start, width, height, line = head[0] + 12 * head[19], head[4], head[5], head[12]
    rows = numpy.frombuffer(data[start:start + line * height], numpy.uint8).reshape(height, line)
    return rows[:, :4 * width].reshape(height, width, 4)[:, :, 2::-1]


def wait_for(what, condition):
    end = time.time() + SECONDS
    while not condition():
        if time.time() > end:
            sys.exit(f"view: {what} did not come within {SECONDS} s")
        time.sleep(0.1)


def frame(program, folder, shown, *more):
    """The picture that the program writes into a file."""
    out = os.path.join(folder, "frames")
    command = [program, "view", shown, "--device", "cpu", "--slice", "4", "--size", f"{WIDTH}x{HEIGHT}", "--frames", out, "--force"]
    subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)
    return pixels_of(os.path.join(out, "frame_0000.png"))


def press(display, *arguments):
    subprocess.run(["xdotool", *arguments], check=True, env=display, timeout=SECONDS)


def try_window(display, program, folder, study):
    """A study: its picture, keys, a click, and the end."""
    same = lambda picture: lambda: numpy.array_equal(screen_of(folder), picture)
    command = [program, "view", study, "--device", "cpu", "--slice", "4", "--size", f"{WIDTH}x{HEIGHT}"]
    with ended(subprocess.Popen(command, env=display)) as viewer:
        wait_for("the first picture", same(frame(program, folder, study)))
        press(display, "type", "p4ci")
        wait_for("the picture after keys", same(frame(program, folder, study, "--keys", "p4ci")))
        press(display, "type", ".")
        changed = frame(program, folder, study, "--keys", "p4ci.")
        wait_for("the next slice", same(changed))
        press(display, "mousemove", "60", "60", "click", "1")
        wait_for("the cross-hair's move", lambda: not numpy.array_equal(screen_of(folder), changed))
        press(display, "type", "q")
        if viewer.wait(timeout=SECONDS) != 0:
            sys.exit(f"view: the window ended with {viewer.returncode}")


def try_run(display, program, folder, study):
    """A chain that is run and shown: in the end its result is, and it has its name."""
    output = os.path.join(folder, "out.h5")
    command = [program, "run", f"dicom {study} | save name=first | box radius=2 | equalize", "-o", output, "--view", "--device",
               "cpu"]
    with ended(subprocess.Popen(command, env=display)) as viewer:
        wait_for("the result", lambda: os.path.exists(output))
        time.sleep(0.5)  # the window opens it
        press(display, "type", "s")
        shot = os.path.join(folder, "view_000.png")
        wait_for("the screenshot", lambda: os.path.exists(shot))
        press(display, "type", "q")
        if viewer.wait(timeout=SECONDS) != 0:
            sys.exit(f"view: the run ended with {viewer.returncode}")
    subprocess.run([program, "verify", output], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def ended(process):
    """The process, which does not outlive the block."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def try_windows(program, folder, study):
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", folder, "-nolisten", "tcp",
               "-noreset"]
    with ended(subprocess.Popen(command, pass_fds=[write])):
        os.close(write)
        with os.fdopen(read) as numbers:  # a line, in two writes: the server ends where it cannot write the second one
            display = {**os.environ, "DISPLAY": ":" + numbers.readline().strip()}
        os.chdir(folder)
        try_window(display, program, folder, study)
        try_run(display, program, folder, study)


def main():
    program = os.path.abspath(sys.argv[1])
    if not os.path.exists(os.path.join(os.path.dirname(program), "tomostage-view")):
        print("!!!! SKIPPED: tomostage-view was not built, for want of GLFW, EGL or OpenGL: NO WINDOW WAS TRIED !!!!")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        study = os.path.join(folder, "study")
        subprocess.run([program, "phantom", "shepp-logan", "-o", study], check=True, stdout=subprocess.DEVNULL)
        alone, through = frame(program, folder, study), frame(program, folder, study, "--screen", "egl")
        if not numpy.array_equal(alone, through):
            sys.exit("view: the picture that went through OpenGL is another one")
        missing = [name for name in ["Xvfb", "xdotool"] if not shutil.which(name)]
        if missing:
            print(f"!!!! SKIPPED: {' and '.join(missing)} missing: NO WINDOW WAS TRIED !!!!")
            return 77
        try_windows(program, folder, study)
    print("the window shows what the renderer draws, to the gray level, and obeys its keys")
    return 0


sys.exit(main())
