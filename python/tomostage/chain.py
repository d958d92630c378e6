# SPDX-License-Identifier: Apache-2.0
"""Chains, and what a run of one leaves."""
import os
import threading
import warnings

from . import _core
from .arrays import device_of, empty, handle
from .errors import ChainWarning
from .image import Image, asimage
from .progress import listener_of


class Sweep(tuple):
    """Values that a parameter takes one after the other, made by sweep()."""

    __slots__ = ()


def sweep(*values):
    """Returns the values for a parameter of one stage: box(radius=sweep(1, 2, 4)). The result has an axis of them."""
    return Sweep(values)


def text_of(value):
    """Returns the value of a parameter as a chain on one line has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Sweep):
        return "{sweep: [" + ", ".join(map(text_of, value)) + "]}"
    if isinstance(value, (str, os.PathLike)):
        value = os.fspath(value)
        if value and value[0] not in "~-+" and all(c.isalnum() or c in "_./-+#" for c in value) and value.lower() != "null":
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if hasattr(value, "tolist"):
        value = value.tolist()
        return text_of(value)
    return "[" + ", ".join(map(text_of, value)) + "]"


class Chain:
    """A chain of stages, from its text, YAML or the form on one line, which is read at once.

    Chain("dicom study | box radius=2"), Chain.load("chain.yaml"), and dicom("study") | box(radius=2) are chains. a | b is a
    chain of the stages of both.
    """

    def __init__(self, text, *, name="chain", folder=None):
        self._text, self._name, self._folder = text, name, folder
        self._changes, self._arrays = [], {}
        self._read()

    @classmethod
    def _of(cls, text, arrays=()):
        """Returns a part of a chain, which is read when all of it is known."""
        chain = cls.__new__(cls)
        chain._text, chain._name, chain._folder = text, "chain", None
        chain._changes, chain._arrays = [], dict(arrays)
        return chain

    @classmethod
    def load(cls, path):
        """Reads a chain file, whose paths are relative to its folder."""
        path = os.fspath(path)
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), name=path, folder=os.path.dirname(path) or None)

    def _read(self):
        """Returns the library's chain, a new one each time, so that threads may run one Chain."""
        chain = _core.Chain(self._text, self._name, self._folder)
        for function, argument in self._changes:
            getattr(chain, function)(argument)
        for name, image in self._arrays.items():
            chain.set_array(name, handle(image.array), image.description())
        return chain

    def _change(self, function, argument):
        self._changes.append((function, argument))
        try:
            self._read()
        except BaseException:
            self._changes.pop()
            raise
        return self

    def set(self, parameter, value):
        """Changes one parameter, as set("box.radius", 3) or, of the input, set("input.series", 2). Returns the chain."""
        return self._change("set", f"{parameter}={text_of(value)}")

    def input(self, path):
        """Changes the path of the input. Returns the chain."""
        return self._change("set_input", os.fspath(path))

    def _line(self):
        """Returns the form on one line."""
        if not self._changes and not self._folder and "\n" not in self._text.strip():
            return self._text.strip()
        line = self._read().text(True)
        if not line:
            raise ValueError("this chain cannot be written on one line, to which stages are added: it has control characters, "
                             "is of a form before version 2, or has an output without a file")
        return line

    def __or__(self, other):
        if not isinstance(other, Chain):
            return NotImplemented
        clash = [name for name, image in other._arrays.items() if self._arrays.get(name, image) is not image]
        if clash:
            raise ValueError(f"both chains have an array '{clash[0]}', and they are not the same")
        return Chain._of(f"{self._line()} | {other._line()}", {**self._arrays, **other._arrays})

    def to_yaml(self):
        """Returns the chain as YAML, with what was given and no default."""
        return self._read().text(False)

    def __str__(self):
        return self._line()

    def __repr__(self):
        return f"<tomostage.Chain {self._line()!r}>"

    def _plan(self, device="auto", threads=0, memory=0, write=None, force=False, listener=None):
        chain = self._read()
        if write is not None:
            chain.set_output(os.fspath(write))
        return _core.Plan(chain, device, threads, memory, force, listener)

    def check(self, device="auto"):
        """Works out every shape, unit and byte without running anything. Returns a table, which prints itself."""
        return Check(self._plan(device))

    def run(self, device="auto", *, out=None, write=None, force=False, progress=None, threads=0, memory=0):
        """Runs the chain. Returns a Result with its images and tables.

        device: "auto", "cpu", "cuda" or "cuda:N". out: arrays that images are written to, by name: {"data": x}, where "data"
        is the last image and save(name="smooth") makes "smooth"; the others are new arrays, of the kind and on the device of
        the chain's arrays. write: a file for the result, whose suffix names the format. force: replace it if it exists.
        progress: True shows how far the run is, with tqdm if it is installed, in a terminal or a notebook; a function is called
        with each Event, and stops the run if it raises. threads, memory: 0, or the number of threads and the bytes of host
        memory that may be used.
        """
        listener, close = listener_of(progress)
        try:
            plan = self._plan(device, threads, memory, write, force, listener)
            return Result(plan, out or {}, next((image.array for image in self._arrays.values()), None))
        finally:
            close()


