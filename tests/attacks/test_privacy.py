# SPDX-License-Identifier: Apache-2.0
"""Nothing of a patient reaches a result, a picture or a message, wherever in a DICOM file it stands.

Canaries stand in every attribute of PS3.15 Table E.1-1 (confidentiality.tsv), in every other attribute of the dictionary
that can hold text, in 200 private ones, in CSA headers, in sequences five deep, in the preamble, in the names of files
and folders, and in those of user and host. Every command that writes is run. A canary is looked for in the bytes of all
files, in their values after decompression, and in what the program prints, plain and in other encodings. Messages name
files that the user named.
"""
import base64
import gzip
import os
import re
import struct
import zlib

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
DATE, TIME, UID, NUMBER = "18990117", "042042.424242", "1.2.826.0.1.3680043.10.777", "42069.42"
# Dates, UIDs and numbers are canaries too: as texts, and as the bytes that a double or a float has.
OTHERS = [text.encode() for text in (DATE, "1899-01-17", TIME[:8], "04:20:42", UID, NUMBER)]
OTHERS += [struct.pack(form, float(NUMBER)) for form in ("<d", ">d", "<f", ">f")]
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confidentiality.tsv")
# By these the files are one series; they are looked for by their own values.
IDENTITY = ("SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID")
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


def value_of(vr):
    """A canary of this VR; None where it can hold none."""
    if vr in TEXTS:
        return canary()
    if vr == "SQ":
        return Sequence([nested(4)])
    if vr in ("OB", "UN"):
        return canary().encode() + b" "
    return {"DA": DATE, "TM": TIME, "DT": DATE + TIME, "UI": UID + f".{planted}", "DS": NUMBER}.get(vr)


def plant_table(data):
    """Canaries in every attribute of Table E.1-1 that a data set can have. Returns how many."""
    n = 0
    with open(TABLE, encoding="ascii") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    for tag, vr, keyword, _ in rows:
        group, element = (int(part, 16) for part in tag.split(","))
        value = value_of(vr)
        if group < 8 or keyword in CHANGE_THE_IMAGE + IDENTITY or value is None:
            continue
        data.add_new((group << 16) | element, vr, value)
        n += 1
    for element, vr, value in ((0x22, "LO", canary()), (0x4000, "LT", canary())):
        data.add_new(0x60000000 | element, vr, value)
    return n


def csa(names):
    """A CSA header of the form SV10, with a canary as the name and the value of each element."""
    parts = [b"SV10\4\3\2\1", struct.pack("<II", len(names), 77)]
    for name in names:
        text = name.encode() + b"\0"
        parts.append(struct.pack("<64si4siii", text, 1, b"LO\0\0", 0, 1, 77))
        parts.append(struct.pack("<4i", len(text), len(text), 77, len(text)) + text + bytes(-len(text) % 4))
    return b"".join(parts)


def plant(data):
    """The same canaries in every file: slices of one series agree in what they say."""
    global planted
    planted = 0
    n = plant_table(data)
    plant_dictionary(data)
    data.add_new(0x00400275, "SQ", Sequence([nested(5)]))
    for group in range(0x0009, 0x0009 + 2 * 50, 2):
        data.add_new((group << 16) | 0x10, "LO", "CANARYQPRIVX")
        for element in range(0, 4, 2):
            data.add_new((group << 16) | 0x1000 | element, "UN", canary().encode() + b" ")
            data.add_new((group << 16) | 0x1001 | element, "LO", canary())
    data.add_new(0x00290010, "LO", "SIEMENS CSA HEADER")
    for element in (0x1010, 0x1020):
        data.add_new(0x00290000 | element, "OB", csa([canary(), canary()]))
    data.ConvolutionKernel = "CANARYQKERNX"
    data.ImageType = [*data.ImageType[:3], canary()]
    data.RescaleType = canary()
    for keyword in ("PatientName", "PatientID", "InstitutionName", "StationName", "AccessionNumber", "StudyDescription",
                    "SeriesDescription"):
        setattr(data, keyword, canary())
    data.preamble = b"CANARYQPREAMBLEX" * 8
    return n


def make_study():
    source, study = phantom(32, 4), os.path.join(FOLDER, "CANARYQPATHX study")
    os.makedirs(study)
    for k, name in enumerate(sorted(os.listdir(source))):
        data = pydicom.dcmread(os.path.join(source, name))
        n = plant(data)
        data.save_as(os.path.join(study, f"CANARYQFILE{k}X.dcm"), write_like_original=True)
    with open(study + "/CANARYQNOTEX.txt", "w", encoding="ascii") as file:
        file.write("CANARYQTEXTX")
    return study, [str(data[k].value) for k in IDENTITY], n


def make_scan():
    """A scan of another program, with the names of a user and a sample."""
    path = os.path.join(FOLDER, "CANARYQSCANX.nxs")
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry")
        for name, group in (("title", ""), ("start_time", ""), ("name", "user"), ("email", "user"), ("name", "sample")):
            entry[f"{group}/{name}"] = canary()
        entry["data"] = np.zeros((4, 5, 6), np.uint16)
        entry["data"].attrs["operator"] = canary()
    return path


