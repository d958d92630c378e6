#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole reports: what the record and the page say is what h5py reads from the result, they name no path, user or host, the page
loads nothing, stays below 5 MB, and two equal runs give equal bytes. In headless Chromium it fits a phone and a desk in light
and dark, says nothing on the console, its sliders draw the values in the window that they say, and no text or number of a
record makes markup of itself or a page without end.

usage: test_report.py PROGRAM. Series of public images are found through TOMOSTAGE_DATA. Ends with 77, which counts as skipped,
where h5py or numpy is missing; what needs a browser is left out, with a line that says so, where there is none."""
import base64
import getpass
import hashlib
import html.parser
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile

import browser

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"SKIPPED: {missing}; ./bootstrap.sh test installs what the tests need")
    sys.exit(77)

PROGRAM = os.path.abspath(sys.argv[1])
DATA = os.environ.get("TOMOSTAGE_DATA")
TOOTH = "exchange: {data}/projections/tomopy_tooth/tooth.h5, pixel_size: 0.001"
CHAINS = {
    "ct": "input: {{dicom: {data}/ct/ibsi_sts001/dicom/CT/image}}\nstages:\n  - save: {{name: original}}\n"
          "  - gaussian: {{sigma: 2}}\n  - save: {{name: smooth}}\n  - equalize: {{}}\n",
    "mr": "input: {{dicom: {data}/mr/siemens_mosaic/dicom, series: '#6'}}\nstages:\n  - median: {{radius: 1}}\n",
    "pet": "input: {{dicom: {data}/ct/ibsi_sts001/dicom/PET/image}}\nstages:\n  - statistics: {{scope: slice}}\n"
           "  - histogram: {{bins: 256, scope: slice}}\n",
    "tooth": f"input: {{{{{TOOTH}}}}}\ninputs:\n  flats: {{{{{TOOTH}, frames: flats}}}}\n  darks: {{{{{TOOTH}, frames: darks}}}}\n"
             "stages:\n  - flat_field: {{flats: flats, darks: darks}}\n  - minus_log: {{}}\n  - save: {{name: sinogram}}\n"
             "  - center: {{}}\n  - fbp: {{}}\n",
    "neutron": "input: {{tiff: {data}/projections/sarepy_neutron360/sinogram_360_neutron_image.tif, pages: sinograms, "
               "pixel_size: 0.1, angle_start: 0, angle_stop: 360, quantity: line_integral}}\nstages:\n"
               "  - save: {{name: sinogram}}\n  - center: {{}}\n  - cgls: {{iterations: 5}}\n"}
PHANTOM = ("input: {{dicom: {data}/study}}\nstages:\n  - save: {{name: original}}\n  - box: {{radius: 2, dimensions: 3d}}\n"
           "  - save: {{name: smooth}}\n  - radon: {{views: 30}}\n  - save: {{name: sinogram}}\n  - sirt: {{iterations: 3}}\n")
MOST_BYTES = 5_000_000


def run(folder, *arguments, expect=0):
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}\n{done.stderr}"
    return done


class Page(html.parser.HTMLParser):
    """Tags, attributes, the text and the record of a page; a tag that is not closed is an error."""
    ALONE = {"meta"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert not self.open, self.open
        (record,) = re.findall(r'<script type="application/json" id="record">(.*?)</script>', text, re.S)
        assert "<" not in record
        self.record = json.loads(record)
        self.words = "\n".join(texts_of(self.record))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.ALONE:
            assert self.open and self.open.pop() == tag, (tag, self.open, self.getpos())

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        self.texts[tag] = self.texts.get(tag, "") + data


def texts_of(value):
    """All texts of a record but those of pictures, in which chance may write anything."""
    if isinstance(value, dict):
        value = [item for key, item in value.items() if key != "png"]
    return [text for item in value for text in texts_of(item)] if isinstance(value, list) else [value] if isinstance(value, str) else []


def keys_of(value):
    """All keys of a record."""
    keys = set(value) if isinstance(value, dict) else set()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return keys.union(*map(keys_of, inner))


def check_is_documented(record):
    """The page for users lists every field."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/report.md"), encoding="utf-8") as file:
        told = set(re.findall(r"`(\w+)`", file.read().split("## The record in the page")[1]))
    assert keys_of(record) <= told, keys_of(record) - told


