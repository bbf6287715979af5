"""The report in a real browser at the widths of a desk and of a phone, light and dark."""

import importlib.util
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

from lacforest import LACForestClassifier
from lacforest.report import write_report

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
    write_report(path, forest, wine.data[1::2], wine.target[1::2], feature_names=wine.feature_names)
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
