# SPDX-License-Identifier: Apache-2.0
"""The list of parts (SPDX 2.3) is valid, and every library that the programs are made of is in it.

usage: test_sbom.py BUILD, which installs into an empty folder and looks there; or test_sbom.py --bundle FOLDER.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

OWN = re.compile(r"^(libtomostage|libtomostage-programs|libcuda)\.so")


def elf_files(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                if not os.path.islink(path) and file.read(4) == b"\x7fELF":
                    yield path


def needed(path):
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))


def loaded(path):
    """Every library that the loader takes, through others too."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return {os.path.basename(name) for name in re.findall(r"^\s*(\S+)(?: =>| \(0x)", text, re.M)} - {"linux-vdso.so.1"}


def check_form(document):
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"]
    assert re.fullmatch(r"https?://\S+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
    assert all(re.match(r"(Tool|Organization|Person): ", who) for who in document["creationInfo"]["creators"])
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids), ids
    for package in document["packages"]:
        assert package["name"] and package["downloadLocation"] and package["licenseDeclared"], package
        assert package["filesAnalyzed"] is False
    own = {one["licenseId"] for one in document["hasExtractedLicensingInfos"]}
    for package in document["packages"]:
        assert set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", package["licenseDeclared"])) <= own, package
    known = set(ids) | {"SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        assert relation["spdxElementId"] in known and relation["relatedSpdxElement"] in known, relation
        assert relation["relationshipType"] in ("DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK")
    assert {relation["relatedSpdxElement"] for relation in document["relationships"]} == set(ids)


def check(folder, path, all_of):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check_form(document)
    parts = {}
    for package in document["packages"]:
        for name in package.get("comment", "files: ")[len("files: "):].split(", "):
            parts[name] = package
    wanted, static = set(), False
    for binary in elf_files(folder):
        wanted |= all_of(binary)
        with open(binary, "rb") as file:
            static |= b"cudaErrorInvalidValue" in file.read()
    wanted = {name for name in wanted if not OWN.match(name)}
    assert len(wanted) > 8, wanted
    missing = sorted(wanted - set(parts))
    assert not missing, f"the list lacks {missing}"
    assert not static or any("libcudart_static.a" in name for name in parts), "the list lacks the CUDA runtime"
    with_version = [name for name in wanted if parts[name].get("versionInfo")]
    if os.path.exists("/usr/bin/dpkg-query"):
        assert set(with_version) == wanted, f"no version of {sorted(wanted - set(with_version))}"
    direct = ("libhdf5", "libyaml", "libcrypto", "libdeflate", "libopenjp2", "libpng", "libtiff", "libdcmdata", "liblz4", "libzstd", "libblosc")
    for name in wanted:
        if name.startswith(direct):
            assert parts[name]["licenseDeclared"] != "NOASSERTION", name
    known = sum(parts[name]["licenseDeclared"] != "NOASSERTION" for name in wanted)
    print(f"{len(document['packages'])} packages, {len(wanted)} libraries, {known} of them with a license, all in the list")


if sys.argv[1] == "--bundle":
    check(sys.argv[2], os.path.join(sys.argv[2], "share/tomostage/sbom.spdx.json"), needed)
else:
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", sys.argv[1], "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        check(prefix, os.path.join(prefix, "share/tomostage/sbom.spdx.json"), loaded)
