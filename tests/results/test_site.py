#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site that docs/site/build.py has built, in headless Chromium, opened from the disk with the network off: every link and anchor
inside it leads somewhere, no page asks the network for anything or complains on the console, none is wider than a phone, every picture
is there, and the search finds a stage, a message and a function.

Usage: test_site.py SITE [PICTURES]
  PICTURES  a folder that gets pictures of some pages, at the width of a phone and of a screen

Exits with 77 where there is no Chromium."""
import html.parser
import os
import pathlib
import sys
import tempfile
import urllib.parse

import browser

PHONE, SCREEN = 390, 1280
SHOWN = ["index.html", "docs/gallery.html", "docs/stages/box.html", "docs/tutorials/ct-windows.html", "docs/errors.html",
         "docs/api-python.html", "docs/api-c.html"]
# What is typed into the search, and the page that it has to name.
SEARCHES = {"bilateral": "docs/stages/bilateral.html", "center-off": "docs/errors.html", "ts_plan_create": "docs/api-c.html",
            "primal-dual": "docs/tutorials/pytorch.html"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]


def broken_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":  # its links are those of a server's root
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{path.relative_to(site)}: {link} leads nowhere"
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link}: there is no such place in the page"


def faults_of_page(chromium, path, name):
    chromium.load(path, PHONE, 844, drawn="document.readyState === 'complete'")
    width = chromium.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    if width > PHONE:
        wide = chromium.evaluate(f"""[...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > {PHONE} &&
            !e.closest('pre, .md-typeset__scrollwrap')).map(e => e.outerHTML.slice(0, 120))[0]""")
        yield f"{name}: is {width} pixels wide on a phone of {PHONE}: {wide}"
    absent = chromium.evaluate("""Promise.all([...document.images].map(i => { i.loading = 'eager';
        return i.decode().then(() => '', () => i.src) })).then(found => found.filter(Boolean))""")
    yield from (f"{name}: the picture {source} is not there" for source in absent)
    yield from (f"{name}: {complaint}" for complaint in chromium.complaints())


PLANTED = """<!doctype html><title>planted</title><a href="absent.html">a</a><a href="#absent">b</a><img src="absent.png">
<article><div style="width: 900px">c</div></article><script>console.error("said")</script><script src="http://127.0.0.1:9/absent.js"></script>"""


def check_itself(chromium):
    """Faults that are planted are found."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder).resolve() / "planted.html"
        path.write_text(PLANTED, encoding="utf-8")
        found = "\n".join([*broken_links(path.parent), *faults_of_page(chromium, path, "planted")])
        for said in ("absent.html leads nowhere", "#absent: there is no such place", "absent.png leads nowhere", "pixels wide", "absent.png is not there",
                     "'said'", "127.0.0.1:9"):
            assert said in found, f"a planted fault is not found: {said}\n{found}"


def searched(chromium, site, text):
    """The addresses that the search of a page finds."""
    chromium.load(site / "docs/install.html", SCREEN, 900, drawn="document.readyState === 'complete'")
    return chromium.evaluate(f"""new Promise((resolve, reject) => {{
        document.querySelector('#__search').click();
        const input = document.querySelector('[data-md-component=search-query]');
        input.focus();
        input.value = {text!r};
        const timer = setInterval(() => {{
            input.dispatchEvent(new Event('keyup', {{bubbles: true}}));
            const found = [...document.querySelectorAll('.md-search-result__link')].map(link => link.pathname);
            if (found.length || --left < 0) {{ clearInterval(timer); resolve(found); }}
        }}, 200);
        let left = 100;
    }})""")


def main(site, pictures):
    program = browser.find()
    if not program:
        print("SKIPPED: there is no Chromium (Debian: chromium)")
        sys.exit(77)
    faults = list(broken_links(site))
    names = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    with browser.Browser(program) as chromium:
        check_itself(chromium)
        for name in names:
            if name != "404.html":
                faults += faults_of_page(chromium, site / name, name)
        for text, page in SEARCHES.items():
            found = searched(chromium, site, text)
            if not any(address.endswith(page) for address in found):
                faults.append(f"the search for {text} does not find {page}: {found[:5]}")
            faults += [f"the search for {text}: {complaint}" for complaint in chromium.complaints()]
        for name in SHOWN if pictures else []:
            os.makedirs(pictures, exist_ok=True)
            for width in (PHONE, SCREEN):
                chromium.load(site / name, width, 900, drawn="document.readyState === 'complete'")
                chromium.screenshot(os.path.join(pictures, f"{name.replace('/', '-')[:-5]}-{width}.png"), whole=False)
    if faults:
        sys.exit("\n".join(faults[:40]) + f"\n{len(faults)} faults")
    print(f"site: {len(names)} pages, no broken link, nothing on the console, none wider than {PHONE} pixels, {len(SEARCHES)} searches")


main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else None)
