# SPDX-License-Identifier: Apache-2.0
"""What test_hints.py shares: a row is an input that provokes a hint, words of the hint, the input as the hint says, and what must hold."""
import os
import re
import subprocess
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../house"))
from harness import PROGRAM, run, test  # noqa: E402
from hints import tokens  # noqa: E402

VISIBLE = os.environ.get("CUDA_VISIBLE_DEVICES")
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the same hints and values everywhere
FAULTS, CARRIED = {}, []  # by folder; what the program said, as tokens
V = (np.arange(4 * 8 * 8).reshape(4, 8, 8) * 7 % 251).astype("f4")


def said(done):
    """[(code, hint)] of its messages."""
    found, code = [], None
    for line in done.stderr.splitlines():
        code = (re.findall(r"\[([a-z0-9-]+)\]$", line) or [code])[-1]
        if line.startswith("  hint: "):
            found.append((code, line[8:]))
    return found


def words_of(chain):
    """A chain, or a list of a command's words; chains write to out.h5."""
    if isinstance(chain, list):
        return chain
    named = re.search(r"\| (hdf5|tiff|nifti|png|dicom) \S+$", chain)
    return ["run", chain, *([] if named else ["-o", "out.h5"]), "--quiet", "--force", "--threads", "1"]


def start(words, folder):
    """Runs the program, or a line of the shell: ["sh", LINE], in which $T is the program."""
    if words[0] == "sh":
        return subprocess.run(["bash", "-c", words[1]], capture_output=True, text=True, cwd=folder, env={**os.environ, "T": PROGRAM})
    return run(*words, expect=None, cwd=folder)


def image(folder, path="entry/data/data"):
    with h5py.File(f"{folder}/out.h5") as file:
        return file[path][()]


def rows(function):
    """A test of several rows, all of which are tried."""

    def tried(folder):
        function(folder)
        assert folder not in FAULTS, "\n".join(FAULTS[folder])

    tried.__name__ = function.__name__
    return test(tried)


def carry(folder, *arguments, **named):
    try:
        carry_out(folder, *arguments, **named)
    except AssertionError as fault:
        FAULTS.setdefault(folder, []).append(str(fault)[:1500])


def carry_out(folder, before, hint, after, check=None, shell=None, names=None, again=False):
    """Runs `before`, which must say the hint, and then what it names: a chain, or several that it offers. They must succeed
    without the message; check(image) is then true, or the image equals an array or has a shape."""
    done = start(words_of(before), folder)
    lines = [(code, line) for code, line in said(done) if tokens(hint) in tokens(line)]
    assert lines, f"{before} says no '{hint}' but:\n{done.stderr}"
    code = lines[0][0]
    if shell:
        subprocess.run(shell, shell=True, check=True, cwd=folder)
    for chain in (
        after if isinstance(after, list) and not isinstance(after[0], str) or isinstance(after, tuple) else [after]
    ):
        if os.path.exists(f"{folder}/out.h5"):
            os.remove(f"{folder}/out.h5")
        if isinstance(chain, str) and "@C" in chain:
            chain = chain.replace("@C", re.search(r"center=([\d.]+)", lines[0][1])[1])
        if isinstance(chain, str) and "@S" in chain:
            chain = chain.replace("@S", re.search(r"search=([\d.]+)", lines[0][1])[1])
        if isinstance(chain, list) and "@G" in chain[-1]:
            chain = [chain[0], chain[-1].replace("@G", re.search(r"--gpu-memory (\S+)", lines[0][1])[1])]
        words = [re.search(r"--memory (\S+)", lines[0][1])[1] if word == "@M" else word for word in words_of(chain)]
        done = start(words, folder)
        if names:  # a command that says what is wrong
            assert names in done.stdout + done.stderr, f"{chain}: {done.stdout}{done.stderr}"
            continue
        where = f"the hint '{hint}' of {before}: {chain}"
        assert done.returncode == 0, f"{where} ends with {done.returncode}\n{done.stderr}"
        assert again or f"[{code}]" not in done.stderr, f"{where} says [{code}] again\n{done.stderr}"
        if isinstance(check, tuple):
            assert image(folder).shape == check, f"{chain}: {image(folder).shape}"
        elif isinstance(check, np.ndarray):
            found = image(folder)
            assert found.shape == check.shape, f"{chain}: {found.shape}"
            assert np.allclose(found, check, rtol=1e-5, atol=1e-6), f"{chain}: {found.flat[:4]}, not {check.flat[:4]}"
        elif callable(check):
            assert check(image(folder)), f"{chain}: wrong values"
    if isinstance(check, str):
        assert os.path.exists(f"{folder}/{check}"), f"{chain}: wrote no {check}"
    CARRIED.extend(tokens(line) for _, line in lines)


def arrays(folder):
    for kind in ("u1", "u2", "i2", "i4", "f4"):
        np.save(f"{folder}/{kind}.npy", V.astype(kind))


def no_force(chain, *more):
    return ["run", chain, "--quiet", *more]


def yaml(folder, name, text):
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)
    return ["run", name, "-o", "out.h5", "--quiet", "--force"]


SCAN = (
    "nexus scan.nxs | input flats like=input frames=flats | input darks like=input frames=darks | "
    "flat_field flats=flats darks=darks"
)
N = 32


def scans(folder):
    """A scan with a right answer: its reconstruction, which comes with it."""
    run("phantom", "scan", "-o", "scan.nxs", "--size", str(N), "--slices", "4", "--views", "48", "--noise", "0",
        "--quiet", cwd=folder)
    run(*words_of(SCAN + " | minus_log | save name=lines | fbp"), cwd=folder)
    lines, slices = image(folder, "entry/lines/data"), image(folder)
    assert lines.shape == (4, 48, N)
    for kind in ("f4", "i4"):
        np.save(f"{folder}/lines_{kind}.npy", lines.astype(kind))
    with h5py.File(f"{folder}/lines.h5", "w") as file:
        file["lines"], file["angles"], file["radians"] = lines, np.arange(48) * 3.75, np.radians(np.arange(48) * 3.75)
        file["other"] = np.arange(48) * 3.75
        file["other"].attrs["units"] = "turn"
    np.savetxt(f"{folder}/radians.txt", np.radians(np.arange(48) * 3.75))
    np.savetxt(f"{folder}/degrees.txt", np.arange(48) * 3.75)
    run("run", SCAN + " | minus_log | tiff lines.tif", "--quiet", cwd=folder)
    run("run", SCAN + " | minus_log | tiff lines/", "--quiet", cwd=folder)
    return lines, slices


def close(right, part=0.02):
    """Compares with the reconstruction from the scan itself; pixels are of another size in inputs without one."""

    def compare(found):
        return found.shape == right.shape and abs(found * right.max() / found.max() - right).max() < part * right.max()

    return compare
