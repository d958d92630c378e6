# SPDX-License-Identifier: Apache-2.0
"""Makes the first inputs of the harnesses: small files of every kind that is read, all from phantoms and by hand.

usage: make_seeds.py PROGRAM FOLDER. Needs dcmtk, libopenjp2-tools, python3-h5py and python3-pydicom. `run.sh --merge FOLDER`
then adds to the corpora what of them reaches new code.
"""
import glob
import gzip
import io
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np
import pydicom
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

PROGRAM, OUT = os.path.abspath(sys.argv[1]), sys.argv[2]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def put(harness, name, data):
    os.makedirs(os.path.join(OUT, harness), exist_ok=True)
    with open(os.path.join(OUT, harness, name), "wb") as file:
        file.write(data)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def encapsulated(slice_file, syntax, fragments, frames=1):
    """The slice with these fragments as its pixels."""
    data_set = pydicom.dcmread(slice_file)
    items = b"".join(struct.pack("<HHI", 0xFFFE, 0xE000, len(f) + len(f) % 2) + f + bytes(len(f) % 2) for f in [b"", *fragments])
    data_set.file_meta.TransferSyntaxUID, data_set.NumberOfFrames = syntax, frames
    data_set.PixelData = items
    data_set["PixelData"].VR, data_set["PixelData"].is_undefined_length = "OB", True
    file = io.BytesIO()
    data_set.save_as(file)
    return file.getvalue(), items


def first_fragment(path):
    data = pydicom.dcmread(path).PixelData
    table = 8 + struct.unpack("<I", data[4:8])[0]
    return data[table + 8:table + 8 + struct.unpack("<I", data[table + 4:table + 8])[0]]


def dicom(work):
    """One slice in every encoding that is read. Frames also go to the harnesses of their headers and of fragments."""
    subprocess.run([PROGRAM, "phantom", "shepp-logan", "-o", work + "/s", "--size", "8", "--slices", "3", "--quiet"], check=True)
    slice_file = sorted(glob.glob(work + "/s/*"))[1]
    put("dicom", "explicit", content(slice_file))
    form = {"jpeg": 9, "jpeg1": 10, "jpegls": 11, "jpegnear": 12, "jpegbaseline": 3, "jpegextended": 4}
    for name, tool in (("implicit", ["dcmconv", "+ti"]), ("big", ["dcmconv", "+tb"]), ("undefined", ["dcmconv", "-e"]),
                       ("deflated", ["dcmconv", "+td"]), ("rle", ["dcmcrle"]), ("jpeg", ["dcmcjpeg", "+el"]),
                       ("jpeg1", ["dcmcjpeg", "+e1"]), ("jpegls", ["dcmcjpls", "+el"]), ("jpegnear", ["dcmcjpls", "+en"]),
                       ("jpegbaseline", ["dcmcjpeg", "+eb"]), ("jpegextended", ["dcmcjpeg", "+ee"])):
        target = os.path.join(work, name)
        subprocess.run([*tool, slice_file, target], check=True)
        put("codec" if name.startswith("jpeg") else "dicom", name, content(target))
        if name in form:
            put("codestream", name, struct.pack("<BHHHB", form[name] - 1, 8, 8, 15, 0) + first_fragment(target))
    pixels = pydicom.dcmread(slice_file).PixelData
    with open(work + "/raw.raw", "wb") as file:
        file.write(pixels)
    for name, options in (("j2k", []), ("j2ktiles", ["-t", "32,32"]), ("j2klossy", ["-I", "-r", "4"])):
        subprocess.run(["opj_compress", "-i", work + "/raw.raw", "-F", "8,8,1,16,u", "-n", "2", "-o",
                        f"{work}/{name}.j2k", *options],
                       check=True, stdout=subprocess.DEVNULL)
        frame = content(f"{work}/{name}.j2k")
        put("codec", name, encapsulated(slice_file, "1.2.840.10008.1.2.4.91", [frame[:50], frame[50:]])[0])
        put("codestream", name, struct.pack("<BHHHB", 2, 8, 8, 15, 0) + frame)
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    whole, _ = encapsulated(slice_file, "1.2.840.10008.1.2.4.90", [deflater.compress(pixels) + deflater.flush()])
    put("dicom", "deflated frame", whole.replace(b"1.2.840.10008.1.2.4.90", b"1.2.840.10008.1.2.8.1\0"))
    jpeg = b"\xff\xd8\xff\xe0"
    _, items = encapsulated(slice_file, "1.2.840.10008.1.2.4.70", [jpeg + b"12", b"3456", jpeg + b"78"], 2)
    end = struct.pack("<HHI", 0xFFFE, 0xE0DD, 0)
    put("fragments", "markers", struct.pack("<HB", 2, 0) + items + end)
    put("fragments", "counts", struct.pack("<HB", 3, 0) + items + end)
    put("fragments", "extended", struct.pack("<HBQQ", 2, 16, 0, 26) + items + end)
    table = struct.pack("<HHIII", 0xFFFE, 0xE000, 8, 0, 26)
    put("fragments", "basic", struct.pack("<HB", 2, 0) + table + items[8:] + end)
    layouts(slice_file)
    frame = struct.pack("<16I", 2, 64, 69, *[0] * 13) + bytes([251, 7, 1, 1, 2]) + bytes([5, 1, 2, 3, 4, 5, 6])
    put("rle", "two segments", bytes([6, 0, 1]) + frame)
    put("rle", "one segment", bytes([16, 0, 0]) + struct.pack("<16I", 1, 64, *[0] * 14) + bytes([241, 9]))
    put("codestream", "rle", struct.pack("<BHHHB", 0, 8, 8, 15, 0) + frame)


