# SPDX-License-Identifier: Apache-2.0
"""Hints about DICOM volumes, segmentations and structure sets: rows of test_hints.py."""
import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import pydicom
from pydicom.encaps import encapsulate
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence

from harness import run
from hints_inputs import series, setting
from hints_support import V, arrays, carry, image, rows, words_of, yaml

SEG, LABELS, RTSTRUCT = "1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7", "1.2.840.10008.5.1.4.1.1.481.3"


CORRECT = "import glob, pydicom\nfor path in glob.glob('%s/*'):\n    file = pydicom.dcmread(path)\n    %s\n    file.save_as(path)"
RENAME = """import glob, struct
for path in glob.glob('%s/*'):
    with open(path, 'rb') as file:
        data = file.read()
    at = data.index(bytes((2, 0, 16, 0)))
    uid = '%s'.encode()
    uid += bytes(len(uid) %% 2)
    with open(path, 'wb') as file:
        file.write(data[:at + 6] + struct.pack('<H', len(uid)) + uid + data[at + 8 + data[at + 6]:])"""


def item(**values):
    found = Dataset()
    for name, value in values.items():
        setattr(found, name, Sequence(value) if isinstance(value, list) and value and isinstance(value[0], Dataset) else value)
    return found


def write(folder, name, storage, modality, frame, content):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = storage, pydicom.uid.generate_uid()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    file = FileDataset(name, {}, file_meta=meta, preamble=b"\0" * 128)
    file.update(content)
    file.SOPClassUID, file.SOPInstanceUID, file.Modality = storage, meta.MediaStorageSOPInstanceUID, modality
    file.StudyInstanceUID, file.SeriesInstanceUID, file.FrameOfReferenceUID = "1.2.3", pydicom.uid.generate_uid(), frame
    file.save_as(f"{folder}/{name}", write_like_original=False)


def renew(file, uid):
    """Makes it one of another series."""
    file.SeriesInstanceUID, file.StudyInstanceUID, file.FrameOfReferenceUID = uid, "1.2.3", "1.2.3.5"
    file.SOPInstanceUID = file.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()


def slices_of(folder, name):
    files = [pydicom.dcmread(f"{folder}/{name}/{path}") for path in os.listdir(f"{folder}/{name}")]
    return sorted(files, key=lambda file: file.ImagePositionPatient[2])


def segmentation(folder, name, ct, planes, parts=False, frame=None, up=0, labels=None, padding=None):
    """planes: (segment, slice, pixels from 0 to 1) on the slices of a series, `up` mm above them; or, if the numbers of the
    `labels` are given, pixels of labels."""
    files = slices_of(folder, ct)
    first = files[0]
    pixels = np.stack([plane for _, _, plane in planes])
    functional = [
        item(
            FrameContentSequence=[item(DimensionIndexValues=[segment, z + 1])],
            PlanePositionSequence=[item(ImagePositionPatient=[*files[z].ImagePositionPatient[:2], files[z].ImagePositionPatient[2] + up])],
            SegmentIdentificationSequence=[item(ReferencedSegmentNumber=segment)],
        )
        for segment, z, _ in planes
    ]
    shared = item(
        PlaneOrientationSequence=[item(ImageOrientationPatient=first.ImageOrientationPatient)],
        PixelMeasuresSequence=[item(PixelSpacing=first.PixelSpacing, SliceThickness=1, SpacingBetweenSlices=abs(files[1].ImagePositionPatient[2] - first.ImagePositionPatient[2]))],
    )
    content = item(
        Rows=first.Rows, Columns=first.Columns, NumberOfFrames=len(planes), SamplesPerPixel=1, PhotometricInterpretation="MONOCHROME2",
        BitsAllocated=8 if parts else 1, BitsStored=8 if parts else 1, HighBit=7 if parts else 0, PixelRepresentation=0,
        SegmentationType="FRACTIONAL" if parts else "BINARY", SharedFunctionalGroupsSequence=[shared],
        PerFrameFunctionalGroupsSequence=functional,
        SegmentSequence=[item(SegmentNumber=n, SegmentLabel=f"part {n}", SegmentAlgorithmType="MANUAL") for n in sorted({n for n, _, _ in planes})],
    )
    if labels:
        content.BitsAllocated, content.BitsStored, content.HighBit, content.SegmentationType = 8, 8, 7, "LABELMAP"
        content.SegmentSequence = [item(SegmentNumber=n, SegmentLabel=f"part {n}") for n in labels]
    if padding is not None:
        content.PixelPaddingValue = padding
    if parts:
        content.MaximumFractionalValue, content.SegmentationFractionalType = 255, "OCCUPANCY"
    if parts or labels:
        content.PixelData = np.rint(pixels * (1 if labels else 255)).astype("u1").tobytes()
    else:
        content.PixelData = np.packbits(pixels.astype("u1"), bitorder="little").tobytes()
    write(folder, name, LABELS if labels else SEG, "SEG", frame or first.FrameOfReferenceUID, content)


