"""Methods side by side: verdicts, tables as in the paper, and checks against its figures."""

import csv
import io
import json

import numpy as np
import pytest

from lacforest.experiments import _paper, _sweeps
from lacforest.experiments._comparison import Cell, check_against_paper, check_compared, compare
from lacforest.experiments._learning import LearningJob, Setting
from lacforest.experiments._paper_tables import render_comparison
from lacforest.experiments._sweeps import LABELED, THETA, draw_sweep, sweep_rows


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([0.9, 0.9], [0.9, 0.9], "tie"),
        ([0.9, 0.8], [0.8, 0.7], "win"),
        ([0.7, 0.6], [0.8, 0.7], "loss"),
        ([0.9, 0.7, 0.8], [0.7, 0.9, 0.8], "tie"),
        ([0.9, 0.8, 0.9, 0.8], [0.1, 0.1, 0.2, 0.1], "win"),
        ([0.9], [0.1], None),
    ],
)
def test_verdicts(first, second, verdict):
    results = [
        (
            LearningJob("d", Setting(), 0, sample, method),
            {"accuracy": value, "macro_f1": value, "auc": value},
        )
        for method, values in (("m", first), ("n", second))
        for sample, value in enumerate(values)
    ]
    assert [cell.verdict for cell in compare(results) if cell.method == "n"] == [verdict] * 3


def make_cells():
    def cell(dataset, method, measure, mean, verdict):
        paper = _paper.paper_figure(measure, dataset, method)
        return Cell(dataset, Setting(), method, measure, mean, 0.02, 100, verdict, paper)

    return [
        cell(dataset, method, measure, mean, verdict)
        for dataset in ("segment", "letter")
        for measure in ("accuracy", "macro_f1", "auc")
        for method, mean, verdict in (("lacforest", 0.8, None), ("glac", 0.7, "win"))
    ]


def test_figures_of_the_paper():
    assert _paper.paper_figure("accuracy", "segment", "lacforest") == (0.9436, 0.0186)
    assert _paper.paper_figure("macro_f1", "shuttle", "ovr_svm") == (0.3843, 0.1032)
    assert _paper.paper_figure("auc", "fmnist", "glac") == (0.9020, 0.0379)
    assert _paper.paper_figure("accuracy", "segment", "unheard_of") is None
    assert _paper.paper_figure("accuracy", "unheard_of", "glac") is None


def test_averages_of_the_paper():
    # The paper prints averages as well, which reveals typing errors in the table.
    for measure, averages in (
        ("accuracy", (0.8840, 0.8285, 0.8648, 0.7468, 0.6459, 0.5694, 0.6378, 0.5955)),
        ("macro_f1", (0.8421, 0.7699, 0.8206, 0.6980, 0.5815, 0.5947, 0.5908, 0.5954)),
        ("auc", (0.9567, 0.9288, 0.9497, 0.8321, 0.7521, 0.8260, 0.7619, 0.7880)),
    ):
        table = _paper._TABLES[measure]
        assert len(table) == 17
        for method, average in zip(_paper.METHODS, averages, strict=True):
            found = np.mean([figures[method][0] for figures in table.values()])
            assert found == pytest.approx(average, abs=0.006), (measure, method)


def test_text():
    text = render_comparison(make_cells(), "text")
    assert "segment       .8000±.0200  (.9436)  .7000±.0200● (.8838)" in text
    assert "average       .8000                 .7000" in text
    assert "win/tie/loss                        2/0/0" in text
    assert "FAILS: accuracy of lacforest on segment is 0.8000 ± 0.0020" in text
    assert "holds: accuracy of lacforest on letter is 0.8000" in text


def test_markdown_and_latex():
    markdown = render_comparison(make_cells(), "markdown")
    assert "| dataset | lacforest | glac |\n| --- | --- | --- |\n" in markdown
    latex = render_comparison(make_cells(), "latex")
    assert r"\textsf{segment} & .8000$\pm$.0200 & .7000$\pm$.0200$\bullet$ \\" in latex
    assert latex.count(r"\begin{tabular}{lcc}") == latex.count(r"\end{tabular}") == 3


