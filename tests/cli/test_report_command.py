"""The command `report` on valid input, and the page it writes."""

import json
import re

import numpy as np
import pytest
from two_tables import DEPLOYED, LABELLED, fit_words


def test_report(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "report.html")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split() == ["report", "report.html"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What is new in prod.csv?" in page
    assert "How good is it?" not in page


def test_reasons_in_the_report_name_categories(run, model, folder):
    assert run("report", "model.lac", "prod.csv", "-o", "report.html").code == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "city = Lima (" in page
    assert "city = 0" not in page
    assert "city = 1" not in page


def test_report_with_truth(run, model, folder):
    outcome = run(
        "report", "model.lac", "labelled.csv", "-o", "r.html", "--truth", "kind", "--json"
    )
    assert outcome.code == 0
    assert json.loads(outcome.out)["report"] == "r.html"
    assert "How good is it?" in (folder / "r.html").read_text(encoding="utf-8")


def newest_rows(path):
    """Titles and rows of the table "Which rows, and why?"."""
    section = path.read_text(encoding="utf-8").partition("<h2>Which rows, and why?</h2>")[2]
    titles = re.findall("<th>(.*?)</th>", section.partition("</thead>")[0])
    body = section.partition("<tbody>")[2].partition("</tbody>")[0]
    return titles, [re.findall("<td>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]


def test_a_report_leads_to_rows_elsewhere(run, model, folder):
    texts = [None if i % 2 else f"<b>{i}" for i in range(80)]
    table = DEPLOYED.assign(id=[f"{i:04}" for i in range(80)], note=texts)
    table.to_csv("new.csv", index=False)
    assert run("report", "model.lac", "new.csv", "-o", "r.html", "--keep", "id,note,x").code == 0
    titles, rows = newest_rows(folder / "r.html")
    assert titles == ["row", "id", "note", "x", "novelty score", "prediction", "reasons"]
    assert len(rows) == 10
    for row, number, note, x, *_ in rows:
        place = int(row) - 1
        assert number == f"{place:04}"
        assert note == ("" if place % 2 else f"&lt;b&gt;{place}")
        assert float(x) == table["x"][place]
    assert run("report", "model.lac", "new.csv", "-o", "plain.html").code == 0
    without = [[cell for k, cell in enumerate(row) if k not in (1, 2, 3)] for row in rows]
    assert newest_rows(folder / "plain.html")[1] == without


@pytest.mark.parametrize("keep", [["*"], ["id,*", "x"]])
def test_a_report_with_all_columns(run, model, folder, keep):
    DEPLOYED.assign(id=range(80)).to_parquet("new.parquet")
    words = [word for columns in keep for word in ("--keep", columns)]
    assert run("report", "model.lac", "new.parquet", "-o", "r.html", *words).code == 0
    assert newest_rows(folder / "r.html")[0][1:-3] == ["x", "y", "city", "member", "id"]


def test_a_report_with_the_truth_twice(run, model, folder):
    words = ("report", "model.lac", "labelled.csv", "-o", "r.html", "--truth", "kind")
    assert run(*words, "--keep", "kind,kind").code == 0
    assert newest_rows(folder / "r.html")[0][:3] == ["row", "kind", "novelty score"]


def test_a_report_cannot_show_a_column_that_is_not_there(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "r.html", "--keep", "id")
    assert outcome.is_mistake("prod.csv has no column 'id'")


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([1.5, 2.0], "column 'truth' of t.csv contains numbers that are not integers, such as 2.0"),
        ([2**63, 2], "column 'truth' of t.csv contains integers such as 9223372036854775808, too"),
        (["a", 2], "column 'truth' of t.csv contains text, but the classes of the model are num"),
    ],
)
def test_report_of_a_truth_of_other_numbers(run, folder, truth, message):
    numbers = LABELLED.assign(kind=np.repeat([1, 2], 30))
    numbers.to_csv("labelled.csv", index=False)
    assert run(*fit_words()).code == 0
    numbers.assign(truth=np.repeat(np.array(truth, dtype=object), 30)).to_csv("t.csv", index=False)
    run("report", "model.lac", "t.csv", "-o", "r.html", "--truth", "truth").is_mistake(message)


def test_report_of_a_truth_that_is_not_there(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "r.html", "--truth", "kind")
    assert outcome.is_mistake("prod.csv has no column 'kind'")
    assert not (folder / "r.html").exists()


def test_report_with_the_tables_of_the_fit(run, folder):
    words = [word for word in fit_words() if word not in ("--theta", "0.5")]
    assert run(*words).code == 0
    tables = ("--labelled", "labelled.csv", "--unlabelled", "prod.csv")
    assert run("report", "model.lac", "prod.csv", "-o", "r.html", *tables[:2]).code == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "<h2>What is it?</h2>" in page
    assert "as a function of theta" not in page
    assert "the tables of the fit (--labelled and --unlabeled)" in page
    assert run("report", "model.lac", "prod.csv", "-o", "r.html", *tables).code == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "<h2>What is it?</h2>" in page
    for alt in ("Ratio curve of theta", "Share of rows called new as a function of theta"):
        assert f'alt="{alt}"' in page
    assert "the tables of the fit (--labelled and --unlabeled)" not in page


def test_report_with_unlabelled_rows_alone(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "r.html", "--unlabeled", "prod.csv")
    assert outcome.is_mistake("--unlabeled needs the labelled rows of the fit: add --labelled")


def test_report_with_labelled_rows_that_have_no_label(run, model, folder):
    outcome = run("report", "model.lac", "prod.csv", "-o", "r.html", "--labelled", "prod.csv")
    assert outcome.is_mistake("prod.csv has no column 'kind' of labels")