def structures(folder, name, ct, boxes, frame=None):
    """boxes: (region, slice, which may be between two, first column, last column), as high as they are wide."""
    files = slices_of(folder, ct)
    first, regions = files[0], sorted({box[0] for box in boxes})
    step = files[1].ImagePositionPatient[2] - first.ImagePositionPatient[2]
    frame = frame or first.FrameOfReferenceUID
    x, y, z = first.ImagePositionPatient
    down, right = first.PixelSpacing

    def contour(at, low, high):
        corners = [(low, low), (high, low), (high, high), (low, high)]
        return item(
            ContourGeometricType="CLOSED_PLANAR", NumberOfContourPoints=4,
            ContourData=[f"{value:.6g}" for i, j in corners for value in (x + i * right, y + j * down, z + at * step)],
        )

    content = item(
        StructureSetROISequence=[item(ROINumber=n, ReferencedFrameOfReferenceUID=frame, ROIName=f"part {n}") for n in regions],
        ROIContourSequence=[
            item(ReferencedROINumber=n, ContourSequence=[contour(*box[1:]) for box in boxes if box[0] == n]) for n in regions
        ],
    )
    write(folder, name, RTSTRUCT, "RTSTRUCT", frame, content)


@rows
def masks(folder):
    series(folder, "ct")
    frame = slices_of(folder, "ct")[0].FrameOfReferenceUID
    series(folder, "other", setting(PixelSpacing=[1.5, 1.5], FrameOfReferenceUID=frame), slices=3)
    run(*words_of("dicom ct"), cwd=folder)
    ct = image(folder)
    left, right = np.zeros((8, 8)), np.zeros((8, 8))
    left[2:5, 1:4], right[2:5, 3:6] = 1, 1
    expected = np.zeros(ct.shape)
    expected[1] = left

    def kept(label):
        return np.where(label > 0, ct, -1000)

    def masked(mask, more="", of="dicom ct"):
        return f"{of} | input m mask {mask}{more} | apply_mask mask=m outside=value value=-1000"

    segmentation(folder, "one.dcm", "ct", [(1, 1, left)])
    segmentation(folder, "frame.dcm", "ct", [(1, 1, left)], frame="1.2.3.4")
    segmentation(folder, "two.dcm", "ct", [(1, 1, left), (2, 1, right)])
    segmentation(folder, "parts.dcm", "ct", [(1, 1, left * 0.75 + right * 0.3 * (left == 0))], parts=True)
    carry(folder, masked("frame.dcm"), "`frame_of_reference: any` takes positions as they are",
          masked("frame.dcm", " frame_of_reference=any"), kept(expected))
    two = "dicom other | input ct dicom ct | input m mask one.dcm %s | save name=first | apply_mask input=ct mask=m outside=value value=-1000"
    carry(folder, two % "", "`on:` names the image that it goes with; `resample: nearest` gives every voxel of the image the label at its center",
          two % "on=ct", kept(expected))
    segmentation(folder, "low.dcm", "ct", [(1, 1, left)], up=0.9)
    carry(folder, masked("low.dcm"), "`resample: nearest` gives every voxel of the image the label at its center",
          masked("low.dcm", " resample=nearest"), kept(expected))
    for n, part in ((1, left), (2, right)):
        expected[1] = part
        carry(folder, masked("two.dcm"), "choose one region with `segment:`; each can be an input of its own",
              masked("two.dcm", f" segment={n}"), kept(expected))
    both = (f"dicom ct | input m mask two.dcm segment=1 | input n mask two.dcm segment=2 | apply_mask mask=m outside=value value=-1000 | "
            f"apply_mask mask=n outside=value value=-1000")
    expected[1] = left * right
    carry(folder, masked("two.dcm"), "each can be an input of its own", both, kept(expected))
    expected[1] = left
    carry(folder, masked("parts.dcm"), "`threshold: 0.5` takes those of which at least half belongs to it",
          masked("parts.dcm", " threshold=0.5"), kept(expected))
    carry(folder, masked("two.dcm", " segment=7"), "`tomostage info --names` with the file lists their numbers and labels",
          ["info", "two.dcm", "--names"], names="part 2")
    segmentation(folder, "labels.dcm", "ct", [(1, 1, left * 3 + right * (left == 0) * 9)], labels=[3])
    segmentation(folder, "zero.dcm", "ct", [(1, 1, np.where(left > 0, 0, 255))], labels=[0, 4], padding=255)
    carry(folder, masked("labels.dcm"), "`segment:` with a number takes one of the segments that it lists",
          masked("labels.dcm", " segment=3"), kept(expected))
    carry(folder, masked("labels.dcm"), "`tomostage info` with the file lists them", ["info", "labels.dcm"], names="   3  1 frames")
    carry(folder, masked("zero.dcm"), "`segment: 0` takes that one, or another number", masked("zero.dcm", " segment=0"), kept(expected))
    for name in "one.dcm", "labels.dcm":
        carry(folder, f"dicom {name} | invert", "`mask: FILE` reads it, as a further input beside that of its images",
              masked(name, " segment=1" if name == "one.dcm" else " segment=3"), kept(expected))
    structures(folder, "rt.dcm", "ct", [(1, 1, 0.6, 3.4), (2, 2, 0.6, 3.4)])
    structures(folder, "between.dcm", "ct", [(1, 1.4, 0.6, 3.4)])
    carry(folder, masked("rt.dcm", " roi=part"), "`tomostage info --names` with the file lists their numbers and names",
          ["info", "rt.dcm", "--names"], names="part 2")
    expected[1] = 0
    expected[1, 1:4, 1:4] = 1
    carry(folder, "dicom rt.dcm | invert", "`mask: FILE` reads it, as a further input beside that of its images",
          masked("rt.dcm", " roi=1"), kept(expected))
    carry(folder, masked("between.dcm"), "`resample: nearest` takes the contours of the nearest plane",
          masked("between.dcm", " resample=nearest"), lambda a: (a == ct).sum() < a.size and (a[:, 2, 2] == ct[:, 2, 2]).any())
    structures(folder, "of_ct.dcm", "ct", [(1, 3, 0.6, 3.4)])
    expected[:] = 0
    expected[3, 1:4, 1:4] = 1
    carry(folder, (two % "").replace("one.dcm", "of_ct.dcm"), "`on:` names the image that it was drawn on",
          (two % "on=ct").replace("one.dcm", "of_ct.dcm"), kept(expected))

