# SPDX-License-Identifier: Apache-2.0
"""No text of a patient reaches a result, a picture or a message, wherever in a DICOM file it stands.

Every attribute of the dictionary that can hold text holds a canary, and so do private and nested ones, the preamble,
names of files and folders, and the names of user and host. A canary is looked for in the bytes of the result, in its
values after decompression, and in what the program prints, plain and in other encodings. Messages
name files that the user named.
"""
import base64
import os
import re

from attack import FOLDER, fail, finish, phantom, run, skip

try:
    import h5py
    import numpy as np
    import pydicom
    from pydicom.datadict import DicomDictionary
    from pydicom.dataset import Dataset
    from pydicom.sequence import Sequence
except ImportError as missing:
    skip(f"{missing.name} is missing (apt-get install python3-pydicom python3-h5py)")

CANARY = "CANARYQ"
TEXTS = ("AE", "CS", "LO", "LT", "PN", "SH", "ST", "UC", "UT", "UR")
# These change what the image is or how it is grouped, so that the phantom would be another one.
CHANGE_THE_IMAGE = ("NumberOfFrames", "PixelDataProviderURL", "LossyImageCompression", "SharedFunctionalGroupsSequence",
                    "PerFrameFunctionalGroupsSequence", "TemporalPositionIdentifier", "TriggerTime", "DimensionIndexSequence",
                    "ConcatenationUID", "ModalityLUTSequence", "SpecificCharacterSet")
planted = 0


def canary():
    global planted
    planted += 1
    return f"{CANARY}{planted:05d}X"


def nested(depth):
    item = Dataset()
    item.add_new(0x00100010, "PN", canary())
    item.add_new(0x00204000, "LT", canary())
    if depth:
        item.add_new(0x00400275, "SQ", Sequence([nested(depth - 1)]))
    return item


def plant_dictionary(data):
    """Canaries in every element of the standard that the image does without."""
    present, sequences = {element.tag for element in data}, 0
    for tag, (vr, _, _, _, keyword) in DicomDictionary.items():
        group = tag >> 16
        if tag in present or not 8 <= group <= 0x5000 or group == 0x0028 or keyword in CHANGE_THE_IMAGE:
            continue
        if vr in TEXTS:
            data.add_new(tag, vr, canary())
        elif vr == "SQ" and sequences < 400:
            sequences += 1
            data.add_new(tag, "SQ", Sequence([nested(0)]))
        elif vr in ("OB", "UN"):
            data.add_new(tag, vr, canary().encode() + b" ")


def plant(data):
    """The same canaries in every file: slices of one series agree in what they say."""
    global planted
    planted = 0
    plant_dictionary(data)
    data.add_new(0x00400275, "SQ", Sequence([nested(5)]))
    for group in range(0x0009, 0x0009 + 2 * 50, 2):
        data.add_new((group << 16) | 0x10, "LO", "CANARYQPRIVX")
        for element in range(0, 4, 2):
            data.add_new((group << 16) | 0x1000 | element, "UN", canary().encode() + b" ")
            data.add_new((group << 16) | 0x1001 | element, "LO", canary())
    data.ConvolutionKernel = "CANARYQKERNX"
    for keyword in ("PatientName", "PatientID", "InstitutionName", "StationName", "AccessionNumber", "StudyDescription",
                    "SeriesDescription"):
        setattr(data, keyword, canary())
    data.preamble = b"CANARYQPREAMBLEX" * 8


def make_study():
    source, study = phantom(32, 4), os.path.join(FOLDER, "CANARYQPATHX study")
    os.makedirs(study)
    for k, name in enumerate(sorted(os.listdir(source))):
        data = pydicom.dcmread(os.path.join(source, name))
        plant(data)
        data.save_as(os.path.join(study, f"CANARYQFILE{k}X.dcm"), write_like_original=True)
    with open(study + "/CANARYQNOTEX.txt", "w", encoding="ascii") as file:
        file.write("CANARYQTEXTX")
    uids = [str(data[k].value) for k in ("SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID")]
    return study, uids, data.SeriesDescription.encode()


def hits(data):
    found = set(re.findall(rb"CANARYQ[A-Z0-9]*", data))
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        if CANARY.encode(encoding) in data:
            found.add(encoding.encode())
    for shift in range(3):
        if base64.b64encode(bytes(shift) + CANARY.encode())[4 if shift else 0:8] in data:
            found.add(b"base64")
    low = data.lower()
    if CANARY.encode().hex().encode() in low:
        found.add(b"hexadecimal")
    if CANARY[::-1].encode() in data:
        found.add(b"reversed")
    if CANARY.lower().encode() in low and not re.search(rb"CANARYQ", data):
        found.add(b"lower case")
    return found


def values(path):
    """Every name, attribute and value of an HDF5 file as bytes."""
    parts = []

    def add(value):
        flat = np.asarray(value).ravel()
        if flat.dtype.kind in "OSU":
            parts.extend(v if isinstance(v, bytes) else str(v).encode() for v in flat)
        else:
            parts.append(flat.tobytes())

    def look(name, item):
        add(name)
        for key, value in item.attrs.items():
            add(key)
            add(value)
        if isinstance(item, h5py.Dataset):
            add(item[()])

    with h5py.File(path) as file:
        look("/", file)
        file.visititems(look)
    return b"|".join(parts)


study, uids, description = make_study()
secret = {"USER": "CANARYQUSERX", "LOGNAME": "CANARYQUSERX", "HOSTNAME": "CANARYQHOSTX", "HOME": FOLDER}
environment = {**os.environ, **secret}
out, picture = os.path.join(FOLDER, "CANARYQOUTX.h5"), os.path.join(FOLDER, "p.png")
chain = f'dicom "{study}" | box radius=1 | histogram bins=16 | save name=b | radon views=12'
commands = {
    "run": ("run", chain, "-o", out),
    "run --json": ("run", "--json", chain, "-o", out, "--force"),
    "check": ("check", chain, "-o", FOLDER + "/z.h5"),
    "info of the folder": ("info", study),
    "info --json of the folder": ("info", "--json", study),
    "info of the result": ("info", out),
    "verify": ("verify", out),
    "preview": ("preview", out, "-o", picture),
}
named_by_the_user = re.compile(rb"CANARYQ(PATHX|OUTX|FILE\dX|NOTEX)")
for name, arguments in commands.items():
    done = run(*arguments, env=environment)
    if done.returncode != 0:
        fail(f"{name}: exit {done.returncode}: {done.stdout[:300]}")
    told = {hit for hit in hits(done.stdout) if not named_by_the_user.fullmatch(hit)}
    if "info" in name and "folder" in name:
        told.discard(description)  # by which the user of the files knows their series; it goes nowhere else
    if told:
        fail(f"{name} prints {sorted(told)[:6]}")
with open(out, "rb") as file:
    raw = file.read()
for where, data in (("the bytes of the result", raw), ("the values of the result", values(out)), ("the picture", open(picture, "rb").read())):
    if hits(data):
        fail(f"{where} hold {sorted(hits(data))[:8]}")
    for text in [*uids, os.uname().nodename]:
        if len(text) > 3 and text.encode() in data:
            fail(f"{where} hold {text}")
finish(f"{planted} canaries a file", 2000)