def item(**values):
    made = Dataset()
    for name, value in values.items():
        setattr(made, name, Sequence([value]) if isinstance(value, Dataset) else value)
    return made


def csa(tags):
    """A CSA2 header of Siemens: named tags with items of text."""
    out = b"SV10\4\3\2\1" + struct.pack("<2I", len(tags), 77)
    for name, values in tags:
        out += struct.pack("<64si4siii", name, len(values), b"FD", 4, len(values), 77)
        for value in values:
            padded = value + bytes(-len(value) % 4)
            out += struct.pack("<4i", len(value), len(value), 77, len(value)) + padded
    return out


def layouts(slice_file):
    """A file of three frames with functional groups, a mosaic of nine tiles, a Modality LUT, and doubles."""
    target = os.path.join(os.path.dirname(slice_file), os.pardir, "layout")  # beside the series, which others read whole
    made = pydicom.dcmread(slice_file)
    made.SOPClassUID, made.Modality, made.NumberOfFrames = "1.2.840.10008.5.1.4.1.1.4.1", "MR", 3
    made.PixelData *= 3
    del made.ImagePositionPatient, made.RescaleSlope, made.RescaleIntercept
    made.SharedFunctionalGroupsSequence = Sequence([item(
        PlaneOrientationSequence=item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0]), PixelMeasuresSequence=item(PixelSpacing=[1, 2]))])
    made.PerFrameFunctionalGroupsSequence = Sequence([item(
        PlanePositionSequence=item(ImagePositionPatient=[0, 0, k]), MREchoSequence=item(EffectiveEchoTime=2.5),
        FrameContentSequence=item(TemporalPositionIndex=1, StackID="1"),
        PixelValueTransformationSequence=item(RescaleSlope=k + 1, RescaleIntercept=0, RescaleType="US")) for k in range(3)])
    made.save_as(target)
    put("dicom", "frames", content(target))
    made = pydicom.dcmread(slice_file)
    made.ImageType, made.Modality, made.SpacingBetweenSlices = ["ORIGINAL", "PRIMARY", "M", "ND", "MOSAIC"], "MR", 3
    made.Rows = made.Columns = 12
    made.PixelData = bytes(range(144)) * 2
    made.add_new(0x00290010, "LO", "SIEMENS CSA HEADER")
    made.add_new(0x00291010, "OB", csa([(b"NumberOfImagesInMosaic", [b"9"]), (b"SliceNormalVector", [b"0.0", b"0.0", b"1.0"])]))
    made.save_as(target)
    put("dicom", "mosaic", content(target))
    made = pydicom.dcmread(slice_file)
    del made.RescaleSlope, made.RescaleIntercept
    made.ModalityLUTSequence = Sequence([item(LUTDescriptor=[4, 0, 16], ModalityLUTType="HU", LUTData=bytes(range(8)))])
    made.save_as(target)
    put("dicom", "table", content(target))
    made = pydicom.dcmread(slice_file)
    made.BitsAllocated = 64
    made.DoubleFloatPixelData = np.arange(64.0).tobytes()
    del made.PixelData, made.BitsStored, made.HighBit, made.PixelRepresentation
    made.save_as(target)
    put("dicom", "doubles", content(target))