@rows
def volumes(folder):
    def same_series(file, _):
        renew(file, "1.2.3.4")

    def put(name, number, **values):
        """One more volume into a folder."""
        series(folder, "new", same_series)
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        for z, path in enumerate(sorted(os.listdir(f"{folder}/new"))):
            file = pydicom.dcmread(f"{folder}/new/{path}")
            for key, value in values.items():
                setattr(file, key, value(z) if callable(value) else value)
            file.PixelData = (file.pixel_array + number).astype(file.pixel_array.dtype).tobytes()
            file.save_as(f"{folder}/{name}/{number}{path}")
        shutil.rmtree(f"{folder}/new")

    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    ct = image(folder)
    for n in range(3):
        put("stopped", n, TemporalPositionIdentifier=n + 1, AcquisitionNumber=n + 1, InstanceNumber=lambda z: 4 * n + z + 1)
    shutil.copytree(f"{folder}/stopped", f"{folder}/early")
    os.remove(f"{folder}/stopped/2IM0004.dcm")
    for path in ("1IM0004.dcm", *(f"2IM000{z}.dcm" for z in range(1, 5))):
        os.remove(f"{folder}/early/{path}")
    carry(folder, "dicom stopped", "supply the slices; or take: N reads one whole volume: 0 to 1",
          ("dicom stopped take=0", "dicom stopped take=1"), lambda a: np.array_equal(a, ct) or np.array_equal(a, ct + 1), again=True)
    for n in range(2):
        put("passes", n, AcquisitionNumber=n + 1, InstanceNumber=lambda z: 4 * n + z + 1)
    os.remove(f"{folder}/passes/1IM0004.dcm")
    carry(folder, "dicom passes", "supply the slices; or `split: acquisition` beside the path makes a series of each acquisition",
          "dicom passes split=acquisition take='acquisition 1'", ct)
    os.remove(f"{folder}/passes/1IM0001.dcm")
    carry(folder, "dicom passes", "`split: acquisition` beside the path makes a series of each acquisition",
          "dicom passes split=acquisition take='acquisition 1'", ct)
    carry(folder, "dicom early", "supply the slices; or take: 0 reads the whole volume", "dicom early take=0", ct, again=True)
    series(folder, "mr", setting(Modality="MR", SOPClassUID="1.2.840.10008.5.1.4.1.1.4"))
    carry(folder, "dicom mr mr_scale=precise", "mr_scale: display takes the values of Rescale Slope", "dicom mr mr_scale=display",
          ct.shape)
    pet = dict(Modality="PT", SOPClassUID="1.2.840.10008.5.1.4.1.1.128")
    series(folder, "pet", setting(**pet, Units="BQML"))
    series(folder, "cps", setting(**pet, Units="PROPCPS"))
    carry(folder, "dicom pet to_suv=body_weight", "to_suv: factor, suv_factor: NUMBER takes one that you work out",
          "dicom pet to_suv=factor suv_factor=0.5", 0.5 * ct)
    carry(folder, "dicom pet to_suv=factor", "add suv_factor: NUMBER", "dicom pet to_suv=factor suv_factor=0.5", 0.5 * ct)
    carry(folder, "dicom pet suv_factor=2", "add to_suv: factor", "dicom pet to_suv=factor suv_factor=2", 2 * ct)
    carry(folder, "dicom cps to_suv=body_weight", "leave to_suv out: the values stay as they are", "dicom cps", ct)
    shutil.copytree(f"{folder}/ct", f"{folder}/copies")
    os.makedirs(f"{folder}/copies/more")
    file = pydicom.dcmread(f"{folder}/ct/IM0002.dcm")
    file.SOPInstanceUID = file.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    file.save_as(f"{folder}/copies/more/IM0002.dcm")
    carry(folder, "dicom copies", "duplicates: first takes one of the copies; or remove the others", "dicom copies duplicates=first",
          ct, again=True)
    shutil.copytree(f"{folder}/copies", f"{folder}/lacking")
    os.remove(f"{folder}/lacking/IM0003.dcm")
    carry(folder, "dicom lacking", "other positions have no image: supply the series anew", "dicom ct", ct)
    for n in range(3):
        put("echoes", n, EchoTime=10 + 10 * (n < 1), EchoNumbers=1 + (n < 1), InstanceNumber=lambda z: 4 * n + z + 1, Modality="MR",
            SOPClassUID="1.2.840.10008.5.1.4.1.1.4", ImageType=lambda z: ["ORIGINAL", "PRIMARY", "M"])
    for n in range(2):
        put("numbered", n, EchoTime=13, EchoNumbers=n + 1, InstanceNumber=lambda z: 4 * n + z + 1, Modality="MR",
            SOPClassUID="1.2.840.10008.5.1.4.1.1.4")
    for n in range(2):
        carry(folder, "dicom numbered", f"'echo number {n + 1}'", f"dicom numbered take='echo number {n + 1}'", ct + n)
    for n, unit in enumerate(("ms", "US")):
        put("units", n, RescaleType=unit, InstanceNumber=lambda z: 4 * n + z + 1, Modality="MR", SOPClassUID="1.2.840.10008.5.1.4.1.1.4")
    for n, unit in enumerate(("ms", "US")):
        carry(folder, "dicom units", f"'unit {unit}'", f"dicom units take='unit {unit}'", ct + n)
    series(folder, "said", lambda file, z: setattr(file, "NumberOfFrames", 0))
    carry(folder, "dicom said", "correct Number of Frames (0028,0008), or remove it from files of one image", "dicom said", ct,
          shell=f"{sys.executable} -c \"{CORRECT % ('said', 'del file.NumberOfFrames')}\"")
    carry(folder, "dicom echoes split=none", "write `split: echo` beside the path", "dicom echoes split=echo take='20 ms'", ct)


