"""The system's Chromium, driven by Selenium, and a studio that runs as a process of its
own."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CHROMIUM = next(
    filter(
        None,
        map(shutil.which, ("chromium", "chromium-browser", "google-chrome")),
    ),
    None,
)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,900",
    # a mouse
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
)


class Browser:
    """A driver with what the tests ask of it."""

    def __init__(self, profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability(
            "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
        )
        self.driver = webdriver.Chrome(
            options=options, service=Service(str(DRIVER))
        )
        self.driver.set_script_timeout(
            120
        )  # axe-core on a long page, on a busy machine
        self.requests: list[str] = []

    def open(self, address: str) -> None:
        self.driver.get(address)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, *arguments: Any, seconds: float = 30) -> Any:
        """Wait until the script returns something that is true, and return it."""
        from selenium.common.exceptions import JavascriptException

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                value = self.js(script, *arguments)
            except JavascriptException:  # the page is on its way to another one
                value = None
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(
            f"never true: {script}; page {self.driver.current_url}"
        )

    def keys(self, *keys: str) -> None:
        """Press keys one by one, wherever the focus is."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def size(self, width: int, height: int) -> None:
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        }
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", metrics
        )

    def theme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": features}
        )

    def complaints(self) -> list[str]:
        """Errors of the console, and requests that left this machine, since the last
        call."""
        errors = [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]
        messages = [
            json.loads(entry["message"])["message"]
            for entry in self.driver.get_log("performance")
        ]
        sent = [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]
        foreign = [url for url in sent if not _local(url)]
        return errors + foreign


def _local(url: str) -> bool:
    parts = urlsplit(url)
    return (
        parts.scheme in ("data", "blob", "chrome", "devtools", "about")
        or parts.hostname == "127.0.0.1"
    )


class Studio:
    """``visualjudge studio`` as a process."""

    def __init__(self, *arguments: str, cache: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.arguments, self.cache = arguments, cache
        self.start()

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "visualjudge",
            "studio",
            *self.arguments,
            "--port",
            str(self.port),
        ]
        env = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.said = "".join(
            itertools.takewhile(
                lambda line: "Ctrl-C" not in line, self.process.stdout
            )
        )
        self.links = dict(
            re.findall(r"^(\w+): (http\S+)", self.said, re.MULTILINE)
        )
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None, "the studio has ended"
                time.sleep(0.05)
        raise AssertionError("the studio does not answer")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def faults(browser: Browser, axe: str, *, serious: bool = False) -> list[str]:
    """Violations on the page of any level, or the serious ones, as axe-core names
    them."""
    browser.js(axe)
    found = browser.driver.execute_async_script(
        """const done = arguments[arguments.length - 1];
        const told = (n) => `${n.target.join(" ")} ${n.failureSummary.slice(0, 200)}`;
        const where = (v) => v.nodes.slice(0, 4).map(told);
        axe.run({resultTypes: ['violations']}).then((r) =>
            done(r.violations.map((v) => [v.impact, `${v.id}: ${where(v).join(" | ")}`])));"""
    )
    levels = (
        ("serious", "critical")
        if serious
        else ("minor", "moderate", "serious", "critical")
    )
    return [f"{impact}: {text}" for impact, text in found if impact in levels]
