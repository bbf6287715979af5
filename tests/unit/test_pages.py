"""The report in a real browser at the widths of a desk and of a phone, light and dark."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from lacforest import LACForestClassifier
from lacforest.mixture import RatioCurveDisplay
from lacforest.report import write_report
from lacforest.report._html import Page, Section, write_page
from lacforest.report._pictures import _INCHES, Picture, _shared_style

_PATH = Path(__file__).parents[2] / "tools" / "look_at_pages.py"
_SPEC = importlib.util.spec_from_file_location("look_at_pages", _PATH)
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)

pytestmark = pytest.mark.skipif(
    pages.find_browser() is None, reason="no chromium: the pages were not looked at"
)
# Letters of the smallest text in a picture, and resolution of pictures, as the report draws them.
SMALLEST_POINTS, DPI = 9.5, 200


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    wine = load_wine()
    known = wine.target < 2
    forest = LACForestClassifier(20, theta=0.3, random_state=0)
    forest.fit(wine.data[known][::2], wine.target[known][::2], X_unlabeled=wine.data[1::2])
    path = tmp_path_factory.mktemp("pages") / "report.html"
    rows = wine.data[1::2]
    # Two columns that lead to the rows elsewhere, one of them long.
    notes = [f"bottle {i}, seen on the shelf at the back" for i in range(len(rows))]
    index = pd.MultiIndex.from_arrays([range(len(rows)), notes], names=["id", "note"])
    frame = pd.DataFrame(rows, index=index)
    write_report(path, forest, frame, wine.target[1::2], feature_names=wine.feature_names)
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", pages.WIDTHS)
def test_the_report(report, width, dark):
    seen, complaints = pages.look(report, width, dark=dark)
    assert pages.problems_of(seen, complaints) == []
    assert seen["ground"] == ("rgb(20, 24, 31)" if dark else "rgb(255, 255, 255)")
    assert len(seen["pictures"]) >= 3
    for shown, natural in seen["pictures"]:
        points = natural / DPI * 72
        assert shown / points * SMALLEST_POINTS >= pages.SMALLEST


@pytest.mark.parametrize(("n_pictures", "widths"), [(4, {560}), (5, {360, 560}), (6, {360})])
def test_pictures_end_where_the_text_ends(tmp_path, n_pictures, widths):
    """On 1280 pixels the text is 1184 wide; a card adds 24 to its picture, and gaps have 16."""
    dot = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
    section = Section("Pictures", pictures=[Picture(dot, dot, "dot", "a dot")] * n_pictures)
    write_page(Page("title", "lead", (), [section], "foot"), tmp_path / "page.html")
    seen, _ = pages.look(tmp_path / "page.html", 1280)
    assert {shown for shown, _ in seen["pictures"]} == widths


def test_labels_are_not_cut_off():
    """The ticks of a small picture leave less room for labels than those of a large one."""
    for ratio in (0.001, 0.3, 20.0):
        figure = Figure(figsize=_INCHES, layout="constrained")
        with mpl.rc_context(_shared_style()):
            curve = RatioCurveDisplay(
                x=np.linspace(0, 1, 9), ratio=np.full(9, ratio), theta=0.4, interval=(0.3, 0.5)
            )
            axis = curve.plot(figure.subplots()).ax_
            figure.draw_without_rendering()
        for label in (axis.xaxis.label, axis.yaxis.label):
            box = label.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1


def test_faults_are_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><body><p style='font-size:9px'>small</p><div style='width:600px'>wide</div>"
        "<img src='nothing.png'><script>console.error('oh no')</script></body>"
    )
    problems = "\n".join(pages.problems_of(*pages.look(page, 390)))
    for part in ("text of 9 pixels (P: small)", "wider than the screen", "nothing.png", "oh no"):
        assert part in problems


@pytest.mark.parametrize(("tag", "is_fault"), [("article", True), ("pre", False)])
def test_text_to_the_right_of_the_screen(tmp_path, tag, is_fault):
    """Code may scroll on a phone. An article that scrolls cannot be read line by line."""
    inner = "<h1>title</h1>" if tag == "article" else ""
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><body><{tag} style='overflow-x:auto'>{inner}"
        f"<p style='width:600px'>{'long ' * 20}</p></{tag}></body>"
    )
    seen, complaints = pages.look(page, 390)
    assert seen["overflow"] <= 0
    problems = pages.problems_of(seen, complaints)
    assert [problem[:31] for problem in problems] == ["1 texts are cut off at the righ"] * is_fault