@rows
def misnamed_syntaxes(folder):
    """Files are written in one transfer syntax and name another one."""
    big, implicit, explicit, deflated, rle = (f"1.2.840.10008.1.2{end}" for end in (".2", "", ".1", ".1.99", ".5"))
    names = {implicit: "implicit VR little endian", explicit: "explicit VR little endian", rle: "RLE lossless",
             big: "explicit VR big endian", deflated: "deflated explicit VR little endian"}
    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    ct = image(folder)
    pairs = ((implicit, explicit), (explicit, implicit), (explicit, rle), (rle, explicit), (rle, implicit), (big, explicit),
             (explicit, big), (deflated, explicit), (explicit, deflated), (implicit, rle))
    for n, (written, named) in enumerate(pairs):

        def change(file, _, written=written):
            if written == rle:
                file.compress(rle, encoding_plugin="pydicom")
            if written == big:
                file.PixelData = file.pixel_array.byteswap().tobytes()
            file.file_meta.TransferSyntaxUID = written
            file.is_implicit_VR, file.is_little_endian = written == implicit, written != big

        series(folder, f"called{n}", change)
        subprocess.run([sys.executable, "-c", RENAME % (f"{folder}/called{n}", named)], check=True)
        carry(folder, f"dicom called{n}", f"correct Transfer Syntax UID (0002,0010): the file is written as {written}, {names[written]}",
              f"dicom called{n}", ct, shell=f"{sys.executable} -c \"{RENAME % (f'called{n}', written)}\"")