def encoded(shift):
    """The letters of base64 that the canary alone decides, where it begins after `shift` bytes of a group of three."""
    return base64.b64encode(bytes(shift) + CANARY.encode())[(0, 2, 3)[shift]:(shift + len(CANARY)) * 8 // 6]


def hits(data):
    found = set(re.findall(rb"CANARYQ[A-Z0-9]*", data))
    found.update(text for text in OTHERS if text in data)
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        if CANARY.encode(encoding) in data:
            found.add(encoding.encode())
    if any(encoded(shift) in data for shift in range(3)):
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


def unpacked(path):
    """What a file holds, after its own compression."""
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".h5"):
        return values(path)
    if path.endswith(".gz"):
        return gzip.decompress(data)
    if path.endswith(".png"):
        chunks, at = [], 8
        while at < len(data):
            size = int.from_bytes(data[at:at + 4], "big")
            chunks.append((data[at + 4:at + 8], data[at + 8:at + 8 + size]))
            at += size + 12
        return zlib.decompress(b"".join(chunk for kind, chunk in chunks if kind == b"IDAT"))
    return b""


def files_below(folder):
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)


study, uids, from_table = make_study()
scan = make_scan()
secret = {"USER": "CANARYQUSERX", "LOGNAME": "CANARYQUSERX", "HOSTNAME": "CANARYQHOSTX", "HOME": FOLDER}
environment = {**os.environ, **secret}
results = os.path.join(FOLDER, "CANARYQOUTX")
os.makedirs(results)
out, key = os.path.join(results, "r.h5"), os.path.join(FOLDER, "CANARYQKEYX")
with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
    file.write(b"CANARYQSECRETX" * 3)
chain = f'dicom "{study}" | box radius=1 | histogram bins=16 | save name=b | radon views=12'
volume = f'dicom "{study}" | box radius=1'
keyed = f'dicom "{study}" uid_key_file="{key}" | statistics'
commands = {
    "run": ("run", chain, "-o", out),
    "run --json": ("run", "--json", chain, "-o", out, "--force"),
    "run --profile": ("run", chain, "-o", f"{results}/p.h5", "--profile", f"{results}/profile"),
    "run with a key": ("run", keyed, "-o", f"{results}/k.h5"),
    "run masked": ("run", f'dicom "{study}" burned_in=mask mask_boxes=0,0,4,4 mask_value=-1000 | statistics', "-o", f"{results}/m.h5"),
    "run to every format": ("run", f'{volume} | hdf5 {results}/v.h5 | nifti {results}/v.nii.gz | tiff {results}/v.tif | '
                            f'png {results}/pictures | dicom {results}/derived'),
    "run to rle": ("run", f"{volume} | dicom {results}/rle codec=rle"),
    "check": ("check", chain, "-o", FOLDER + "/z.h5"),
    "check --json": ("check", "--json", keyed, "-o", FOLDER + "/z.h5"),
    "info of the folder": ("info", study),
    "info --json of the folder": ("info", "--json", study),
    "info of the result": ("info", out),
    "info of a scan": ("info", scan),
    "info --json of a scan": ("info", "--json", scan),
    "verify": ("verify", out),
    "verify --inputs": ("verify", out, "--inputs", study),
    "diff": ("diff", out, out),
    "diff --json": ("diff", "--json", study, out, "--dataset", "b", "--tolerance", "1e9"),
    "rerun": ("rerun", out, "-i", study, "-o", f"{results}/rerun.h5"),
    "preview": ("preview", out, "-o", f"{results}/p.png"),
    "doctor": ("doctor",),
    **{f"export to {to}": ("export", f"{results}/v.h5", "-o", f"{results}/export{to}") for to in (".nii.gz", ".tif")},
}
refused = {
    "a series that is not there": ("run", f'dicom "{study}" series=9 | statistics', "-o", f"{results}/x.h5"),
    "a key without use": ("run", f'dicom "{study}" deidentify=keep uid_key_file="{key}"', "-o", f"{results}/x.h5"),
}
named_by_the_user = re.compile(rb"CANARYQ(PATHX|OUTX|SCANX|FILE\dX|NOTEX|KEYX)")
for name, arguments in {**commands, **refused}.items():
    done = run(*arguments, env=environment)
    if (done.returncode != 0) != (name in refused):
        fail(f"{name}: exit {done.returncode}: {done.stdout[:300]}")
    told = {hit for hit in hits(done.stdout) if not named_by_the_user.fullmatch(hit)}
    if told:
        fail(f"{name} prints {sorted(told)[:6]}")
written = files_below(results)
for path in written:
    with open(path, "rb") as file:
        raw = file.read()
    for where, data in (("bytes", raw), ("values", unpacked(path))):
        if hits(data):
            fail(f"the {where} of {os.path.basename(path)} hold {sorted(hits(data))[:8]}")
        for text in [*uids, os.uname().nodename]:
            if len(text) > 3 and text.encode() in data:
                fail(f"the {where} of {os.path.basename(path)} hold {text}")
# The search finds what `deidentify: keep` records, so that an empty search does not pass for a clean file.
kept = os.path.join(FOLDER, "kept")
os.makedirs(kept)
run("run", f'dicom "{study}" deidentify=keep | box radius=1 | hdf5 {kept}/r.h5 | nifti {kept}/r.nii.gz', env=environment)
for name in ("r.h5", "r.json"):
    path = os.path.join(kept, name)
    with open(path, "rb") as file:
        found = hits(file.read()) | (hits(values(path)) if name.endswith(".h5") else set())
    if DATE.encode() not in found or len(found) < 2:
        fail(f"{name} of deidentify: keep holds {found}, so that the search would find nothing")
if from_table < 590 or len(written) < 20:
    fail(f"{from_table} attributes of the table and {len(written)} files are too few")
finish(f"{planted} canaries a file, {from_table} attributes of the table, {len(written)} files", 2000)