def private(data_set, group, creator, elements):
    """Adds a block of private elements: {number: (VR, value)}."""
    data_set.add_new((group, 0x0010), "LO", creator)
    for number, (kind, value) in elements.items():
        data_set.add_new((group, 0x1000 + number), kind, value)


def weigh_siemens(data_set, k):
    private(data_set, 0x0019, "SIEMENS MR HEADER", {0x0C: ("IS", 1000 * k), 0x0E: ("FD", [0.6, 0.0, 0.8])})


def weigh_siemens_in_csa(data_set, k):
    data_set.ImageType, direction = ["ORIGINAL", "PRIMARY", "DIFFUSION"], [b"0.6", b"0.0", b"0.8"]
    private(data_set, 0x0029, "SIEMENS CSA HEADER", {0x10: ("OB", csa([
        (b"B_value", [b"%d" % (1000 * k)]), (b"DiffusionGradientDirection", direction), (b"SliceNormalVector", direction)]))})


def weigh_ge(data_set, k):
    private(data_set, 0x0043, "GEMS_PARM_01", {0x30: ("SS", 14 * k), 0x39: ("IS", [1000000000 + 1000 * k, 8, 0, 0])})
    private(data_set, 0x0019, "GEMS_ACQU_01", {0xBB: ("DS", 0.6), 0xBC: ("DS", 0), 0xBD: ("DS", 0.8)})


def weigh_philips(data_set, k):
    private(data_set, 0x2001, "Philips Imaging DD 001", {0x03: ("FL", 1000.0 * k)})
    private(data_set, 0x2005, "Philips MR Imaging DD 001", {0xB0: ("FL", 0.6), 0xB1: ("FL", 0.0), 0xB2: ("FL", 0.8)})


def state_echo(data_set, k):
    data_set.EchoTime, data_set.EchoNumbers = 2.5 + k, k + 1


def state_time(data_set, k):
    data_set.TemporalPositionIdentifier, data_set.AcquisitionTime = k + 1, f"1200{k:02}.5"


def state_position(data_set, k):
    x, y, z = data_set.ImagePositionPatient
    data_set.ImagePositionPatient = [x, y + k, z + 5 * k]


def state_acquisition(data_set, k):
    """What describes an acquisition is written as metadata."""
    data_set.KVP, data_set.XRayTubeCurrent, data_set.ConvolutionKernel = 120, 100 + k, "B30f"
    data_set.Manufacturer, data_set.ManufacturerModelName, data_set.SeriesDescription = "maker", "model", "head"
    data_set.RescaleSlope, data_set.ImagePositionPatient[2] = 1 + k, data_set.ImagePositionPatient[2] + 5 * k


def series(folder):
    """Two slices, each with two values of what makes volumes: the files of fuzz_series.c without their preambles."""
    slices = sorted(glob.glob(folder + "/s/*"))[:2]
    for state in (weigh_siemens, weigh_siemens_in_csa, weigh_ge, weigh_philips, state_echo, state_time, state_position,
                  state_acquisition):
        whole = b""
        for k in range(2):
            for number, path in enumerate(slices):
                made = pydicom.dcmread(path)
                made.Modality = "CT" if state in (state_position, state_acquisition) else "MR"
                made.SOPInstanceUID = made.file_meta.MediaStorageSOPInstanceUID = f"1.2.3.{k}.{number}"
                made.Rows = made.Columns = 2
                made.PixelData = bytes(range(8))
                state(made, k)
                made.save_as(folder + "/one")
                whole += content(folder + "/one")[128:]
        put("series", state.__name__, whole)


def tiff(order, bits, kind, compression=1, tiled=False, pages=2):
    """A TIFF file of 16 x 16 pixels a page."""
    rows = bytes(range(256)) * (bits // 8)
    stored = zlib.compress(rows) if compression == 8 else rows
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "HI", 42, 8)
    body, at = b"", 8
    for page in range(pages):
        tags = [(256, 3, 16), (257, 3, 16), (258, 3, bits), (259, 3, compression), (262, 3, 1), (277, 3, 1), (339, 3, kind)]
        place = (322, 3, 16), (323, 3, 16), (324, 4, 0), (325, 4, len(stored))
        tags += place if tiled else [(273, 4, 0), (278, 3, 16), (279, 4, len(stored))]
        data_at = at + 2 + 12 * len(tags) + 4
        ifd = struct.pack(order + "H", len(tags))
        for tag, form, value in sorted(tags):
            value = data_at if tag in (273, 324) else value
            ifd += struct.pack(order + "HHI", tag, form, 1) + (
                struct.pack(order + "HH", value, 0) if form == 3 else struct.pack(order + "I", value))
        following = data_at + len(stored) + len(stored) % 2
        ifd += struct.pack(order + "I", following if page + 1 < pages else 0)
        body += ifd + stored + bytes(len(stored) % 2)
        at = following
    return head + body