class Check:
    """What a chain will do, as `tomostage check` prints it. plan: the same as a dictionary. warnings: a list of records."""

    def __init__(self, plan):
        import json

        self._text, self.plan = plan.text(False), json.loads(plan.text(True))
        self.warnings = [record for record in plan.records() if record.severity == "warning"]

    def __repr__(self):
        return self._text.rstrip()

    def _repr_html_(self):
        """The stages as a table, and below it the text, which has the rest."""
        from html import escape

        columns = ("stage", "gives", "type", "quantity", "unit", "method", "device", "pass", "holds")
        rows = [(one["stage"], " x ".join(map(str, one["shape"])), one["dtype"], one["quantity"], one["unit"], one["method"],
                 one["device"], one["pass"], f"{one['held_bytes'] / (1 << 20):.1f} MiB") for one in self.plan["stages"]]
        head = "".join(f"<th>{name}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(str(cell), False)}</td>" for cell in row) + "</tr>" for row in rows)
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><details><summary>all of it</summary>"
                f'<pre style="overflow-x: auto">{escape(self._text, False)}</pre></details>')


class Table(dict):
    """The numbers that a stage left, arrays by name."""

    def to_pandas(self):
        """Returns a pandas.DataFrame with a column for each array of one axis, and one row for each of its elements."""
        import pandas

        return pandas.DataFrame({name: array.reshape(-1) if array.size == 1 else array
                                 for name, array in self.items() if array.ndim <= 1 or array.size == 1})


