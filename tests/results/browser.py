# SPDX-License-Identifier: Apache-2.0
"""Drives headless Chromium over its debugging pipe, which needs no module beyond Python's own. A page is loaded from a file
with the network off; what the browser reports on its console and what it asks the network for are kept."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60
NAMES = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4; neither may be an end that the other one still needs.
        ends = [os.dup2(to_child, 100), os.dup2(from_child, 101)]
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
             f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe"],
            preexec_fn=lambda: (os.dup2(100, 3), os.dup2(101, 4)), pass_fds=(3, 4),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for descriptor in (to_child, from_child, *ends):
            os.close(descriptor)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.folder.cleanup()

    def message(self, end):
        while b"\0" not in self.buffer:
            ready = select.select([self.read_end], [], [], max(0, end - time.time()))[0]
            data = os.read(self.read_end, 1 << 20) if ready else b""
            assert data, "the browser does not answer"
            self.buffer += data
        first, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        data, end = json.dumps(request).encode() + b"\0", time.time() + SECONDS
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.message(end)
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def load(self, path, width=1200, height=900, dark=False, script=True, drawn="document.documentElement.classList.contains('ready')"):
        """Loads a page and waits until it has drawn itself: until the expression `drawn` is true in it."""
        self.events.clear()
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        end = time.time() + SECONDS
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(end))
        while script and not self.evaluate(drawn):
            assert time.time() < end, "the page has not drawn itself"
            time.sleep(0.05)

    def complaints(self):
        """What the console said, exceptions, and requests to anything but the file and what it holds."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append((method, params))
            if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file://", "data:")):
                found.append((method, params["request"]["url"]))
        return found

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                         **({"clip": self.whole()} if whole else {}))["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def whole(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}

    def print(self, path):
        data = self.call("Page.printToPDF", printBackground=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
