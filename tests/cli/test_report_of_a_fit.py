"""lacforest fit --report: the page has all that the tables of the fit can tell."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest.tabular import TabularModel


def estimated(*more):
    """Words of a fit that estimates theta."""
    return [word for word in fit_words(*more) if word not in ("--theta", "0.5")]


def test_everything_the_report_of_the_demo_has(run, folder):
    outcome = run(*estimated("--report", "report.html"))
    assert outcome.code == 0
    assert outcome.new_files == ["model.lac", "report.html"]
    assert ["report", "report.html"] in [line.split() for line in outcome.out.splitlines()]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What is new in prod.csv?" in page
    assert "<h2>How much is new, and can I believe it?</h2>" in page
    assert "Do two ways to estimate theta agree?" in page
    assert "Can new rows be told from known ones?" in page
    assert "<h2>What is it?</h2>" in page
    for alt in ("Ratio curve of theta", "Share of rows called new as a function of theta"):
        assert f'alt="{alt}"' in page
    assert "the tables of the fit (--labelled and --unlabeled)" not in page
    told = "These rows took part in the fit: they look more clearly known or new than later rows."
    assert told in page
    assert run("report", "model.lac", "prod.csv", "-o", "later.html").code == 0
    assert told not in (folder / "later.html").read_text(encoding="utf-8")


def test_rows_of_the_fit_are_ordered_by_its_first_step(run, folder):
    assert run(*estimated("--report", "report.html")).code == 0
    assert run("report", "model.lac", "prod.csv", "-o", "later.html").code == 0
    model = TabularModel.load("model.lac")
    forest, X = model.forest, model.coder.encode(DEPLOYED)
    first = forest.novelty_score(X, stage="exploration")
    # Trees of Step II know the pseudo-labels of these rows: many tie at the highest score.
    for page, title, scores in (
        ("report.html", "first score", first),
        ("later.html", "novelty score", forest.novelty_score(X) + 1e-9 * first),
    ):
        text = (folder / page).read_text(encoding="utf-8")
        section = text.partition("<h2>Which rows, and why?</h2>")[2].partition("</table>")[0]
        assert f"<th>{title}</th>" in section
        assert ("ordered by its first step" in section) == (page == "report.html")
        rows = re.findall(r"<tr><td>(\d+)</td><td>([\d.]+)</td>", section)
        order = np.argsort(-scores, kind="stable")[: len(rows)]
        assert rows == [(str(row + 1), f"{min(scores[row], 1.0):.3f}") for row in order]


def test_the_model_and_the_summary_are_those_without_a_report(run, folder):
    plain = json.loads(run(*estimated("--json")).out)
    model = (folder / "model.lac").read_bytes()
    reported = json.loads(run(*estimated("--json", "--report", "report.html")).out)
    assert (folder / "model.lac").read_bytes() == model
    assert plain.pop("report") is None
    assert reported.pop("report") == "report.html"
    del plain["seconds"], reported["seconds"]
    assert plain == reported


def test_theta_that_was_given_has_no_interval_to_vary(run, folder):
    assert run(*fit_words("--report", "report.html")).code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "theta was given as 0.500" in page
    assert "as a function of theta" not in page


@pytest.mark.parametrize("option", [("--memory", "512"), ("--dask", "local")])
def test_tables_that_are_not_in_memory(run, option):
    outcome = run(*fit_words("--report", "report.html", *option))
    assert outcome.is_mistake("--report needs tables in memory", option[0], "lacforest report")


def test_files_that_are_in_use(run):
    outcome = run(*fit_words("--report", "model.lac"))
    assert outcome.is_mistake("model.lac is also the model file")
    outcome = run(*fit_words("--report", "prod.csv"))
    assert outcome.is_mistake("prod.csv is also an input")


def test_text_columns_are_told_by_the_names_of_categories(run, folder):
    names = {"Oslo": "Ås", "Rome": "Zürich", "Bern": "東京", "Lima": "Łódź <b>"}
    for path, frame in (("labelled.csv", LABELLED), ("prod.csv", DEPLOYED)):
        frame = frame.replace({"city": names}).rename(columns={"city": "ville"})
        pd.concat([frame] * 3).to_csv(path, index=False)
    assert run(*fit_words("--report", "report.html", "--trees", "20")).code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    groups = page.partition("<h2>What is it?</h2>")[2].partition("</table>")[0]
    assert "ville = Łódź &lt;b&gt; in 98% (0%)" in groups
    assert not re.search(r"(ville|member) \d", groups)
    shifts = page.partition("<h2>Which columns differ")[2].partition("</table>")[0]
    # Half of the unlabelled rows are of a city that no labelled row has.
    assert re.search(r"<td>ville</td><td>50% of rows</td><td>12% of rows</td>", shifts)
    assert "In columns of categories, the share of rows" in shifts
    assert re.search(r"<td>y</td><td>0\.\d\d</td><td>0\.\d\d</td>", shifts)
    listed = run(
        "groups", "model.lac", "prod.csv", "--labelled", "labelled.csv", "-o", "groups.csv"
    )
    assert "ville = Łódź <b> in 98% (known 0%)" in listed.out


@pytest.mark.parametrize("coding", ["ordinal", "onehot"])
def test_the_report_says_how_texts_are_compared(run, folder, coding):
    assert run(*fit_words("--report", "report.html", "--categories", coding)).code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    shifts = page.partition("<h2>Which columns differ")[2].partition("</table>")[0]
    assert "columns of categories" not in shifts
    sentence = "Texts that the model takes as numbers are larger if later in the alphabet."
    assert (sentence in shifts) == (coding == "ordinal")