def tiffs():
    for order in "<>":
        for bits, kind in ((8, 1), (16, 1), (16, 2), (32, 1), (32, 3), (64, 3)):
            put("tiff", f"{'le' if order == '<' else 'be'}{bits}{kind}", tiff(order, bits, kind))
    put("tiff", "deflate", tiff("<", 16, 1, compression=8))
    put("tiff", "tiles", tiff("<", 16, 1, tiled=True))


def nifti(order, version, code, values, magic="n+", scale=(0, 0), volumes=1):
    """A NIfTI file of 4 x 3 x 2 voxels. In a pair the values' file is the same file, as the harness has it."""
    head = bytearray({1: 348, 2: 540}[version])

    def field(at, form, *numbers):
        struct.pack_into(order + form, head, at, *numbers)

    shape, steps = (4 if volumes > 1 else 3, 4, 3, 2, volumes, 1, 1, 1), (1, 1, 2, 3, 0.5, 0, 0, 0)
    rows = (1, 0, 0, 5, 0, -2, 0, 6, 0, 0, 3, 7)
    if version == 1:
        for at, form, numbers in ((0, "i", [348]), (40, "8h", shape), (70, "2h", [code, values.itemsize * 8]), (76, "8f", steps),
                                  (108, "f", [352]), (112, "2f", scale), (123, "b", [10]), (252, "2h", [1, 1]),
                                  (256, "6f", [0.1, 0.2, 0.3, 5, 6, 7]), (280, "12f", rows)):
            field(at, form, *numbers)
        head[344:348] = magic.encode() + b"1\0"
    else:
        for at, form, numbers in ((0, "i", [540]), (12, "2h", [code, values.itemsize * 8]), (16, "8q", shape), (104, "8d", steps),
                                  (168, "q", [544]), (176, "2d", scale), (344, "2i", [1, 0]), (352, "6d", [0.1, 0.2, 0.3, 5, 6, 7]),
                                  (400, "12d", rows), (500, "i", [10])):
            field(at, form, *numbers)
        head[4:12] = magic.encode() + b"2\0\r\n\x1a\n"
    return bytes(head) + bytes(4) + np.tile(values, volumes).tobytes()


