"""Look at HTML pages in a real browser: wide and narrow, light and dark.

    python tools/look_at_pages.py docs/_build/html/index.html report.html --shots FOLDER

For every page, width and mode it prints what is wrong: complaints in the console, a page wider than
the screen, text to the right of it, text below 11 pixels, and pictures that do not load. With
--shots it also writes screenshots. A browser window cannot be as narrow as a phone, so pages are
shown in a frame.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WIDTHS = (1280, 390)
SMALLEST = 11.0
_HEIGHT = 1600
# What the theme of the documentation prints on every first visit.
_NOTICES = ("[PST]: ", "Got invalid theme mode: . Resetting to auto.")
_DARK = "--blink-settings=preferredColorScheme=0"

_FRAME = """<!doctype html><html><body style="margin:0;background:#888">
<iframe src="{address}" style="border:0;display:block;width:{width}px;height:{height}px"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.onload = () => setTimeout(() => {{
  const inside = frame.contentWindow, page = frame.contentDocument;
  const name = element => element.tagName + ": " + element.textContent.trim().slice(0, 40);
  const shown = element => element.checkVisibility({{visibilityProperty: true}});
  const sizes = [], texts = [];
  for (const element of page.body.querySelectorAll("*")) {{
    if (["SCRIPT", "STYLE", "NOSCRIPT", "SUP", "SUB"].includes(element.tagName)) continue;
    if (element.closest("math") || !shown(element)) continue;
    const own = [...element.childNodes].some(
      node => node.nodeType === 3 && node.textContent.trim());
    const size = parseFloat(inside.getComputedStyle(element).fontSize);
    if (!own) continue;
    sizes.push([size, name(element)]);
    texts.push(element);
  }}
  sizes.sort((a, b) => a[0] - b[0]);
  // Text beyond the right edge. Code and tables may scroll; what holds the title is the page.
  const scrolls = element => !element.querySelector("h1")
    && ["auto", "scroll"].includes(inside.getComputedStyle(element).overflowX);
  const inScroller = element => {{
    if (inside.getComputedStyle(element).textOverflow === "ellipsis") return true;
    while (element && !scrolls(element)) element = element.parentElement;
    return element !== null;
  }};
  const cut = texts.filter(element => {{
    const range = page.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect().right > {width} + 1 && !inScroller(element);
  }});
  const images = [...page.images].filter(shown);
  document.title = JSON.stringify({{
    overflow: page.documentElement.scrollWidth - {width},
    smallest: sizes.length ? sizes[0] : [99, ""],
    cut: cut.map(name),
    broken: images.filter(image => image.naturalWidth === 0).map(image => image.src.slice(-60)),
    pictures: images.map(image => [image.clientWidth, image.naturalWidth]),
    ground: inside.getComputedStyle(page.body).backgroundColor,
    height: page.documentElement.scrollHeight,
  }});
}}, 300);
</script></body></html>"""


def find_browser() -> str | None:
    """The browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def look(
    page: Path, width: int, *, dark: bool = False, shot: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Measures of a page, and complaints in the console of the browser.

    Parameters
    ----------
    page : Path
        An HTML file.
    width : int
        Of the screen, in pixels.
    dark : bool, default=False
        Whether the reader prefers dark pages.
    shot : Path, optional
        Where to write a screenshot.
    """
    browser = find_browser()
    if browser is None:
        raise RuntimeError("no chromium is installed")
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        frame = Path(folder) / "frame.html"
        address = page.resolve().as_uri()
        frame.write_text(_FRAME.format(address=address, width=width, height=_HEIGHT))
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        words += ["--disable-web-security", "--allow-file-access-from-files"]
        words += [f"--user-data-dir={folder}/profile", f"--window-size={max(width, 500)},{_HEIGHT}"]
        words += ["--virtual-time-budget=8000", "--enable-logging=stderr", "--log-level=0"]
        words += [_DARK] if dark else []
        dump = subprocess.run(
            [*words, "--dump-dom", frame.as_uri()],
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )
        if shot is not None:
            subprocess.run(
                [*words, f"--screenshot={shot.resolve()}", frame.as_uri()],
                capture_output=True,
                timeout=180,
                check=True,
            )
    found = re.search(r"<title>(.*?)</title>", dump.stdout, re.DOTALL)
    if found is None:
        raise RuntimeError(f"{page} was not loaded: {dump.stderr[-500:]}")
    lines = [line for line in dump.stderr.splitlines() if "CONSOLE" in line]
    complaints = [line for line in lines if not any(notice in line for notice in _NOTICES)]
    return json.loads(html.unescape(found.group(1))), complaints


def problems_of(seen: dict[str, Any], complaints: list[str]) -> list[str]:
    """What is wrong with a page, in words."""
    problems = [f"console: {line}" for line in complaints]
    if seen["overflow"] > 0:
        problems.append(f"the page is {seen['overflow']} pixels wider than the screen")
    size, where = seen["smallest"]
    if size < SMALLEST:
        problems.append(f"text of {size:g} pixels ({where})")
    if seen["cut"]:
        problems.append(f"{len(seen['cut'])} texts are cut off at the right ({seen['cut'][0]})")
    return problems + [f"a picture does not load: {name}" for name in seen["broken"]]


def main() -> int:
    """Look at all given pages; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--shots", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    n_problems = 0
    for page in given.pages:
        for width in WIDTHS:
            for dark in (False, True):
                shot = None
                if given.shots is not None:
                    given.shots.mkdir(parents=True, exist_ok=True)
                    mode = "dark" if dark else "light"
                    shot = given.shots / f"{page.stem}-{width}-{mode}.png"
                found = problems_of(*look(page, width, dark=dark, shot=shot))
                n_problems += len(found)
                for text in found:
                    print(f"{page}, {width} px{', dark' if dark else ''}: {text}")
    print(f"{len(given.pages)} pages, {n_problems} problems")
    return int(n_problems > 0)


if __name__ == "__main__":
    sys.exit(main())
