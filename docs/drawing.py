# SPDX-License-Identifier: Apache-2.0
"""Draws images and tables of results for the pages, with titles, axes in units, and scale bars; stage_pages.py and
pictures.py use it. What a panel shows is worked out first, with numpy alone (`Panel`, `stage_panels`), and then drawn with
matplotlib. A picture of a stage carries a record of its panels in a text chunk of the PNG, so that `stage_pages.py --check`
can hold a picture against its chain without drawing it again: records allow for the last bits of a value, which differ
between CPUs and libraries, and pixels would also differ between versions of matplotlib and its fonts."""
import hashlib
import json
import struct
import zlib

import numpy as np

GRID, LEVELS = 16, 255


class Panel:
    """A slice of a volume or of a sinogram, with the extent of its axes and the range of its gray values."""

    def __init__(self, file, group, title, z=None, low=None, high=None):
        entry = file[f"/entry/{group}"]
        self.z = len(entry["data"]) // 2 if z is None else z
        self.image, self.title = entry["data"][self.z].astype(float), title
        self.label, self.units = entry["data"].attrs["long_name"].decode(), entry["data"].attrs["units"].decode()
        self.sinogram = "view" in entry
        if self.sinogram:
            self.across, self.down = axis_of(entry["detector"]), axis_of(entry["view"])
        else:
            # Pixels are counted from the corner of the slice.
            self.across, self.down = ((0, abs(last - first), unit) for first, last, unit in map(axis_of, (entry["x"], entry["y"])))
        self.low, self.high = gray_range(self) if low is None else (low, high)

    def gray(self):
        return np.clip((self.image - self.low) / (self.high - self.low), 0, 1) * LEVELS

    def record(self):
        """The numbers that tell whether another panel looks the same: axes, and the mean and the standard deviation of the
        gray levels in the fields of a grid."""
        gray = self.gray()
        rows, columns = (np.linspace(0, n, GRID + 1).astype(int) for n in gray.shape)
        fields = [gray[a:b, c:d] for a, b in zip(rows, rows[1:]) for c, d in zip(columns, columns[1:])]
        levels = np.rint([[field.mean() for field in fields], [field.std() for field in fields]])
        return {"title": self.title, "label": self.label, "axes": [self.across, self.down], "range": [self.low, self.high],
                "gray": levels.astype("u1").tobytes().hex()}


class Table:
    """Numbers of the table of a stage, by name."""

    def __init__(self, title, **columns):
        self.title, self.columns = title, {name: np.asarray(values, float) for name, values in columns.items()}

    def record(self):
        return {"title": self.title, "columns": {name: [float(f"{value:.6g}") for value in values.ravel()[:256]]
                                                 for name, values in self.columns.items()}}


def axis_of(axis):
    """(lower edge of the first sample, upper edge of the last, unit)"""
    half = float(axis[1] - axis[0]) / 2
    return float(axis[0]) - half, float(axis[-1]) + half, axis.attrs["units"].decode()


def gray_range(panel):
    """The range of nearly all values; of a head in HU that of soft tissue."""
    low, high = (float(value) for value in np.nanpercentile(panel.image, (1, 99)))
    return (-150., 250.) if panel.units == "HU" and high < 1200 else (low, high)


def stage_panels(stage, before, after, follows):
    """What the page of a stage shows; follows: the stage behind it that ends its chain, or nothing."""
    if stage == "save":
        return Panel(after, "smooth", "saved as smooth"), Panel(after, "data", f"the chain goes on: {follows}")
    first = Panel(before, "data", f"before {stage}")
    if stage not in ("histogram", "statistics"):
        second = Panel(after, "data", f"after {stage}" + (f", and {follows}" if follows else ""))
        if second.label == first.label:
            second.low, second.high = first.low, first.high
        return first, second
    tables = after[next(f"/entry/{name}/tables" for name in after["/entry"] if name.endswith("_" + stage))]
    names = ("counts", "edges") if stage == "histogram" else ("mean", "standard_deviation", "percentiles")
    title = "histogram of the volume" if stage == "histogram" else "statistics of every slice"
    return first, Table(title, **{name: tables[name][:] for name in names})


