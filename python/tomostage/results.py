# SPDX-License-Identifier: Apache-2.0
"""Result files: opened lazily, and what the program does with them."""
import io
import os
import shutil
import subprocess
import sys

from .chain import Table, read
from .errors import STATUSES, ChainError


def program():
    """Returns the path of the program `tomostage`: that of the package, else the first on PATH."""
    own = os.path.join(os.path.dirname(__file__), "bin", "tomostage")
    # The command of this environment is no program of its own: main() is.
    scripts = os.path.dirname(sys.executable)
    path = os.pathsep.join(folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder != scripts)
    found = own if os.path.exists(own) else shutil.which("tomostage", path=path)
    if not found:
        raise FileNotFoundError("the program tomostage is neither in this package nor on PATH")
    return found


def main():
    """The command `tomostage` of an environment: the program takes the place of this process."""
    os.execv(program(), ["tomostage", *sys.argv[1:]])


class Report(str):
    """What the program printed. returncode: 0 if all is well. It is true in that case."""

    returncode = 0

    def __bool__(self):
        return self.returncode == 0

    def __repr__(self):
        return str(self).rstrip()


def _call(*arguments, answers=(0,)):
    """Starts the program. Its exit codes in `answers` are answers, all others are errors."""
    done = subprocess.run([program(), *map(os.fspath, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in answers:
        status = STATUSES.get(done.returncode, "run-failed")
        raise ChainError((done.stderr or done.stdout).rstrip(), (), status)
    report = Report(done.stdout + done.stderr)
    report.returncode = done.returncode
    return report


def _options(options):
    """Returns {"force": True, "set": ["box.radius=3"]} as --force --set box.radius=3."""
    words = []
    for key, value in options.items():
        if value is None or value is False:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words.append("--" + key.replace("_", "-"))
            if one is not True:
                words.append(str(one))
    return words


class Picture:
    """A picture, which a notebook draws. png: the bytes of the file. text: what it shows, and by which window."""

    def __init__(self, png, text):
        self.png, self.text = png, text

    def save(self, path):
        """Writes the PNG file."""
        with io.open(path, "wb") as file:
            file.write(self.png)

    def _repr_png_(self):
        return self.png

    def __repr__(self):
        return f"<tomostage.Picture of {len(self.png)} bytes: {self.text}; save(path) writes it>"


def picture(image, path, options):
    """Returns the Picture that `tomostage preview` makes of an image."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tomostage-") as folder:
        image.save(os.path.join(folder, "image.h5"))
        report = _call("preview", os.path.join(folder, "image.h5"), "-o", os.path.join(folder, "image.png"), *_options(options))
        with io.open(os.path.join(folder, "image.png"), "rb") as file:
            made = Picture(file.read(), report.strip())
    if path is not None:
        made.save(path)
    return made


def verify(path, inputs=None, **options):
    """Recomputes every digest of a result, and says whether `inputs` are what it came from, as `tomostage verify` does. True
    if all is as it was."""
    return _call("verify", path, *_options({"inputs": inputs, **options}), answers=(0, 3))


def rerun(path, input=None, **options):
    """Runs the chain that a result holds once more and compares, as `tomostage rerun` does. True if the results are the
    same, or within what the stages state."""
    return _call("rerun", path, *_options({"input": input, **options}), answers=(0, 1))


def diff(a, b, **options):
    """Says where and by how much two images differ, as `tomostage diff` does. True if they are the same."""
    return _call("diff", a, b, *_options(options), answers=(0, 1))


def batch(chain, *studies, output, **options):
    """Runs a chain over many studies, each to a result in the folder `output`, as `tomostage batch` does."""
    return _call("batch", str(chain), *studies, "-o", output, *_options(options))


def open(path):
    """Opens a result file, with h5py. Nothing but names and descriptions is read until it is used."""
    return ResultFile(path)


class ResultFile:
    """A result: file["smooth"] is a dataset of h5py, of which is read what is sliced; file.image("smooth") reads an Image."""

    def __init__(self, path):
        import h5py

        self.path, self._file = path, h5py.File(path, "r")
        self._entry = self._file["entry"]

    def keys(self):
        """The names of the images; "data" is the last one."""
        return [name for name, group in self._entry.items()
                if group.attrs.get("NX_class") in (b"NXdata", "NXdata") and "data" in group]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def __getitem__(self, name):
        return self._entry[name]["data"]

    def image(self, name="data"):
        """Reads an image with geometry, quantity and unit."""
        return read(self.path, image=name)

    @property
    def chain(self):
        """The text of the chain, with every parameter."""
        return self._entry["provenance/chain"].asstr()[()]

    @property
    def digest(self):
        """The digest of all that is in the file, as it records it; verify() recomputes it."""
        return bytes(self._file.attrs["digest"]).decode()

    @property
    def warnings(self):
        """What the run warned of, as texts."""
        return [text for text in self._entry["provenance/warnings"].asstr()[()] if text != "none"]

    @property
    def tables(self):
        """By stage, arrays by name."""
        steps = ((group["stage"].asstr()[()], group["tables"]) for group in self._entry.values()
                 if group.attrs.get("NX_class") in (b"NXprocess", "NXprocess") and "tables" in group)
        return {stage: Table((name, table[()]) for name, table in tables.items() if "description" in table.attrs)
                for stage, tables in steps}

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<tomostage.ResultFile {os.fspath(self.path)}: {', '.join(self)}>"


for public in (open, verify, rerun, diff, batch, Picture, Report, ResultFile):
    public.__module__ = "tomostage"