class Result:
    """What a run left: result["smooth"] is an array, result.images["smooth"] the same with geometry and unit.

    tables: by stage, arrays by name: result.tables["statistics"]["mean"]. warnings, notes: lists of records. records: all.
    """

    def __init__(self, plan, out, like):
        unknown = set(out) - set(plan.images())
        if unknown:
            plan.describe(min(unknown))  # which raises the error that names those that there are
        self.images, run = {}, _core.Run(plan)
        for name in plan.images():
            self.images[name] = self._prepare(run, name, plan.describe(name), out.get(name), like)
        main_thread = threading.current_thread() is threading.main_thread()
        self.records = plan.records() + run.execute(main_thread)
        for name, image in self.images.items():  # stages such as `center` find where the axis is
            image._place(run.describe(name))
        self.warnings = [record for record in self.records if record.severity == "warning"]
        self.notes = [record for record in self.records if record.severity == "note"]
        self.tables = self._tables(run)

    @staticmethod
    def _prepare(run, name, about, array, like):
        """Gives the run an array for an image, and returns the image."""
        shape = tuple(axis[1] for axis in about["axes"])
        if about["masked"] and array is None and (like is None or device_of(like) < 0):
            image = Image(empty(shape, about["dtype"], like), about, empty(shape, "bool"))
            run.set_masked(name, handle(image.array), handle(image.valid))
            return image
        if array is None:
            array = empty(shape, about["dtype"], like)
        elif isinstance(array, Image):
            array = array.array
        run.set_array(name, handle(array, writable=True), len(shape))
        return Image(array, about)

    @staticmethod
    def _tables(run):
        tables = {}
        for name, (about, data) in run.tables().items():
            import numpy

            stage, _, table = name.partition(".")
            shape = [axis[1] for axis in about["axes"]]
            tables.setdefault(stage, Table())[table] = numpy.frombuffer(data, about["dtype"]).reshape(shape)
        return tables

    def __getitem__(self, name):
        return self.images[name].array

    def __iter__(self):
        return iter(self.images)

    def __len__(self):
        return len(self.images)

    def keys(self):
        return self.images.keys()

    @property
    def digest(self):
        """The digest of the last image, which is that of its dataset in a result file."""
        return digest(self.images["data"])

    def save(self, path, force=False):
        """Writes the images to a file whose suffix names the format: HDF5 has all of them, the others the last one. force:
        replace the file if it exists.

        Nothing is computed again. The values, geometry and units are those that run(write=path) writes; but tables, facts of
        the acquisition and how the images were made are only in a file of run(write=path).
        """
        save(self.images, path, force)

    def __repr__(self):
        lines = [f"  {name}: {image!r}" for name, image in self.images.items()]
        lines += [f"  {record}" for record in self.warnings]
        return "\n".join(["<tomostage.Result", *lines, ">"])


def digest(image):
    """Returns the tree digest of the values (docs/provenance.md): SHA-256 over their number of bytes and the SHA-256 of each
    MiB of them."""
    import hashlib

    import numpy

    array = image.array if isinstance(image, Image) else image
    array = array.cpu() if hasattr(array, "cpu") else array.get() if hasattr(array, "get") else array
    values = memoryview(numpy.ascontiguousarray(array)).cast("B")
    leaves = (hashlib.sha256(values[i : i + (1 << 20)]).digest() for i in range(0, len(values), 1 << 20))
    return hashlib.sha256(len(values).to_bytes(8, "little") + b"".join(leaves)).hexdigest()


def save(images, path, force=False):
    """Writes images by their names, of which "data" is the last one, to a file. Warns as a run does."""
    names = [name for name in images if name != "data"]
    parts = ["memory data", *(f"input {name}_image memory {name}" for name in names),
             *(f"save name={name} input={name}_image" for name in names), *(["save input=input"] if names else [])]
    chain = Chain._of(" | ".join(parts), images)
    on_device = any(device_of(image.array) >= 0 for image in images.values())
    plan = chain._plan("auto" if on_device else "cpu", write=path, force=force)
    for record in plan.records() + _core.Run(plan).execute(threading.current_thread() is threading.main_thread()):
        if record.severity == "warning":
            warnings.warn(str(record), ChainWarning, stacklevel=3)


def memory(image, name="image"):
    """A chain's input that is an array or an Image of yours: memory(x) | box(radius=2)."""
    return Chain._of(f"memory {name}", {name: asimage(image)})


def read(path, **parameters):
    """Reads an image: a folder of DICOM files, NIfTI, NRRD, NumPy's .npy, TIFF, HDF5, or a result. `parameters` are those of
    the format, such as series=2."""
    chain = Chain("tomostage: 2\nstages: []\n", name="read").input(path)
    for parameter, value in parameters.items():
        chain.set(f"input.{parameter}", value)
    return chain.run("cpu").images["data"]


for public in (Chain, Check, Result, Table, Sweep, sweep, memory, read, digest):
    public.__module__ = "tomostage"