@rows
def other_modalities(folder):
    """Their frames are read as an array."""
    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    right = image(folder)
    first = pydicom.dcmread(f"{folder}/ct/IM0001.dcm")
    pixels = np.stack([file.pixel_array for file in slices_of(folder, "ct")])
    for modality, storage, means in (
        ("NM", "1.2.840.10008.5.1.4.1.1.20", "modality NM (nuclear medicine: frames of a gamma camera"),
        ("US", "1.2.840.10008.5.1.4.1.1.3.1", "modality US (ultrasound)"),
        ("OT", "1.2.840.10008.5.1.4.1.1.4", "modality OT, expected"),
    ):
        file = f"{modality.lower()}.dcm"
        content = item(Rows=8, Columns=8, NumberOfFrames=4, SamplesPerPixel=1, PhotometricInterpretation="MONOCHROME2", BitsAllocated=16,
                       BitsStored=first.BitsStored, HighBit=first.HighBit, PixelRepresentation=first.PixelRepresentation)
        content.PixelData = pixels.tobytes()
        write(folder, file, storage, modality, "1.2.3.4", content)
        assert means in run(*words_of(f"dicom {file}"), cwd=folder, expect=None).stderr
        convert = f"import numpy, pydicom; numpy.save('frames.npy', pydicom.dcmread('{file}').pixel_array)"
        carry(folder, f"dicom {file}", "numpy.save('frames.npy', pydicom.dcmread(FILE).pixel_array), and read that by npy: frames.npy",
              "npy frames.npy axes=z,y,x spacing=2.5,1,1", pixels.astype(float), shell=f'{sys.executable} -c "{convert}"')
    assert right.shape == pixels.shape


