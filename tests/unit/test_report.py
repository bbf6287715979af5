"""The HTML report: its contents, that it is self-contained, and its layout in a browser."""

import html
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from lacforest import LACForestClassifier
from lacforest.calibration.scores import ranking_score
from lacforest.datasets import make_figure1
from lacforest.inspection import column_shift
from lacforest.mixture import diagnose
from lacforest.report import write_report
from lacforest.report._content import _QUESTIONS as QUESTIONS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def toy():
    return make_figure1(200, 400, random_state=0)


@pytest.fixture(scope="module")
def forest(toy):
    forest = LACForestClassifier(20, random_state=0)
    return forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)


@pytest.fixture(scope="module")
def full(toy, forest, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        path,
        forest,
        toy.X_unlabeled,
        toy.y_unlabeled,
        training=(toy.X_labeled, toy.y_labeled, toy.X_unlabeled),
        diagnosis=diagnose(toy.X_labeled, toy.X_unlabeled, random_state=0),
        title="Squares & <circles>",
        facts={"source": "a <toy>"},
    )
    return path


def read(path):
    return path.read_text(encoding="utf-8")


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_sections_of_a_full_report(full):
    assert headings(read(full)) == [
        "How much is new, and can I believe it?",
        "How good is it?",
        "What does it look like?",
        "How frequent are known classes?",
        "What is it?",
        "Which rows, and why?",
        "Which columns differ between labelled and unlabelled rows?",
        "What now?",
        "Facts",
    ]


def test_figures_are_those_of_the_forest(full, forest, toy):
    page = read(full)
    called_new = (forest.predict(toy.X_unlabeled) == forest.new_label_).sum()
    assert f"<b>{forest.theta_:.3f}</b>" in page
    assert f"<b>{called_new:,}</b><span>rows called new</span>" in page
    low, high = forest.theta_interval_
    assert f"(interval {low:.1%} to {high:.1%})" in page
    newest = ranking_score(forest, toy.X_unlabeled).argmax() + 1
    assert f"<tbody><tr><td>{newest}</td>" in page


def test_it_stands_alone(full):
    page = read(full)
    addresses = re.findall(r'(?:src|srcset|href)="([^"]*)"', page)
    assert len(addresses) == 2 * 6  # light and dark
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "<script" not in page
    assert "http" not in re.sub(r'"data:[^"]*"', "", page)


def test_text_is_escaped(full):
    page = read(full)
    assert "<title>Squares &amp; &lt;circles&gt;</title>" in page
    assert "a &lt;toy&gt;" in page
    assert "<circles>" not in page


def test_the_index_of_a_frame_is_shown(forest, toy, tmp_path):
    index = [range(len(toy.X_unlabeled)), ["x" * 300] * len(toy.X_unlabeled)]
    names = ["id <1>", None]
    frame = pd.DataFrame(toy.X_unlabeled, index=pd.MultiIndex.from_arrays(index, names=names))
    write_report(tmp_path / "report.html", forest, frame)
    section = read(tmp_path / "report.html").partition("Which rows, and why?")[2]
    assert "<th>row</th><th>id &lt;1&gt;</th><th>novelty score</th>" in section
    newest = np.argsort(-ranking_score(forest, toy.X_unlabeled), kind="stable")[0]
    assert f"<tr><td>{newest + 1}</td><td>{newest}</td>" in section
    assert "xxx" not in section
    frame.index = pd.Index(index[1], name="note")
    write_report(tmp_path / "report.html", forest, frame)
    assert f"<td>{'x' * 97}...</td>" in read(tmp_path / "report.html")


def test_without_truth_and_training(forest, toy, tmp_path):
    write_report(tmp_path / "report.html", forest, toy.X_unlabeled)
    page = read(tmp_path / "report.html")
    assert "How good is it?" not in headings(page)
    assert page.count("<figure>") == 3  # scores, ratio curve, importances
    for found in forest.fit_findings_:
        text = found.text[0].upper() + found.text[1:]
        assert re.search(
            f'<li class="{found.level}">[A-Z][a-z ]*\\? {re.escape(html.escape(text))}', page
        )
    assert "the tables of the fit (--labelled and --unlabeled)" in page
    shift = column_shift(forest)[0]
    cells = f"<td>{shift.name}</td><td>{shift.unlabeled:.2f}</td>"
    assert f"{cells}<td>{shift.taken_for_known:.2f}</td>" in page


def test_findings_of_a_diagnosis_come_instead_of_those_of_the_fit(forest, full):
    page = read(full)
    for topic in {found.topic for found in forest.fit_findings_}:
        assert page.count(f">{QUESTIONS[topic]} ") == 1