def scale_bar(axes, low, high, unit):
    """A bar of 1, 2 or 5 times a power of ten, at most a quarter of the width, near the lower left corner."""
    from matplotlib import patheffects
    power = 10. ** np.floor(np.log10((high - low) / 4))
    length = power * max(digit for digit in (1, 2, 5) if digit * power <= (high - low) / 4)
    bottom, top = axes.get_ylim()
    x, y = low + (high - low) * 0.05, bottom + (top - bottom) * 0.06
    edges = [[patheffects.withStroke(linewidth=width, foreground="black")] for width in (5, 2)]
    axes.plot([x, x + length], [y, y], color="white", linewidth=3, solid_capstyle="butt", path_effects=edges[0])
    axes.text(x + length / 2, y + (top - bottom) * 0.02, f"{length:g} {unit}", color="white", ha="center", va="bottom", fontsize=8,
              path_effects=edges[1])


def draw_image(axes, panel):
    (left, right, unit), (first, last, down_unit) = panel.across, panel.down
    shown = axes.imshow(panel.image, cmap="gray", vmin=panel.low, vmax=panel.high, extent=(left, right, last, first),
                        aspect="auto" if panel.sinogram else "equal")
    names = ("position on the detector", "view") if panel.sinogram else ("x", "y")
    axes.set(title=panel.title, xlabel=f"{names[0]} ({unit})", ylabel=f"{names[1]} ({down_unit})")
    if panel.sinogram and down_unit == "degree":
        axes.set_yticks(np.arange(0, last + 1, 90 if last > 181 else 45))
    axes.set(xlim=(left, right), ylim=(last, first))
    scale_bar(axes, left, right, unit)
    axes.figure.colorbar(shown, cax=axes.inset_axes([1.03, 0, 0.05, 1])).set_label(panel.label)


def draw_table(axes, table):
    columns = table.columns
    if "counts" in columns:
        axes.stairs(columns["counts"], columns["edges"], fill=True, color="0.5")
        axes.set(title=table.title, xlabel="value (HU)", ylabel="values per bin", yscale="log")
        return
    slices = range(len(columns["mean"]))
    axes.errorbar(slices, columns["mean"], columns["standard_deviation"], fmt="o", color="k", capsize=4,
                  label="mean, standard deviation")
    for k, name in enumerate(("5 %", "50 %", "95 %")):
        axes.plot(slices, columns["percentiles"][:, k], "_", markersize=18, markeredgewidth=2, label=name)
    axes.set(title=table.title, xlabel="slice (1)", ylabel="value (HU)", xticks=slices, xlim=(-.5, len(slices) - .5))
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(.5, -.18), ncol=4)


def version():
    """Pictures that another version of this file drew may look different."""
    with open(__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def draw_pair(panels, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image, PngImagePlugin
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.7), constrained_layout={"w_pad": 0.12, "h_pad": 0.06})
    for ax, panel in zip(axes, panels):
        (draw_image if isinstance(panel, Panel) else draw_table)(ax, panel)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    record = PngImagePlugin.PngInfo()
    record.add_text("panels", json.dumps([version()] + [panel.record() for panel in panels]), zip=True)
    # Colors of a palette take a third of the bytes.
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True, pnginfo=record)


def read_record(path):
    """What `draw_pair` wrote into the PNG, or nothing."""
    with open(path, "rb") as file:
        data = file.read()
    place = 8
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        if kind == b"zTXt" and data[place + 8:].startswith(b"panels\0\0"):
            return json.loads(zlib.decompress(data[place + 16:place + 8 + size]))
        place += size + 12
    return None


def differs(old, new):
    """Where two records say different things, as text, or nothing. Numbers may differ by 0.1 % of the largest beside them,
    and gray levels by 1 of 255."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        found = [f"{name}: {fault}" if fault else "" for name, fault in
                 ((name, gray_differs(old[name], new[name]) if name == "gray" else differs(old[name], new[name])) for name in new)]
        return next(filter(None, found), "")
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) == len(new):
        largest = max((abs(value) for value in new if isinstance(value, float)), default=0)
        for a, b in zip(old, new):
            if isinstance(a, float) and isinstance(b, float):
                if not abs(a - b) <= 0.001 * largest:
                    return f"{a:g} became {b:g}"
            elif differs(a, b):
                return differs(a, b)
        return ""
    return "" if old == new else f"{str(old)[:40]} became {str(new)[:40]}"


def gray_differs(old, new):
    levels = [np.frombuffer(bytes.fromhex(text), "u1").astype(int) for text in (old, new)]
    worst = np.abs(levels[0] - levels[1]).max()
    return f"levels differ by up to {worst} of {LEVELS}" if worst > 1 else ""