@rows
def long_uids(folder):
    """They are replaced by shorter ones, the same ones in all files."""
    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    ct = image(folder)
    for n, (name, length) in enumerate((("SeriesInstanceUID", 65), ("StudyInstanceUID", 70), ("FrameOfReferenceUID", 700),
                                        ("SeriesInstanceUID", 1000))):
        series(folder, f"long{n}", lambda file, z, name=name, length=length: setattr(file, name, "1.2." + "3" * (length - 4)))
        said = run("info", f"long{n}", cwd=folder, expect=None)
        assert "have no Series Instance UID" not in said.stdout + said.stderr
        assert f"{name[:5]}" in said.stdout and "is not a UID of at most 64 characters" in said.stdout, said.stdout
        shorter = CORRECT % (f"long{n}", f"file.{name} = '1.2.3.4.5'")
        carry(folder, f"dicom long{n}", "replace the UID in the files by one of at most 64 characters, the same one wherever it is the same now",
              f"dicom long{n}", ct, shell=f"{sys.executable} -c \"{shorter}\"")


@rows
def signs_of_compressed_frames(folder):
    """Frames of JPEG 2000 say that their values are signed, and the header that they are not."""
    for n, (low, high) in enumerate(((-1000, 1000), (-32768, 32767), (-3, -1), (-100, 0))):
        values = np.linspace(low, high, 4 * 8 * 8).reshape(4, 8, 8).astype("i2")
        np.save(f"{folder}/v{n}.npy", values)
        run("run", f"npy v{n}.npy axes=z,y,x spacing=1,1,1 quantity=hu | dicom sign{n} codec=j2k", "--quiet", cwd=folder)
        for path in os.listdir(f"{folder}/sign{n}"):
            file = pydicom.dcmread(f"{folder}/sign{n}/{path}")
            assert file.PixelRepresentation == 1
            file.PixelRepresentation = 0
            file.save_as(f"{folder}/sign{n}/{path}")
        signed = CORRECT % (f"sign{n}", "file.PixelRepresentation = 1")
        carry(folder, f"dicom sign{n}", "set Pixel Representation (0028,0103) to 1, since the compressed frames have signed values",
              f"dicom sign{n}", values.astype(float), shell=f"{sys.executable} -c \"{signed}\"")


