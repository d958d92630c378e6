# SPDX-License-Identifier: Apache-2.0
"""Hints about what the texts of TIFF files say of their images: rows of test_hints.py."""
import json
import os
import struct

import numpy as np

from harness import run
from hints_support import carry, rows

IMAGES = (np.arange(9 * 8 * 8).reshape(9, 8, 8) * 7 % 251).astype("u2")
SLICES = "pages=slices pixel_size=1 spacing_z=1"
OME = '<OME%s><Image><Pixels DimensionOrder="XYZCT" SizeX="8" SizeY="8" SizeZ="%d" SizeC="1" SizeT="1">%s</Pixels></Image></OME>'


def write(path, images, text, tag=270):
    """A file of one page an image, the first of which has the text in this tag."""
    file, pages, pixels_wide = bytearray(b"II*\0\0\0\0\0"), [], [len(image[0]) for image in images]
    text = text.encode() + b"\0"
    for image in images:
        pages.append(len(file))
        file += np.ascontiguousarray(image, "<u2").tobytes()
    at = len(file)
    file += text
    struct.pack_into("<I", file, 4, len(file))
    for i, pixels in enumerate(pages):
        tags = [(256, 4, 1, pixels_wide[i]), (257, 4, 1, 8), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1)]
        tags += [(270, 2, len(text), at)] if i == 0 and tag == 270 else []
        tags += [(273, 4, 1, pixels), (278, 4, 1, 8), (279, 4, 1, 16 * pixels_wide[i])]
        tags += [(tag, 2, len(text), at)] if i == 0 and tag != 270 else []
        after = len(file) + 2 + 12 * len(tags) + 4
        file += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
        file += struct.pack("<I", after if i + 1 < len(pages) else 0)
    with open(path, "wb") as out:
        out.write(file)


@rows
def tags_of_gdal(folder):
    """What is missing, and how values are scaled, is told of by name; what changes nothing is not."""
    item = '<GDALMetadata>\n  <Item name="SCALE" sample="0" role="scale">%s</Item>\n  <Item name="OFFSET" sample="0" role="offset">%s</Item>\n</GDALMetadata>'
    for tag, text, told in (
        (42113, "65535", "values of 65535 were not measured"),
        (42113, "00000", "values of 0 were not measured"),
        (42113, " 7.00", "values of 7 were not measured"),
        (42113, "-9999", None),  # unsigned integers are never that
        (42113, "nan  ", None),
        (42113, "words", None),
        (42112, item % (0.1, 5), "values are 5 + 0.1 * what is stored"),
        (42112, item % (1, -1024), "values are -1024 + 1 * what is stored"),
        (42112, item % ("2e-3", 0), "values are 0 + 0.002 * what is stored"),
        (42112, item % (1, 0), None),
        (42112, '<GDALMetadata><Item name="scale">3</Item></GDALMetadata>', None),
    ):
        write(f"{folder}/g.tif", IMAGES[:4], text, tag)
        done = run("run", f"tiff g.tif {SLICES}", "-o", "out.h5", "--quiet", "--force", cwd=folder)
        assert told in done.stderr if told else "[field-unused]" not in done.stderr, f"{text}: {done.stderr}"


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


@rows
def several_images(folder):
    image = '<Image><Pixels DimensionOrder="XYZCT" SizeX="8" SizeY="8" SizeZ="%d" SizeC="1" SizeT="1"><TiffData IFD="%d" PlaneCount="%d"/></Pixels></Image>'
    write(f"{folder}/two.ome.tif", IMAGES[:7], f"<OME>{image % (4, 0, 4)}{image % (3, 4, 3)}</OME>")
    hint = "pick: [0, 1, 4] takes the pages of the first, pick: [4, 1, 3] those of the second, pick: [0, 1] those of all"
    for pick, right in (("0,1,4", IMAGES[:4]), ("4,1,3", IMAGES[4:7]), ("0,1", IMAGES[:7])):
        carry(folder, f"tiff two.ome.tif {SLICES}", hint, f"tiff two.ome.tif {SLICES} pick={pick}", right)
    os.makedirs(f"{folder}/several")
    for i in range(2):
        write(f"{folder}/several/v{i}.ome.tif", IMAGES[4 * i : 4 * i + 4], f"<OME>{image % (2, 0, 2)}{image % (2, 2, 2)}</OME>")
    carry(folder, f"tiff several {SLICES}", "pick: [0, 1] takes the pages of all", f"tiff several {SLICES} pick=0,1", IMAGES[:8])
    write(f"{folder}/bare.ome.tif", IMAGES[:3], '<OME><BinaryOnly MetadataFile="set.companion.ome"/></OME>')
    carry(folder, f"tiff bare.ome.tif {SLICES}", "pick: [0, 1] takes all pages as they follow each other in the files",
          f"tiff bare.ome.tif {SLICES} pick=0,1", IMAGES[:3])
    write(f"{folder}/odd.tif", [*IMAGES[:3], IMAGES[3][:, :4]], "a label behind the slices")
    carry(folder, f"tiff odd.tif {SLICES}", "pick: [0, 1, 3] takes the pages before it", f"tiff odd.tif {SLICES} pick=0,1,3", IMAGES[:3])