def test_a_file_of_an_older_version_has_no_findings(toy, tmp_path):
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    forest.fit_findings_, forest.column_shift_, forest.known_shares_ = (), None, None
    write_report(tmp_path / "report.html", forest, toy.X_unlabeled)
    found = headings(read(tmp_path / "report.html"))
    assert not any(
        heading.startswith(("Do the data", "How freq", "Which columns")) for heading in found
    )


def test_shares_of_known_classes(forest, toy, tmp_path):
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    n_known = len(forest.known_classes_)
    forest.known_shares_ = np.append(0.625, np.full(n_known - 1, 0.375 / (n_known - 1)))
    forest.known_shares_interval_ = np.column_stack(
        [np.full(n_known, 0.25), np.full(n_known, 0.75)]
    )
    write_report(tmp_path / "report.html", forest, toy.X_unlabeled)
    page = read(tmp_path / "report.html")
    assert "They were estimated, because they differ from those of the labelled rows." in page
    assert "62.5%" in page
    assert "25.0% to 75.0%" in page


def test_theta_that_was_given(toy, tmp_path):
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    many = np.resize(toy.X_unlabeled, (1200, toy.X_unlabeled.shape[1]))
    write_report(tmp_path / "report.html", forest, many)
    page = read(tmp_path / "report.html")
    assert "% of 1,200 rows are called new; theta was given as 0.500" in page
    assert "Ratio curve" not in page


def test_feature_names_and_many_classes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 20 * np.repeat(np.arange(30), 10)[:, None]
    X = pd.DataFrame(X, columns=["height", "weight & co"])
    y = np.repeat(np.arange(30), 10)
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    forest.fit(X, y, X_unlabeled=pd.concat([X, X.add([0, 900])]))
    write_report(tmp_path / "report.html", forest, X)
    page = read(tmp_path / "report.html")
    assert "18, 19 and 10 more" in page
    assert "weight &amp; co 1.00, height 0.00" in page


def test_a_forest_without_a_new_class(toy, tmp_path):
    forest = LACForestClassifier(5).fit(toy.X_labeled, toy.y_labeled)
    with pytest.raises(ValueError, match="has no new class: there is nothing to report"):
        write_report(tmp_path / "report.html", forest, toy.X_unlabeled)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist(forest, toy, tmp_path):
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path / "nowhere" / "report.html", forest, toy.X_unlabeled)


def test_an_old_report_stays_if_the_new_one_fails(forest, toy, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(path, forest, toy.X_unlabeled)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


# ---------------------------------------------------------------------------- in a browser

PROBE = """
<script>
document.title = JSON.stringify({
  pictures: [...document.images].map(image => image.naturalWidth),
  overflow: document.documentElement.scrollWidth - window.innerWidth,
  right: Math.max(...[...document.querySelectorAll('main *')].filter(
    element => !element.parentElement.closest('.scroll')
  ).map(element => element.getBoundingClientRect().right)),
  headings: document.querySelectorAll('h2').length,
  ground: getComputedStyle(document.body).backgroundColor,
});
</script>
"""


def look(path, tmp_path, width, *options):
    """The layout of the page at a given width, and the browser's error messages."""
    probed = tmp_path / "probed.html"
    probed.write_text(read(path).replace("</body>", PROBE + "</body>"), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900"]
    command += ["--enable-logging=stderr", *options, "--dump-dom", probed.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL).group(1)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(title)), complaints


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: the report was not looked at")
@pytest.mark.parametrize("width", [500, 1280])
def test_in_a_browser(full, tmp_path, width):
    seen, complaints = look(full, tmp_path, width)
    assert complaints == []
    assert len(seen["pictures"]) == 6
    assert min(seen["pictures"]) > 300
    assert seen["overflow"] <= 0
    assert seen["headings"] == 9
    assert seen["ground"] == "rgb(255, 255, 255)"


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: the report was not looked at")
def test_on_a_phone(full, tmp_path):
    # A browser window cannot be as narrow as a phone, so the width of the page is set instead.
    narrow = tmp_path / "narrow.html"
    style = "<style>html { width: 360px; }</style></head>"
    narrow.write_text(read(full).replace("</head>", style), encoding="utf-8")
    seen, complaints = look(narrow, tmp_path, 800)
    assert complaints == []
    assert 300 < seen["right"] <= 360


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: the report was not looked at")
def test_in_a_dark_browser(full, tmp_path):
    seen, _ = look(full, tmp_path, 1280, "--blink-settings=preferredColorScheme=0")
    assert seen["ground"] == "rgb(20, 24, 31)"
    assert min(seen["pictures"]) > 300
