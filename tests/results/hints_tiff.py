# SPDX-License-Identifier: Apache-2.0
"""Hints about what the texts of TIFF files say of their images: rows of test_hints.py."""
import os
import struct

import numpy as np

from hints_support import carry, rows

IMAGES = (np.arange(9 * 8 * 8).reshape(9, 8, 8) * 7 % 251).astype("u2")
SLICES = "pages=slices pixel_size=1 spacing_z=1"
OME = '<OME%s><Image><Pixels DimensionOrder="XYZCT" SizeX="8" SizeY="8" SizeZ="%d" SizeC="1" SizeT="1">%s</Pixels></Image></OME>'


def write(path, images, text):
    """A file of one page an image, the first of which has the text."""
    file, pages = bytearray(b"II*\0\0\0\0\0"), []
    text = text.encode() + b"\0"
    for image in images:
        pages.append(len(file))
        file += np.ascontiguousarray(image, "<u2").tobytes()
    at = len(file)
    file += text
    struct.pack_into("<I", file, 4, len(file))
    for i, pixels in enumerate(pages):
        tags = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1)]
        tags += [(270, 2, len(text), at)] if i == 0 else []
        tags += [(273, 4, 1, pixels), (278, 4, 1, 8), (279, 4, 1, 128)]
        after = len(file) + 2 + 12 * len(tags) + 4
        file += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
        file += struct.pack("<I", after if i + 1 < len(pages) else 0)
    with open(path, "wb") as out:
        out.write(file)


@rows
def images_of_several_axes(folder):
    write(f"{folder}/c.tif", IMAGES[:4], "ImageJ=1.53t\nimages=4\nchannels=4\n")
    carry(folder, f"tiff c.tif {SLICES}", "pick: [0, 4] takes the first channel, pick: [0, 1] all images", f"tiff c.tif {SLICES} pick=0,4", IMAGES[:1])
    carry(folder, f"tiff c.tif {SLICES}", "pick: [0, 4] takes the first channel, pick: [0, 1] all images", f"tiff c.tif {SLICES} pick=0,1", IMAGES[:4])
    write(f"{folder}/t.tif", IMAGES[:6], '{"shape": [2, 3, 8, 8], "axes": "TZYX"}')
    for pick, right in (("0,1,3", IMAGES[:3]), ("3,1,3", IMAGES[3:6])):
        carry(folder, f"tiff t.tif {SLICES}", "pick: [0, 1, 3] takes the slices of the first time, pick: [3, 1, 3] those of the second",
              f"tiff t.tif {SLICES} pick={pick}", right)
    os.makedirs(f"{folder}/each")
    for i in range(3):
        write(f"{folder}/each/z{i}.tif", IMAGES[2 * i : 2 * i + 2], "ImageJ=1.53t\nimages=2\nchannels=2\n")
    carry(folder, f"tiff each {SLICES}", "pick: [0, 2] takes the first channel of each file", f"tiff each {SLICES} pick=0,2", IMAGES[:6:2])


def write_set(folder, order):
    """A set of files of one image each, which come in another order by their names."""
    os.makedirs(folder)
    data = "".join(f'<TiffData IFD="0" FirstZ="{at}"><UUID>urn:uuid:{i}</UUID></TiffData>' for i, at in enumerate(order))
    for i, at in enumerate(order):
        write(f"{folder}/s{i}.ome.tif", IMAGES[at : at + 1], OME % (f' UUID="urn:uuid:{i}"', len(order), data))


@rows
def files_of_a_set(folder):
    write_set(f"{folder}/few", (1, 0))
    carry(folder, f"tiff few {SLICES}", "tiff: [few/s1.ome.tif, few/s0.ome.tif] reads them in the order of their images",
          f"tiff [few/s1.ome.tif, few/s0.ome.tif] {SLICES}", IMAGES[:2])
    many = list(range(9))
    many[3], many[4] = 4, 3
    write_set(f"{folder}/many", many)
    listed = ", ".join(f"many/s{many.index(i)}.ome.tif" for i in range(9))
    carry(folder, f"tiff many {SLICES}", "tiff: [FILE, FILE, ...] reads files in the order of the list", f"tiff [{listed}] {SLICES}", IMAGES)
