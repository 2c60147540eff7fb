"""A headless Chromium driven over a pipe, with nothing but the standard library.

Chromium speaks its DevTools protocol over two file descriptors: JSON messages, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable") if os.name == "posix" else ()
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
          "--no-first-run", "--disable-background-networking", "--hide-scrollbars")  # fmt: skip
_LAUNCHER = "import os, sys; r, w, *c = sys.argv[1:]; os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(c[0], c)"
_SECONDS = 60.0


class Browser:
    """One page in a browser of its own; what it logs and requests is collected."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self._write = _high(*os.pipe())
        self._read, write = _high(*os.pipe())
        command = [sys.executable, "-c", _LAUNCHER, str(read), str(write), CHROMIUM, *_FLAGS,
                   f"--user-data-dir={self._profile.name}", "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read)
        os.close(write)
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        wanted = self._count
        return self._until(lambda answer: answer.get("id") == wanted)["result"]

    def open(self, path: Path, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True) -> None:
        """Load a file from disk and wait until it is there."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=path.resolve().as_uri())
        if not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self._until(lambda answer: answer.get("method") == "Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """What the page logged as an error or warning, and exceptions nobody caught."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append(str(parameters["args"]))
            if event.get("method") == "Log.entryAdded":
                found.append(str(parameters["entry"]))
        return found

    def requests(self) -> list[str]:
        """Addresses the page asked for, itself included."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """A picture of the page as PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it prints, on A4."""
        answer = self.call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True, printBackground=False
        )
        path.write_bytes(base64.b64decode(answer["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def _until(self, wanted: Any) -> dict[str, Any]:
        """Read messages until one is wanted; events on the way are kept."""
        end = time.monotonic() + _SECONDS
        while True:
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0.0))
                chunk = os.read(self._read, 1 << 20) if ready else b""
                if not chunk:
                    raise AssertionError("the browser does not answer")
                self._buffer += chunk
            line, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(line)
            if "method" in message:
                self.events.append(message)
            if wanted(message):
                if "error" in message:
                    raise AssertionError(message["error"])
                return message


def _high(*descriptors: int) -> tuple[int, ...]:
    """The same pipes at numbers out of the way of 3 and 4, where Chromium wants them."""
    import fcntl  # here, because some systems have none

    moved = tuple(fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    return moved