def volumes():
    for order, name in (("<", "le"), (">", "be")):
        for code, kind in ((2, "u1"), (4, "i2"), (8, "i4"), (16, "f4"), (64, "f8"), (256, "i1"), (512, "u2"), (768, "u4")):
            values = np.arange(24).astype(order + kind)
            for version in (1, 2):
                put("nifti", f"{name}{version}{kind}", nifti(order, version, code, values))
            line = {"u1": "uchar", "i2": "short", "i4": "int", "f4": "float", "f8": "double", "i1": "int8", "u2": "ushort",
                    "u4": "uint"}[kind]
            head = f"NRRD0005\n# text\ntype: {line}\ndimension: 3\nsizes: 4 3 2\nencoding: raw\n" \
                   f"endian: {'little' if order == '<' else 'big'}\nspace: left-posterior-superior\n" \
                   "space directions: (1,0,0) (0,2,0) (0,0,3)\nspace origin: (5,6,7)\nkinds: domain domain domain\n"
            text = f"{{'descr': '{values.dtype.str}', 'fortran_order': False, 'shape': (2, 3, 4), }}\n".encode()
            put("npy", name + kind, b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + values.tobytes())
            put("nrrd", name + kind, head.encode() + b"\n" + values.tobytes())
            met = {"u1": "UCHAR", "i2": "SHORT", "i4": "INT", "f4": "FLOAT", "f8": "DOUBLE", "i1": "CHAR", "u2": "USHORT", "u4": "UINT"}[kind]
            meta = f"ObjectType = Image\nNDims = 3\nBinaryDataByteOrderMSB = {order == '>'}\nTransformMatrix = 1 0 0 0 1 0 0 0 1\n" \
                   f"Offset = 5 6 7\nElementSpacing = 1 2 3\nDimSize = 4 3 2\nAnatomicalOrientation = RAI\nElementType = MET_{met}\n"
            put("mha", name + kind, (meta + "ElementDataFile = LOCAL\n").encode() + values.tobytes())
    values = np.arange(24).astype("<i2")
    put("nifti", "scaled", nifti("<", 1, 4, values, scale=(0.5, -3)))
    put("nifti", "times", nifti("<", 1, 4, values, volumes=3))
    put("nifti", "pair", nifti("<", 1, 4, values, magic="ni"))
    for version in (1, 2):
        put("nifti", f"gzip{version}", gzip.compress(nifti("<", version, 4, values), mtime=0))
    head = head.replace("double", "short").replace("uint", "short").replace("big", "little")
    packed = gzip.compress(values.tobytes(), mtime=0)
    meta = meta.replace("UINT", "SHORT").replace("MSB = True", "MSB = False")
    zipped = zlib.compress(values.tobytes())
    put("mha", "zlib", (meta + f"CompressedData = True\nCompressedDataSize = {len(zipped)}\nElementDataFile = LOCAL\n").encode() + zipped)
    put("mha", "detached", (meta + "HeaderSize = -1\n0008|0060 = CT\nElementDataFile = fuzz.raw\n").encode())
    put("mha", "times", b"NDims = 4\nDimSize = 2 2 3 2\nElementSpacing = 1 1 1 1\nElementType = MET_SHORT\ntomostage_volumes = time s 0 2\n"
        b"tomostage_quantity = hu\nElementDataFile = LOCAL\n" + values.tobytes())
    put("nrrd", "gzip", head.replace("raw", "gzip").encode() + b"\n" + packed)
    put("nrrd", "skip", head.encode() + b"byte skip: -1\nspace units: \"mm\" \"mm\" \"mm\"\n\nxx" + values.tobytes())
    put("nrrd", "detached", head.encode() + b"byte skip: 10\ndata file: fuzz.raw\nkey:=value\n")
    put("nrrd", "plane", b"NRRD0001\ntype: short\ndimension: 2\nsizes: 4 6\nspacings: 1 nan\nencoding: raw\nendian: little\n\n" +
        values.tobytes())


def chains():
    for path in glob.glob(SOURCE + "/datasets/chains/*.yaml") + glob.glob(SOURCE + "/tests/chains/**/*.yaml", recursive=True):
        if os.path.getsize(path) < 4000:
            put("chain", os.path.basename(path), content(path))
    put("chain", "line", b"dicom s | box radius=2 | equalize | save name=e | radon views=180 | hdf5 r.h5")


def hdf5(work):
    random = np.random.default_rng(1)
    for k, (kind, packed) in enumerate((("u2", None), ("f4", "gzip"), ("u1", "lzf"), ("i4", None))):
        path = os.path.join(work, f"exchange{k}.h5")
        with h5py.File(path, "w") as file:
            file["implements"] = "exchange"
            file.create_dataset("exchange/data", data=(random.random((6, 2, 8)) * 200 + 5).astype(kind), compression=packed)
            file["exchange/data_white"] = (random.random((2, 2, 8)) * 200 + 5).astype(kind)
            file["exchange/data_dark"] = np.zeros((2, 2, 8), kind)
            file["exchange/theta"] = np.linspace(0, 150, 6)
            file["exchange/theta"].attrs["units"] = "deg"
        put("hdf5", f"exchange{k}", content(path))
        nexus(os.path.join(work, f"nexus{k}.h5"), (random.random((8, 2, 8)) * 200 + 5).astype(kind), packed)
        put("hdf5", f"nexus{k}", content(os.path.join(work, f"nexus{k}.h5")))
    out = work + "/result.h5"
    subprocess.run([PROGRAM, "run", f"dicom {work}/s | box radius=1 | save name=b | radon views=4 | hdf5 {out}", "--quiet"], check=True)
    put("hdf5", "result", content(out))


