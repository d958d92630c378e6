#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of report.md: the page of its example, on a phone and on a desk, as headless Chromium shows it.

Usage: report_picture.py PAGE.html OUT.png"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/results"))
import browser  # noqa: E402

FRAMES = """<body class="ready" style="margin:0;background:#777;display:flex;gap:20px"><script>document.documentElement.className =
"ready"</script>{}</body>"""
FRAME = '<iframe src="file://{}" style="border:0;width:{}px;height:1560px"></iframe>'

with browser.Browser(browser.find()) as chromium, tempfile.NamedTemporaryFile("w", suffix=".html") as file:
    page = os.path.abspath(sys.argv[1])
    file.write(FRAMES.format(FRAME.format(page, 390) + FRAME.format(page, 1160)))
    file.flush()
    chromium.load(file.name, 1570, 1560)
    time.sleep(2)  # the frames draw themselves
    chromium.screenshot(sys.argv[2], whole=False)
