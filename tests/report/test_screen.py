# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: the verdict can be read, nothing is blank, and nothing is wider than a narrow screen. Needs Chromium or Chrome."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify.cli.explain import pages
from certify.limits import Limits
from certify.report.outcome import examine
from certify.report.page import render
from kinds import accuracy_vectors, grid_hand, grid_limit_vectors, region_vectors, robust_vectors
from report.reading import outcome_of
from report.test_pictures import image_specimen
from toolkit import Specimen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--hide-scrollbars")
# Scripts of the frame may look into a page of the same origin; the page's own policy allows none in it.
FRAME = """<!doctype html><body style="margin:0"><iframe style="border:0" width={width} height=900 srcdoc="{page}"></iframe><pre></pre><script>
onload = () => {{
  const found = document.querySelector("iframe").contentDocument, edge = found.documentElement.clientWidth;
  found.querySelectorAll("details").forEach(part => {{ part.open = true; }});
  const over = [...found.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > edge + 0.5);
  const box = found.querySelector("h1").getBoundingClientRect();
  document.querySelector("pre").textContent = JSON.stringify({{heading: found.querySelector("h1").innerText, top: box.top, height: box.height,
    wide: found.documentElement.scrollWidth, edge, over: over.map(e => e.tagName)}});
}};
</script>"""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no chromium binary was found")]


def browse(folder: Path, *words: str) -> str:
    """Run the browser with a profile of its own and return what it printed."""
    done = subprocess.run([str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *words], capture_output=True, text=True, timeout=120,
                          check=True)
    return done.stdout


def measured(folder: Path, data: bytes, width: int) -> dict[str, Any]:
    """Return what a browser measures of a page, everything unfolded, on a screen of some width."""
    (folder / "frame.html").write_text(FRAME.format(width=width, page=html.escape(data.decode())), "utf-8")
    told = browse(folder, "--window-size=1000,1000", "--dump-dom", (folder / "frame.html").as_uri())
    found: dict[str, Any] = json.loads(html.unescape(told.split("<pre>")[1].split("</pre>")[0]))
    return found


def picture(path: Path) -> np.ndarray:
    """Return the pixels of a PNG that a browser wrote (8 bits, 3 or 4 channels)."""
    data, place, packed = path.read_bytes(), 8, b""
    width, height, channels = int.from_bytes(data[16:20]), int.from_bytes(data[20:24]), {2: 3, 6: 4}[data[25]]
    while place < len(data):
        size = int.from_bytes(data[place : place + 4])
        packed += data[place + 8 : place + 8 + size] if data[place + 4 : place + 8] == b"IDAT" else b""
        place += 12 + size
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    lines = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.int64)
    for k in range(height):
        kind, line = raw[k, 0], raw[k, 1:].reshape(width, channels).astype(np.int64)
        if kind == 2:
            line = line + above
        elif kind:
            left, corner = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
            for x in range(width):
                up = above[x]
                near = np.abs(np.stack([up - corner, left - corner, left + up - 2 * corner]))
                paeth = np.where((near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], up, corner))
                line[x] = (line[x] + (left if kind == 1 else (left + up) // 2 if kind == 3 else paeth)) % 256
                left, corner = line[x], up
        lines[k] = above = line % 256
    return lines[..., :3]


def rejected() -> Specimen:
    """Return a specimen whose evidence does not establish its claim."""
    made = robust_vectors.bases().leaf
    made.given["radius"] = "1000"
    return made


PAGES = {"robust": (lambda: image_specimen((1, 16)), "Verified", (26, 127, 75)),
         "refuted": (lambda: robust_vectors.bases().witness, "Counterexample: not robust", (138, 42, 143)),
         "region": (lambda: region_vectors.bases().mixed, "Verified", (26, 127, 75)),
         "grid": (grid_hand.tree, "Verified: no attack sheds more than 40 MW (transport)", (26, 127, 75)),
         "defence": (grid_limit_vectors.limit, "Verified: no defence guarantees less than 40 MW (transport)", (26, 127, 75)),
         "accuracy": (accuracy_vectors.specimen, "Verified: certified accuracy", (26, 127, 75)), "rejected": (rejected, "REJECTED", (192, 50, 43))}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_on_a_narrow_screen(name: str, tmp_path: Path) -> None:
    make, heading, tone = PAGES[name]
    data = render(outcome_of(make()), pages())
    (tmp_path / "page.html").write_bytes(data)
    browse(tmp_path, "--window-size=900,1200", f"--screenshot={tmp_path / 'page.png'}", (tmp_path / "page.html").as_uri())
    shown = picture(tmp_path / "page.png")
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 20 and 0.01 < (shown.min(axis=2) < 128).mean() < 0.6
    assert (np.abs(shown[:200].astype(int) - tone).max(axis=2) <= 2).sum() > 300  # the word of the verdict has its colour
    for width in (400, 900):
        found = measured(tmp_path, data, width)
        assert found["heading"] == heading and 0 <= found["top"] < 200 and found["height"] > 20
        assert found["wide"] <= found["edge"] <= width and found["over"] == []


def test_long_names_and_words_do_not_widen_a_page(tmp_path: Path) -> None:
    leaf = robust_vectors.bases().leaf
    leaf.files = {role: (f"{role}-{'n' * 200}", content) for role, (_, content) in leaf.files.items()}
    for files in ({role: [pair] for role, pair in leaf.files.items()}, {"": [("m" * 250, b"other")]}):
        data = render(examine(leaf.seal(), "c" * 250, files, None, Limits()), pages())
        found = measured(tmp_path, data, 400)
        assert found["wide"] <= found["edge"] and found["over"] == []