def nexus(path, frames, packed):
    with h5py.File(path, "w") as file:
        def group(parent, name, kind):
            made = parent.create_group(name)
            made.attrs["NX_class"] = kind
            return made

        tomo = group(group(file, "entry", "NXentry"), "tomo", "NXsubentry")
        tomo["definition"] = "NXtomo"
        detector = group(group(tomo, "instrument", "NXinstrument"), "detector", "NXdetector")
        detector.create_dataset("data", data=frames, compression=packed, chunks=(1, 2, 8))
        detector["image_key"] = np.array([2, 1, 0, 0, 0, 0, 0, 0])
        for name in ("x_pixel_size", "y_pixel_size"):
            detector[name] = 0.01
            detector[name].attrs["units"] = "mm"
        sample = group(tomo, "sample", "NXsample")
        sample["rotation_angle"] = np.linspace(0, 175, 8)
        sample["rotation_angle"].attrs["units"] = "deg"
        data = group(tomo, "data", "NXdata")
        data["data"] = h5py.SoftLink("/entry/tomo/instrument/detector/data")
        data["rotation_angle"] = h5py.SoftLink("/entry/tomo/sample/rotation_angle")


def items(*all_values):
    """A sequence."""
    made = []
    for values in all_values:
        made.append(Dataset())
        for name, value in values.items():
            setattr(made[-1], name, value)
    return Sequence(made)


def one(**values):
    return items(values)


def region_object(sop_class):
    data_set = Dataset()
    data_set.SOPClassUID = sop_class
    return data_set


def put_object(name, data_set, implicit):
    meta = pydicom.dataset.FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = data_set.SOPClassUID, "1.2.3"
    meta.TransferSyntaxUID = "1.2.840.10008.1.2" + ("" if implicit else ".1")
    file = io.BytesIO()
    whole = pydicom.dataset.FileDataset(file, data_set, preamble=bytes(128), file_meta=meta)
    whole.is_implicit_VR, whole.is_little_endian = implicit, True
    whole.save_as(file, write_like_original=False)
    put("region", name + ("_implicit" if implicit else ""), file.getvalue())


def segmentation(kind):
    """Frames on the grid of fuzz_region.c."""
    bits = 1 if kind == "BINARY" else 8
    seg = region_object("1.2.840.10008.5.1.4.1.1.66." + ("7" if kind == "LABELMAP" else "4"))
    seg.SamplesPerPixel, seg.NumberOfFrames, seg.Rows, seg.Columns, seg.BitsAllocated = 1, 4, 9, 12, bits
    seg.SegmentationType, seg.MaximumFractionalValue = kind, 200
    seg.SegmentSequence = items({"SegmentNumber": 1, "SegmentLabel": "a"}, {"SegmentNumber": 2, "SegmentLabel": "b"})
    seg.SharedFunctionalGroupsSequence = one(
        PlaneOrientationSequence=one(ImageOrientationPatient=[1, 0, 0, 0, 1, 0]),
        PixelMeasuresSequence=one(PixelSpacing=[0.5, 0.7], SpacingBetweenSlices=2, SliceThickness=2))
    seg.PerFrameFunctionalGroupsSequence = items(
        *({"PlanePositionSequence": one(ImagePositionPatient=[-10, 20, 30 + 2 * frame]),
           "SegmentIdentificationSequence": one(ReferencedSegmentNumber=1 + frame % 2)} for frame in range(4)))
    pixels = np.random.default_rng(2).integers(0, 2 if bits == 1 else 3, (4, 9, 12), np.uint8)
    seg.PixelData = np.packbits(pixels, bitorder="little").tobytes() if bits == 1 else pixels.tobytes()
    seg["PixelData"].VR = "OB"
    return seg


def structure_set():
    rois = region_object("1.2.840.10008.5.1.4.1.1.481.3")
    rois.StructureSetROISequence = items({"ROINumber": 1, "ROIName": "a"}, {"ROINumber": 2, "ROIName": "b"})
    contours = []
    for roi, z in ((1, 32), (2, 36)):
        box = [-9, 20.2, z, -5.3, 20.4, z, -5, 23.1, z, -8.2, 23.4, z]
        parts = items({"ContourGeometricType": "CLOSED_PLANAR", "NumberOfContourPoints": 4, "ContourData": box},
                      {"ContourGeometricType": "POINT", "NumberOfContourPoints": 1, "ContourData": box[:3]})
        contours.append({"ReferencedROINumber": roi, "ContourSequence": parts})
    rois.ROIContourSequence = items(*contours)
    return rois


def regions():
    for implicit in (False, True):
        for kind in ("BINARY", "FRACTIONAL", "LABELMAP"):
            put_object(kind.lower(), segmentation(kind), implicit)
        put_object("structures", structure_set(), implicit)


with tempfile.TemporaryDirectory() as folder:
    regions()
    dicom(folder)
    series(folder)
    tiffs()
    volumes()
    chains()
    hdf5(folder)
