#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of report.md and batch.md: a page of their examples as headless Chromium shows it, in each of the widths.

Usage: page_picture.py PAGE.html OUT.png HEIGHT WIDTH..., as 1560 390 1160 for report.png and 240 950 for batch.png"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/results"))
import browser  # noqa: E402

FRAMES = """<body class="ready" style="margin:0;background:#777;display:flex;gap:20px"><script>document.documentElement.className =
"ready"</script>{}</body>"""
FRAME = '<iframe src="file://{}" style="border:0;background:#fff;width:{}px;height:{}px"></iframe>'

page, out = os.path.abspath(sys.argv[1]), sys.argv[2]
height, *widths = map(int, sys.argv[3:])
with browser.Browser(browser.find()) as chromium, tempfile.NamedTemporaryFile("w", suffix=".html") as file:
    file.write(FRAMES.format("".join(FRAME.format(page, width, height) for width in widths)))
    file.flush()
    chromium.load(file.name, sum(widths) + 20 * (len(widths) - 1), height)
    time.sleep(2)  # the frames draw themselves
    chromium.screenshot(out, whole=False)