def test_csv_and_json_hold_every_cell():
    cells = make_cells()
    rows = list(csv.DictReader(io.StringIO(render_comparison(cells, "csv"))))
    assert len(rows) == len(cells)
    assert rows[1]["verdict"] == "win"
    assert float(rows[0]["paper_mean"]) == 0.9436
    content = json.loads(render_comparison(cells, "json"))
    assert len(content["table"]) == len(cells)
    assert len(content["checks"]) == 2 + 2


def test_checks_speak_of_the_first_method_only():
    assert len(check_against_paper(make_cells())) == 2
    assert check_against_paper([cell for cell in make_cells() if cell.method == "glac"][:1])


def accuracy_cells(figures):
    """(dataset, method, our mean, the paper's) to cells."""
    return [
        Cell(dataset, Setting(), method, "accuracy", mean, 0.02, 20, None, paper and (paper, 0.01))
        for dataset, method, mean, paper in figures
    ]


def test_compared_methods_are_checked_against_the_paper():
    figures = [
        *(("abc"[i], "first", 0.8, 0.7) for i in range(3)),
        *(("abc"[i], "close", 0.7, 0.74 if i < 2 else 0.2) for i in range(3)),
        *(("abc"[i], "far", 0.6, 0.6 if i == 0 else 0.65) for i in range(3)),
        *(("abc"[i], "own", 0.5, None) for i in range(3)),
    ]
    assert check_compared(accuracy_cells(figures)) == [
        "holds: accuracy of close is within 0.04 of the paper's on 2 of 3 datasets; not on c "
        "+0.500.",
        "FAILS: accuracy of far is within 0.04 of the paper's on 1 of 3 datasets; not on b -0.050, "
        "c -0.050.",
        "holds: the average accuracy of first is 0.8000, that of the best other method, close, "
        "0.7000.",
    ]


def test_the_first_method_may_be_beaten():
    cells = accuracy_cells([("a", "first", 0.7, None), ("a", "other", 0.9, None)])
    assert check_compared(cells) == [
        "FAILS: the average accuracy of first is 0.7000, that of the best other method, other, "
        "0.9000."
    ]
    assert check_compared(cells[:1]) == []


def test_rows_of_a_sweep_are_in_order():
    results = [
        (
            LearningJob("d", setting, 0, sample, "m"),
            {"accuracy": 0.5 + setting.percent / 1000, "macro_f1": 0.5, "auc": 0.5},
        )
        for setting in reversed(THETA.points)
        for sample in range(2)
    ]
    columns, rows = sweep_rows(compare(results), THETA)
    assert [row["value"] for row in rows] == [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert rows[0]["accuracy"] == pytest.approx(0.53)
    assert {column.key for column in columns} <= set(rows[0])


def test_figure_of_one_dataset(tmp_path):
    cells = [
        Cell("d", setting, "m", "accuracy", 0.9, 0.1, 4, None, None) for setting in THETA.points
    ]
    draw_sweep(cells, THETA, tmp_path / "one.svg")
    assert "</svg>" in (tmp_path / "one.svg").read_text()


def test_bands_are_standard_errors_and_panels_of_a_dataset_share_their_axis(monkeypatch):
    figures = []
    monkeypatch.setattr(_sweeps, "save_figure", lambda figure, path: figures.append(figure))
    cells = [
        Cell(name, setting, "m", "accuracy", mean, 0.1, 25, None, None)
        for name, mean in (("high", 0.99), ("low", 0.5))
        for setting in LABELED.points
    ]
    draw_sweep(cells, LABELED, "curves.png")
    panels = figures[0].axes
    (band,) = panels[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.97, 1.01))
    assert {panel.get_ylim() for panel in panels[:3]} == {panels[0].get_ylim()}
    assert panels[0].get_ylim()[1] == 1
    assert panels[3].get_ylim()[1] < 0.6
