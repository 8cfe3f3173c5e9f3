"""An HTML page as PDF, by a browser that is there: what prints is what is seen, and nothing more is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

#: Names of browsers of one engine, the only one that prints without a window on every system.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


def print_pdf(page: Path, target: Path, *, seconds: float = 120) -> str:
    """Print the page in a file to `target`.

    Returns
    -------
    str
        Empty, or why there is no PDF: there is no such browser, or it printed nothing in time.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return f"no browser that prints was found (looked for {', '.join(BROWSERS[:3])})"
    with tempfile.TemporaryDirectory(prefix="axisjudge-print-") as private:
        command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # the browser refuses its sandbox to the superuser; the page is our own
        command += [f"--user-data-dir={private}", f"--print-to-pdf={target.resolve()}", page.resolve().as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=seconds, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"{Path(browser).name} did not print ({type(error).__name__})"
    return "" if target.exists() and target.stat().st_size else f"{Path(browser).name} printed nothing"