@rows
def angles_in_names(folder):
    """Angles of the chain that are others than those of the names, and a lost view beside even angles."""

    def files(name, names):
        os.makedirs(f"{folder}/{name}")
        for i, text in enumerate(names):
            write(f"{folder}/{name}/{text}.tif", IMAGES[i % 9 : i % 9 + 1], "a view of a scan")
        return f"tiff {name} pages=views pixel_size=1 "

    whole, whole_shape = files("whole", [f"p_{i:04d}_{i * 15:06.2f}" for i in range(24)]), (8, 24, 8)
    np.savetxt(f"{folder}/half.txt", np.arange(24) * 7.5)
    carry(folder, whole + "angle_start=0 angle_stop=180", "angle_start: 0 and angle_stop: 360 take those of the names",
          whole + "angle_start=0 angle_stop=360", whole_shape)
    carry(folder, whole + "angles_file=half.txt", "angle_start: 0 and angle_stop: 360, in place of the list, take those of the names",
          whole + "angle_start=0 angle_stop=360", whole_shape)
    radian = files("radian", [f"p_{i:04d}_theta_{i * np.pi / 24:.6f}" for i in range(24)])
    carry(folder, radian + "angle_start=0 angle_stop=360", "angle_start: 0 and angle_stop: 3.14159", radian + "angle_start=0 angle_stop=3.14159265 angle_unit=radian", whole_shape)
    golden = np.arange(24) * 111.246 % 360
    named = files("golden", [f"p_{i:04d}_{angle:.3f}deg" for i, angle in enumerate(golden)])
    np.savetxt(f"{folder}/golden.txt", golden)
    carry(folder, named + "angle_start=0 angle_stop=180", "angles_file: PATH, with the numbers of the names, one a line in their order, takes those",
          named + "angles_file=golden.txt", whole_shape)
    lost = files("lost", [f"p_{i:04d}" for i in range(24) if i != 9])
    np.savetxt(f"{folder}/even.txt", np.arange(23) * 7.5)
    np.savetxt(f"{folder}/without.txt", np.delete(np.arange(24) * 7.5, 9))
    carry(folder, lost + "angles_file=even.txt", "leave the angle of the lost view out of the list, in place of the last one", lost + "angles_file=without.txt", (8, 23, 8))
    for chain, angles in ((whole, "angle_start=0 angle_stop=360"), (named, "angles_file=FILE")):
        inputs = json.loads(run("info", chain.split()[1], "--json", cwd=folder).stdout)["inputs"]
        assert any(angles in text for text in inputs) and len(inputs) == 2, inputs
        for text in inputs:
            run("check", f"tiff {chain.split()[1]} " + text.replace("MM", "1").replace("FILE", "golden.txt"), cwd=folder)


@rows
def what_info_suggests(folder):
    """The inputs that `info` prints are read, whatever the text calls the pages."""
    texts = {"channels": "ImageJ=1.53t\nimages=4\nchannels=4\n", "times": "ImageJ=1.53t\nimages=4\nframes=4\n", "slices": "ImageJ=1.53t\nimages=4\nslices=4\n",
             "groups": '{"shape": [4, 8, 8], "axes": "SYX"}', "none": "four pages"}
    for name, text in texts.items():
        write(f"{folder}/{name}.tif", IMAGES[:4], text)
        inputs = json.loads(run("info", f"{name}.tif", "--json", cwd=folder).stdout)["inputs"]
        assert len(inputs) == 3, inputs
        for parameters in inputs:
            run("check", f"tiff {name}.tif {parameters.replace('MM', '1').replace('DEGREES', '180')}", cwd=folder)


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