def make(folder, name, chain, data, *options):
    """Runs a chain, writes its report, and returns the paths of both and the page."""
    with open(f"{folder}/{name}.yaml", "w", encoding="utf-8") as file:
        file.write("tomostage: 2\n" + chain.format(data=data) + f"output: {{hdf5: {name}.h5}}\n")
    run(folder, "run", f"{name}.yaml", "--device", "cpu", "--force", "--quiet", *options)
    profile = ["--profile", options[1] + ".json"] if options else []
    run(folder, "report", f"{name}.h5", "-o", f"{name}.html", *profile, "--force")
    with open(f"{folder}/{name}.html", encoding="utf-8") as file:
        return f"{folder}/{name}.h5", f"{folder}/{name}.html", file.read()


def check_loads_nothing(text, page):
    """Nothing in the page leads out of it, and its policy lets the browser run the one script alone."""
    assert len(text.encode()) < MOST_BYTES, len(text)
    for tag, attributes in page.tags:
        assert tag in ("html", "head", "meta", "title", "style", "body", "header", "h1", "main", "pre", "script"), tag
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href")], attributes
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    policy = next(attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy, policy


def check_says_what_the_file_says(path, page, shown=None):
    """The record says it, and so does the page that is drawn from it. What it says without a script are the main facts."""
    words = page.words if shown is None else shown
    with h5py.File(path) as file:
        said = [file.attrs["digest"], *(item.attrs["sha256_tree"] for item in datasets(file))]
        for group in file["entry/inputs"].values():
            said += [*group["slice_pixel_sha256"][:2048], *group["slice_instance_hmac"][:2048]]
        for name, group in file["entry"].items():
            if name.startswith("process_"):
                said += [group["stage"][()], *(key.encode() for key in group["parameters"])] if "parameters" in group else []
        said += [line for line in file["entry/provenance/chain"][()].split(b"\n")]
        said.append(file["entry/provenance/chain"].attrs["text_sha256"])
        for text in file["entry/provenance/warnings"][()]:
            fact = text.split(b":")[0].replace(b"-", b"_").decode()  # what the inputs record stands for a sentence about files
            recorded = [group[fact][()] for group in file["entry/inputs"].values() if fact in group]
            said += recorded or [text] if text != b"none" else []
        said += [value[()] for key, value in file["entry/provenance"].items() if key not in ("chain", "warnings")]
        for text in said:
            assert text.decode() in words, text
        for text in (file.attrs["digest"], *file["entry/provenance/chain"][()].split(b"\n"), *file["entry/provenance/warnings"][()]):
            assert text.decode().split(":")[0] in page.texts["pre"], text
        for name, group in file["entry/inputs"].items():
            assert f"{name}: {len(group['slice_pixel_sha256'])} slices, format {group['format'][()].decode()}\n" in page.texts["pre"]
    for private in (os.path.dirname(path), os.path.basename(path), socket.gethostname(), DATA, *([getpass.getuser()] if os.getuid() else [])):
        assert not private or private not in words + page.texts["pre"], private


def datasets(file):
    found = []
    file.visititems(lambda name, item: found.append(item) if isinstance(item, h5py.Dataset) else None)
    return found


def planes_of(values, scan):
    """The central planes of axial slices as the page shows them: (rows, columns), the last slice on top."""
    z, y, x = ((n - 1) // 2 for n in values.shape)
    return [values[z], values[::-1, y], values[::-1, :, x]][:2 if scan else 3]


def expected_gray(values, level, width):
    return np.clip((values - (level - width / 2)) / width, 0, 1) * 255


CANVAS = """(() => { const canvas = document.querySelectorAll('article.image')[%d].querySelectorAll('canvas')[%d];
  return [canvas.width, canvas.height, Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
    .filter((_, i) => i %% 4 == 0))]; })()"""
MOVE = """(() => { const input = document.querySelectorAll('article.image')[%d].querySelector('input.%s[type=range]');
  input.value = %r; input.dispatchEvent(new Event('input')); return +input.value; })()"""


def canvas(chromium, card, plane):
    width, height, grays = chromium.evaluate(CANVAS % (card, plane))
    return np.array(grays).reshape(height, width)


def check_sliders(chromium, file, names):
    """The planes have the gray levels that the values have in the window; a moved slider draws others, and the wipe shows
    the image before."""
    for card, name in enumerate(names):
        values = file[f"entry/{name}/data"][()].astype(float)
        low, high = np.nanmin(values), np.nanmax(values)
        level, width = chromium.evaluate(MOVE % (card, "level", float(low + 0.4 * (high - low)))), None
        width = chromium.evaluate(MOVE % (card, "width", float(0.5 * (high - low))))
        for i, plane in enumerate(planes_of(values, name == "sinogram")):
            drawn = canvas(chromium, card, i)
            assert drawn.shape == plane.shape, (name, i, drawn.shape, plane.shape)
            assert np.abs(drawn - expected_gray(plane, level, width)).max() < 0.6, (name, i)
    before, after = canvas(chromium, 0, 0), canvas(chromium, 1, 0)
    chromium.evaluate(MOVE % (1, "wipe", 0.5))
    wiped, half = canvas(chromium, 1, 0), before.shape[1] // 2
    assert (wiped[:, :half] == before[:, :half]).all() and (wiped[:, half + 1:] == after[:, half + 1:]).all()


SHOWN = "document.querySelector('main').textContent"


def check_in_browser(chromium, path, page, parsed):
    for width in (390, 1280):
        for dark in (False, True):
            chromium.load(page, width, dark=dark)
            assert not chromium.complaints(), chromium.complaints()
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            assert chromium.evaluate("Array.from(document.querySelectorAll('.frame')).every(f => f.clientHeight > 8 && "
                                     "Math.abs(f.clientWidth / f.clientHeight / f.style.aspectRatio.split('/')[0] - 1) < 0.1)"), path
    check_says_what_the_file_says(path, parsed, chromium.evaluate(SHOWN))
    assert chromium.evaluate("Array.from(document.querySelectorAll('[href], [src]')).every(e => /^#/.test(e.getAttribute('href')))")
    chromium.load(page, 390, script=False)
    assert not chromium.complaints()


def expect_shown(chromium, page, *texts):
    if chromium:
        chromium.load(page)
        shown = chromium.evaluate(SHOWN)
        for text in texts:
            assert text in shown, text


def test_phantom(folder, chromium):
    run(folder, "phantom", "shepp-logan", "-o", "study")
    path, page, text = make(folder, "phantom", PHANTOM, folder, "--profile", "times")
    parsed = Page(text)
    record = parsed.record
    check_loads_nothing(text, parsed)
    check_is_documented(record)
    check_says_what_the_file_says(path, parsed)
    assert "0 HU, which is water" in record["warnings"][0] and "0 HU, which is water" in parsed.texts["pre"], "the warning of radon"
    assert record["run"]["memory"]["planned"] > 0 and {"read", "compute", "write"} <= {part["part"] for part in record["run"]["parts"]}
    assert len(record["residuals"]) == 1 and record["geometry"]["image"] == "sinogram"
    assert [len(image["planes"]) for image in record["images"]] == [3, 3, 2, 3]
    _, _, again = make(folder, "again", PHANTOM, folder)
    run(folder, "report", "phantom.h5", "-o", "third.html")
    with open(f"{folder}/third.html", encoding="utf-8") as file:
        assert file.read() == again, "two equal runs give equal reports"
    assert "run" not in Page(again).record
    assert "exists" in run(folder, "report", "phantom.h5", "-o", "third.html", expect=1).stderr
    if chromium:
        check_in_browser(chromium, path, page, parsed)
        expect_shown(chromium, f"{folder}/again.html", "No profile was given")
        expect_shown(chromium, page, "memory planned", "What each part of the run did", "Residuals", "How the sinogram was measured",
                     "original \u2192 box \u2192 save#2", "24 x 256 x 256 values (i16) in HU, 2.5 mm x 0.8 mm x 0.8 mm apart. From -1000 to",
                     "coronal slice 127 (0 to 255) at -0.4 mm; x across, z down (the last on top)")
        assert chromium.evaluate("document.querySelectorAll('figure.plane').length") == 11
        with h5py.File(path) as file:
            check_sliders(chromium, file, ["original", "smooth", "sinogram", "data"])
        chromium.print(f"{folder}/phantom.pdf")
        assert os.path.getsize(f"{folder}/phantom.pdf") > 50_000
        chromium.load(page)
        assert not chromium.complaints()
        check_hostile_records(chromium, folder, text, record)


HOSTILE = "</script><!--<img src=x onerror=alert(1)>\u202e\u2028\x01&amp;"


def spoil(value, by, keep=("png", "svg", "sides", "path", "label", "group")):
    """A record with other texts and numbers; what the drawing needs as it is stays."""
    if isinstance(value, dict):
        return {key: item if key in keep else spoil(item, by) for key, item in value.items()}
    return [spoil(item, by) for item in value] if isinstance(value, list) else by(value)


def check_hostile_records(chromium, folder, text, record):
    """Texts stay texts, whose hidden characters are shown by their numbers. Whatever numbers charts get, they have few nodes."""
    def show(spoiled):
        start = text.index(">", text.index('id="record"')) + 1
        with open(f"{folder}/spoiled.html", "w", encoding="utf-8") as file:
            file.write(text[:start] + json.dumps(spoiled).replace("<", "\\u003c") + text[text.index("</script>", start):])
        chromium.load(f"{folder}/spoiled.html")
        assert not chromium.complaints(), chromium.complaints()

    show(spoil(record, lambda value: HOSTILE if isinstance(value, str) else value))
    shown = chromium.evaluate(SHOWN)
    assert shown.count("</script><!--<img src=x onerror=alert(1)>\\u{202e}\\u{2028}\\u{1}&amp;") > 100
    assert not re.search("[\u202e\u2028\x01]", shown) and chromium.evaluate("document.querySelectorAll('img, main script').length") == 0
    draw = random.Random(7)
    for part in ("run", "residuals", "tables", "inputs", "images"):
        for extreme in ((0, 1e308, -1e308), (None, -1, 5e-324), (1e16, 1e16 + 2), (1e-300, 1e300), (7,)):
            def by(value):
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                return draw.choice(extreme) if number and draw.random() < 0.7 else value

            if part == "images":
                images = [{**image, **{key: spoil(image[key], by) for key in ("histogram", "low", "mean", "invalid", "lean_degree")}}
                          for image in record["images"]]
                show({**record, "images": images})
            else:
                show({**record, part: spoil(record[part], by)})
            assert chromium.evaluate("document.querySelectorAll('svg text').length") < 600
            assert chromium.evaluate("document.querySelectorAll('*').length") < 20000


def stack_of(chromium, card=0, plane=0):
    """The index of the slice that a plane shows, from its caption."""
    words = chromium.evaluate(f"document.querySelectorAll('article.image')[{card}].querySelectorAll('figcaption')[{plane}].textContent")
    return int(re.search(r"slice (\d+) \(0 to", words)[1])


def settle(chromium):
    chromium.evaluate("new Promise((done) => setTimeout(done, 150))")


def press(chromium, key, card=0, plane=0):
    chromium.evaluate(f"""(() => {{ const canvas = document.querySelectorAll('article.image')[{card}].querySelectorAll('canvas')[{plane}];
      canvas.focus(); canvas.dispatchEvent(new KeyboardEvent('keydown', {{ key: {key!r}, cancelable: true }})); }})()""")
    settle(chromium)


def check_hostile_slices(chromium, folder, text, record):
    """Whatever numbers the slices have, the page draws itself and its keys do no harm."""
    draw, start = random.Random(11), text.index(">", text.index('id="record"')) + 1
    for extreme in (0, 1e308, -1e308), (None, -5, 0.5), (7, 1e16):
        def by(value):
            return draw.choice(extreme) if isinstance(value, (int, float)) and draw.random() < 0.7 else value

        images = [{**image, "labels": by(image["labels"]), "planes": [
            {**plane, **({"slices": spoil(plane["slices"], by)} if "slices" in plane else {})} for plane in image["planes"]]}
            for image in record["images"]]
        with open(f"{folder}/spoiled.html", "w", encoding="utf-8") as file:
            file.write(text[:start] + json.dumps({**record, "images": images}).replace("<", "\\u003c") + text[text.index("</script>", start):])
        chromium.load(f"{folder}/spoiled.html")
        for key in "Home", "ArrowDown", "PageDown", "End":
            press(chromium, key)
        chromium.evaluate("document.querySelectorAll('select').forEach((s) => { s.value = s.options.length - 1; s.dispatchEvent(new Event('input')); })")
        settle(chromium)
        assert not chromium.complaints(), chromium.complaints()
        assert chromium.evaluate("document.querySelectorAll('*').length") < 20000


def test_slices(folder, chromium):
    """With --slices the page scrolls through the slices, by keys, wheel, slider and a finger, and what is before, or lies over
    the image, goes along."""
    run(folder, "phantom", "head", "-o", "scroll", "--size", "64", "--slices", "12")
    run(folder, "run", "dicom scroll | save name=raw | threshold above=300 name=m | save name=bone | box radius=2 input=raw | hdf5 scroll.h5",
        "--quiet")
    for wrong in "0", "-1", "some", "1.5":
        assert "is neither all nor a number" in run(folder, "report", "scroll.h5", "--slices", wrong, expect=2).stderr
    run(folder, "report", "scroll.h5", "-o", "few.html", "--slices", "3")
    run(folder, "report", "scroll.h5", "-o", "plain.html")
    run(folder, "report", "scroll.h5", "-o", "scroll.html", "--slices", "all")
    texts = [open(f"{folder}/{name}.html", encoding="utf-8").read() for name in ("few", "plain", "scroll")]
    few, plain, page = map(Page, texts)
    check_loads_nothing(texts[2], page)
    check_is_documented(page.record)
    indices = [[s["index"] for s in plane.get("slices", {"pictures": []})["pictures"]] for plane in page.record["images"][0]["planes"]]
    assert indices == [list(range(12)), [], []], indices
    assert [s["index"] for s in few.record["images"][0]["planes"][0]["slices"]["pictures"]] == [2, 6, 10]
    assert "slices" not in plain.record["images"][0]["planes"][0]
    assert [image["labels"] for image in page.record["images"]] == [0, 1, 0]
    if not chromium:
        return
    with h5py.File(f"{folder}/scroll.h5") as file:
        raw, bone, data = (file[f"entry/{name}/data"][()].astype(float) for name in ("raw", "bone", "data"))
    for width in 390, 1280:
        chromium.load(f"{folder}/scroll.html", width)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        level, span = chromium.evaluate(MOVE % (2, "level", 100.0)), chromium.evaluate(MOVE % (2, "width", 800.0))
        for key, index in (None, 5), ("ArrowDown", 6), ("ArrowLeft", 5), ("PageDown", 11), ("ArrowDown", 11), ("Home", 0), ("End", 11):
            if key:
                press(chromium, key, 2)
            assert stack_of(chromium, 2) == index, (key, index)
            assert np.abs(canvas(chromium, 2, 0) - expected_gray(data[index], level, span)).max() < 0.6, index
        wheel = """(() => { const canvas = document.querySelectorAll('article.image')[2].querySelector('canvas');
          return ![-100, 100, 100].map((deltaY) => canvas.dispatchEvent(new WheelEvent('wheel', { deltaY, cancelable: true }))).pop(); })()"""
        assert chromium.evaluate(wheel) is False, "at the end of the slices the wheel scrolls the page"
        settle(chromium)
        assert stack_of(chromium, 2) == 11
        chromium.evaluate("(() => { const s = document.querySelectorAll('article.image')[2].querySelector('.slice'); s.value = 3; "
                          "s.dispatchEvent(new Event('input')); })()")
        settle(chromium)
        assert stack_of(chromium, 2) == 3 and stack_of(chromium, 0) == 5
        # A finger that goes across the picture.
        chromium.evaluate("""(() => { const canvas = document.querySelectorAll('article.image')[2].querySelector('canvas'),
          box = canvas.getBoundingClientRect(), at = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { pointerType: 'touch',
            clientX: box.left + x * box.width, clientY: box.top + 9 })); at('pointerdown', 0.5); at('pointermove', 0.5 + 2 / 12); at('pointerup', 0.7); })()""")
        settle(chromium)
        assert stack_of(chromium, 2) == 5
        # Side by side: the image before has the same slice and the same cursor.
        chromium.evaluate("Array.from(document.querySelectorAll('article.image')[2].querySelectorAll('button')).find((b) => b.textContent === 'side by side').click()")
        press(chromium, "ArrowDown", 2)
        low, wide = page.record["images"][0]["window"]["level"], page.record["images"][0]["window"]["width"]
        assert np.abs(canvas(chromium, 2, 0) - expected_gray(raw[6], low, wide)).max() < 0.6
        assert np.abs(canvas(chromium, 2, 1) - expected_gray(data[6], level, span)).max() < 0.6
        said = chromium.evaluate("""(() => { const card = document.querySelectorAll('article.image')[2], canvas = card.querySelectorAll('canvas')[1],
          box = canvas.getBoundingClientRect(); canvas.dispatchEvent(new PointerEvent('pointermove',
            { clientX: box.left + box.width * 20.5 / 64, clientY: box.top + box.height * 30.5 / 64 }));
          const marks = Array.from(card.querySelectorAll('.cursor')).slice(0, 2).map((c) => [c.style.left, c.style.top, c.style.display].join());
          return [card.querySelector('output').textContent, ...marks]; })()""")
        assert said[0] == f"column 20, row 30: {data[6][30, 20]:.6g} HU; before {raw[6][30, 20]:.6g} HU", said
        assert said[1] == said[2] and "block" in said[1], said
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        # The mask over the image, filled and as a contour.
        chromium.evaluate("(() => { const s = document.querySelectorAll('article.image')[2].querySelector('select.over'); "
                          "s.value = Array.from(s.options).findIndex((o) => o.textContent === 'bone'); s.dispatchEvent(new Event('input')); })()")
        settle(chromium)
        inside = bone[6] == 1
        assert inside.any()
        gray = np.floor(expected_gray(data[6], level, span) + 0.5)
        red = canvas(chromium, 2, 1).astype(float)
        assert np.abs(red - np.where(inside, gray + 0.5 * (255 - gray), gray)).max() <= 1
        chromium.evaluate("(() => { const s = document.querySelectorAll('article.image')[2].querySelector('select.form'); s.value = 1; "
                          "s.dispatchEvent(new Event('input')); })()")
        padded = np.pad(inside, 1, mode="edge")
        edge = inside & ~(padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:])
        assert np.abs(canvas(chromium, 2, 1) - np.where(edge, 255, gray)).max() <= 1
        said = [text for text in map(str, chromium.complaints()) if "Multiple readback" not in text]  # the readbacks are this test's
        assert not said, said
    check_hostile_slices(chromium, folder, texts[2], page.record)
    chromium.load(f"{folder}/few.html")
    assert [press(chromium, key) or stack_of(chromium) for key in ("Home", "ArrowDown", "ArrowDown", "End")] == [2, 5, 6, 10]


def test_slices_are_bounded(folder):
    """Whatever the sizes, values and numbers of slices are, a page with slices stays below 20 MB and one without below 5 MB."""
    noise = np.random.default_rng(3)
    for name, values in (("ct", noise.normal(0, 30, (100, 512, 512)).round().astype("i2")),
                         ("floats", noise.random((24, 700, 900), np.float32) * np.float32(1e30)),
                         ("long", noise.integers(0, 65535, (5000, 40, 40)).astype("u2"))):
        np.save(f"{folder}/{name}.npy", values)
        run(folder, "run", f"npy {name}.npy axes=z,y,x spacing=1,1,1 | save name=one | invert | hdf5 big.h5", "--quiet", "--force")
        for options, most in ((), MOST_BYTES), (("--slices", "all"), 20_000_000):
            run(folder, "report", "big.h5", "-o", "big.html", "--force", *options)
            bytes_ = os.path.getsize(f"{folder}/big.html")
            assert bytes_ < most, (name, options, bytes_)
            with open(f"{folder}/big.html", encoding="utf-8") as file:
                record = Page(file.read()).record
            shown = record["images"][0]["planes"][0].get("slices", {"pictures": []})["pictures"]
            assert not options or len(shown) == len(values) or name == "long" and len(shown) > 1000, len(shown)


def test_curve_of_equalization(folder, chromium):
    """The curve stands in the histogram only if the histogram has the values that the stage counted."""
    run(folder, "phantom", "head", "-o", "head", "--size", "32", "--slices", "4")
    curve = "equalization: the share of values up to here"
    for i, (stages, there) in enumerate((("save name=raw | equalize", True), ("save name=raw | statistics | equalize", True),
                                         ("save name=raw | equalize scope=slice", False),
                                         ("save name=raw | box radius=1 | equalize reference=input", False),
                                         ("box radius={sweep 1 2} | save name=raw | equalize", False),
                                         ("threshold above=0 name=m | save name=raw input=input | equalize mask=m", False))):
        run(folder, "run", f"dicom head | {stages} | hdf5 curve{i}.h5", "--quiet")
        run(folder, "report", f"curve{i}.h5")
        with open(f"{folder}/curve{i}.h5.html", encoding="utf-8") as file:
            record = Page(file.read()).record
        assert any(image["equalized"] for image in record["images"]) == there, stages
        check_is_documented(record)
        if chromium:
            chromium.load(f"{folder}/curve{i}.h5.html")
            assert (curve in chromium.evaluate(SHOWN)) == there, stages
    if chromium:
        expect_shown(chromium, f"{folder}/curve4.h5.html", "radius 1 pixel: axial slice 1 (0 to 3) at ", "radius 2 pixel: axial slice 1",
                     "2 values (box_radius), of all 2 of which the middle slice is shown; all are counted; each 4 x 32 x 32 values",
                     "The chain sweeps over 2 values of box.radius: 1, 2.", "for each of radius 1 pixel, radius 2 pixel; every value",
                     "1. box, for radius 1 pixel", "4. box[radius=2]")


def test_no_values(folder, chromium):
    """An image of invalid pixels has no range, and no histogram."""
    run(folder, "run", "dicom head | threshold above=9999 name=m | apply_mask mask=m input=input | hdf5 none.h5", "--quiet")
    run(folder, "report", "none.h5")
    with open(f"{folder}/none.h5.html", encoding="utf-8") as file:
        (image,) = Page(file.read()).record["images"]
    assert [image[key] for key in ("finite", "invalid", "low", "mean")] == [0, 4096, None, None] and not image["histogram"]["counts"]
    if chromium:
        expect_shown(chromium, f"{folder}/none.h5.html", "apart. 4096 without a value.")
        assert not chromium.complaints() and not chromium.evaluate("document.querySelectorAll('.chart').length")


def test_many_iterations(folder):
    """The residuals of many iterations are thinned out, and keep their numbers."""
    run(folder, "phantom", "head", "-o", "tiny", "--size", "16", "--slices", "2")
    run(folder, "run", "dicom tiny | radon views=6 | sirt iterations=1100 | hdf5 long.h5", "--quiet")
    run(folder, "report", "long.h5")
    with open(f"{folder}/long.h5.html", encoding="utf-8") as file:
        (residual,) = Page(file.read()).record["residuals"]
    with h5py.File(f"{folder}/long.h5") as file:
        table = file["entry/process_2_sirt/tables/residual"][()]
    assert residual["iteration"] == list(range(0, table.shape[1], 2)) and len(residual["iteration"]) < 1024 < table.shape[1]
    assert np.array_equal(np.float32(residual["largest"]), np.float32(table.max(axis=0)[::2]))


def test_warnings_and_axes(folder, chromium):
    """A warning about files says what the input records of them; tables are drawn over the positions beside them."""
    run(folder, "phantom", "scan", "-o", "scan.nxs", "--size", "32", "--slices", "16", "--views", "24")
    with open(f"{folder}/head/Anna.txt", "w", encoding="utf-8") as file:
        file.write("no image")
    run(folder, "run", "dicom head | statistics scope=slice | hdf5 warned.h5", "--quiet")
    run(folder, "run", "nexus scan.nxs quantity=line_integral | center | save name=scan | fbp | hdf5 axis.h5", "--quiet")
    texts, records = [], []
    for name in ("warned", "axis"):
        run(folder, "report", f"{name}.h5")
        with open(f"{folder}/{name}.h5.html", encoding="utf-8") as file:
            texts.append(file.read())
        records.append(Page(texts[-1]).record)
    passed_over = "files-passed-over: input: 1 file passed over: 1 not DICOM"
    assert passed_over in records[0]["warnings"] and passed_over in texts[0].split("</pre>")[0] and "Anna" not in texts[0]
    (measure,) = [table for table in records[1]["tables"] if "columns" in table]
    assert (measure["over"]["name"], measure["over"]["unit"]) == ("trial_center", "detector")
    assert len(measure["over"]["at"]) == len(measure["columns"][0])
    assert not [table for table in records[1]["tables"] if table["path"].endswith("/trial_center")]
    assert (records[1]["inputs"][0]["least_angle"], records[1]["inputs"][0]["largest_angle"]) == (0, 172.5)
    assert "as given to fbp)" in records[1]["geometry"]["numbers"]
    expect_shown(chromium, f"{folder}/warned.h5.html", passed_over)
    expect_shown(chromium, f"{folder}/axis.h5.html", "16 slices of 24 views from nexus", "24, from 0 to 172.5 degree", "trial_center / detector",
                 "as given to fbp)the detector's")


def test_data(folder, chromium):
    for name, chain in CHAINS.items():
        path, page, text = make(folder, name, chain, DATA)
        parsed = Page(text)
        check_loads_nothing(text, parsed)
        check_says_what_the_file_says(path, parsed)
        if chromium:
            check_in_browser(chromium, path, page, parsed)


with tempfile.TemporaryDirectory() as FOLDER:
    found = browser.find()
    CHROMIUM = browser.Browser(found) if found else None
    if not CHROMIUM:
        print("SKIPPED: what needs a browser - none of", *browser.NAMES, "is installed")
    try:
        test_phantom(FOLDER, CHROMIUM)
        test_slices(FOLDER, CHROMIUM)
        test_slices_are_bounded(FOLDER)
        test_curve_of_equalization(FOLDER, CHROMIUM)
        test_no_values(FOLDER, CHROMIUM)
        test_many_iterations(FOLDER)
        test_warnings_and_axes(FOLDER, CHROMIUM)
        if DATA:
            test_data(FOLDER, CHROMIUM)
        else:
            print("SKIPPED: test_data - TOMOSTAGE_DATA is not set")
    finally:
        if CHROMIUM:
            CHROMIUM.__exit__()
print("reports are right")