def jpeg_ls_of_zeros(rows, columns, bits):
    """A frame of zeros, whose lines are runs (ITU-T T.87 A.7)."""
    run_bits, index, code = [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4, 0, ""
    for _ in range(rows):
        left = columns
        while left > 0:
            code += "1"
            left -= 1 << run_bits[index]
            index += left >= 0
    code, data = code + "0" * (-len(code) % 8), b""
    while code:  # a bit of 0 is put behind eight of 1
        data += bytes([int(code[:8].ljust(8, "0"), 2)])
        code = ("0" if data[-1] == 255 else "") + code[8:]
    header = struct.pack(">2sHBHHB3B", b"\xff\xf7", 11, bits, rows, columns, 1, 1, 0x11, 0)
    return b"\xff\xd8" + header + struct.pack(">2sH6B", b"\xff\xda", 8, 1, 1, 0, 0, 0, 0) + data + b"\xff\xd9"


@rows
def few_bits(folder):
    for bits in (2, 3, 5, 8):

        def change(file, z, bits=bits, packed=False):
            file.BitsAllocated, file.BitsStored, file.HighBit, file.PixelRepresentation = 8, bits, bits - 1, 0
            file.PixelData = np.zeros((8, 8), "u1").tobytes()
            if packed:
                file.PixelData = encapsulate([jpeg_ls_of_zeros(8, 8, bits)])
                file["PixelData"].VR, file["PixelData"].is_undefined_length = "OB", True
                file.file_meta.TransferSyntaxUID = pydicom.uid.JPEGLSLossless

        series(folder, f"packed{bits}", lambda file, z, change=change: change(file, z, packed=True))
        series(folder, f"native{bits}", change)
        run(*words_of(f"dicom native{bits}"), cwd=folder)
        right = image(folder)
        if bits < 8:
            carry(folder, f"dicom packed{bits}", f"DCMTK may not decode JPEG-LS of {bits} bits a value", f"dicom native{bits}", right)
        else:
            run(*words_of(f"dicom packed{bits}"), cwd=folder)
            assert (image(folder) == right).all()


@rows
def several_series(folder):
    def kernels(file, z):
        file.ConvolutionKernel = "AB"[z % 2]

    series(folder, "ct")
    run(*words_of("dicom ct"), cwd=folder)
    ct = image(folder)
    os.makedirs(f"{folder}/parts")
    os.makedirs(f"{folder}/labels")
    os.makedirs(f"{folder}/numbers")
    series(folder, "kernels", kernels)
    carry(folder, "dicom kernels", "; split: none reads the slices of several settings as one volume", "dicom kernels split=none",
          ct, again=True)
    for n in range(3):

        def stacks(file, z, n=n):
            renew(file, f"1.2.3.{n}")
            file.ImagePositionPatient = [*file.ImagePositionPatient[:2], [0, 1, 2, 3, 20, 22, 24, 26][z]]

        def label(file, _, n=n):
            renew(file, f"1.2.4.{n // 2}")
            file.ConvolutionKernel = "ABC"[n]

        if n < 2:
            series(folder, f"parts/{n}", stacks, slices=8)
        series(folder, f"labels/{n}", label)
    carry(folder, "dicom parts", "choose one with series: N to see its way out", "dicom parts series=2 stack=1", ct.shape)
    carry(folder, "dicom parts series=2", "stack: N takes one of the stacks of even spacing", "dicom parts series=2 stack=1", ct.shape)
    for n in range(3):

        def numbered(file, z, n=n):
            renew(file, "1.2.5")
            file.SeriesNumber, file.AcquisitionNumber, file.InstanceNumber = 16001 + n, n + 1, z + 1
            file.Modality, file.SOPClassUID, file.ImageType = "MR", "1.2.840.10008.5.1.4.1.1.4", ["ORIGINAL", "PRIMARY", "M"]
            file.PixelData = (file.pixel_array + n).astype(file.pixel_array.dtype).tobytes()

        series(folder, f"numbers/{n}", numbered)
    carry(folder, "dicom numbers", "`join: [number]` reads series 1 and 2, which differ in Series Number only, as one",
          "dicom numbers join=[number]", np.stack([ct, ct + 1, ct + 2]), again=True)
    series(folder, "turns", lambda file, z: setattr(file, "SeriesInstanceUID", f"1.2.6.{z % 2}"))
    carry(folder, "dicom turns", "`join: [series]` reads series 1", "dicom turns join=[series]", ct, again=True)
    os.makedirs(f"{folder}/arrays")
    arrays(f"{folder}/arrays")
    for before in ("dicom arrays", ["run", "invert", "-i", "arrays", "-o", "out.h5"], ["info", "arrays"]):
        carry(folder, before, "it holds .npy files: name one of them, npy FILE", "npy arrays/f4.npy", V)
    text = "tomostage: 2\ninput: {%s}\nstages: []\n"
    carry(folder, yaml(folder, "a.yaml", text % "dicom: arrays"), "it holds .npy files: name one of them, input: {npy: FILE}",
          yaml(folder, "b.yaml", text % "npy: arrays/f4.npy"), V)
    carry(folder, "dicom labels take=C", "; series: N chooses others", "dicom labels series=3", ct)
