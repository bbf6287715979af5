"""Table 1 and the sweeps on toy datasets, with methods whose figures are known."""

import csv
import io
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import ttest_rel

from lacforest.experiments import __main__ as command
from lacforest.experiments import _learning, _methods, _paper
from lacforest.experiments._comparison import (
    Cell,
    check_against_paper,
    check_compared,
    compare,
    win_tie_loss,
)
from lacforest.experiments._learning import (
    LearningExperiment,
    LearningJob,
    LearningOptions,
    Setting,
    make_jobs,
)
from lacforest.experiments._paper_tables import render_comparison
from lacforest.experiments._sweeps import THETA, UNLABELED, draw_sweep, sweep_rows


class Reader:
    """Reads the class off the first column; wrong for rows whose second column is small."""

    def __init__(self, share_wrong, given):
        self.share_wrong = share_wrong
        self.given = given

    def fit(self, X, y, X_unlabeled=None):
        self.given.append((X, y, X_unlabeled))
        self.known = np.unique(y)
        self.theta_ = 0.4
        return self

    def predict(self, X):
        label = np.where(np.isin(X[:, 0], self.known), X[:, 0], -1).astype(int)
        return np.where(X[:, 1] < self.share_wrong, self.known[0], label)

    def novelty_score(self, X):
        return (~np.isin(X[:, 0], self.known)).astype(float)


@pytest.fixture
def given(monkeypatch):
    """What the methods "good" and "bad" were fitted on."""
    given = []
    monkeypatch.setattr(_methods, "METHODS", {})
    _methods.register_method("good", lambda *_: Reader(0.0, given))
    _methods.register_method("bad", lambda *_: Reader(0.5, given))
    monkeypatch.setattr(command, "METHODS", _methods.METHODS)
    return given


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = np.repeat(np.arange(4), 800)
        np.savez(tmp_path / f"{name}.npz", X=np.column_stack([y / 3, rng.random((3200, 2))]), y=y)
    return tmp_path


@pytest.fixture
def experiment(given, folder):
    # Class codes must survive the scaling of features for Reader to find them.
    options = LearningOptions("table1", ["one"], ["good", "bad"], n_choices=2, n_samples=2)
    made = LearningExperiment(
        LearningOptions(**{**vars(options), "folder": folder})  # the same, with a folder
    )
    for table in made._tables.values():
        table.data[:, 0] = table.target
    return made


def run_all(experiment):
    return [(job, experiment.run_job(job)) for job in make_jobs(experiment.options).values()]


def test_jobs_cover_everything_once():
    options = LearningOptions("x", ["a", "b"], ["m", "n"], THETA.points, 3, 2)
    jobs = make_jobs(options)
    assert len(jobs) == 2 * 6 * 3 * 2 * 2
    assert list(jobs)[:2] == ["a/30/1000/0/0/m", "a/30/1000/0/0/n"]


def test_trials_take_turns_with_the_choices():
    options = LearningOptions("x", ["a"], ["m"], n_choices=3, n_trials=5)
    assert options.splits == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]
    by_default = LearningOptions("x", ["a"], ["m"])
    assert set(by_default.splits) == set(LearningOptions("x", ["a"], ["m"], n_trials=100).splits)


def test_methods_see_the_same_rows(experiment, given):
    job = LearningJob("one", Setting(), 0, 0, "good")
    experiment.run_job(job)
    experiment.run_job(LearningJob("one", Setting(), 0, 0, "bad"))
    for first, second in zip(*given, strict=True):
        assert_array_equal(first, second)
    X, y, X_unlabeled = given[0]
    assert len(X) == len(y) == 500
    assert len(X_unlabeled) == 1000


def test_a_choice_fixes_the_hidden_classes_and_a_sample_the_rows(experiment):
    def hidden(choice, sample, *point):
        return experiment.draw(LearningJob("one", Setting(*point), choice, sample, "good"))[0]

    assert_array_equal(hidden(0, 0).hidden, hidden(0, 1).hidden)
    assert_array_equal(hidden(0, 0).hidden, hidden(0, 0, 30, 400).hidden)
    assert not np.array_equal(hidden(0, 0).labeled, hidden(0, 1).labeled)
    choices = {tuple(hidden(choice, 0).hidden) for choice in range(8)}
    assert len(choices) > 1


def test_results_are_measured(experiment):
    result = experiment.run_job(LearningJob("one", Setting(), 0, 0, "good"))
    assert result["accuracy"] == result["macro_f1"] == result["auc"] == 1.0
    assert result["theta"] == 0.5
    assert result["theta_estimate"] == 0.4
    assert result["seconds"] > 0
    worse = experiment.run_job(LearningJob("one", Setting(), 0, 0, "bad"))
    assert 0.4 < worse["accuracy"] < 0.8


def test_too_few_rows_for_any_choice(experiment):
    with pytest.raises(ValueError, match="one has too few rows for 9000 unlabelled rows at theta"):
        experiment.draw(LearningJob("one", Setting(50, 9000), 0, 0, "good"))


def test_cells_are_means_and_paired_tests(experiment):
    results = run_all(experiment)
    cells = compare(results)
    assert len(cells) == 2 * 3
    good, bad = (
        np.array([result["accuracy"] for job, result in results if job.method == method])
        for method in ("good", "bad")
    )
    cell = cells[1]
    assert (cell.method, cell.measure, cell.n_splits) == ("bad", "accuracy", 4)
    assert cell.mean == pytest.approx(bad.mean())
    assert cell.deviation == pytest.approx(bad.std(ddof=1))
    assert ttest_rel(good, bad).pvalue < 0.05
    assert cell.verdict == "win"
    assert cells[0].verdict is None
    assert win_tie_loss(cells, "bad", "accuracy") == "1/0/0"


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
    # Typing mistakes would show: the paper prints the averages itself.
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
        "holds: the average accuracy of first is 0.8000, that of the next best, close, 0.7000.",
    ]


def test_the_first_method_may_be_beaten():
    cells = accuracy_cells([("a", "first", 0.7, None), ("a", "other", 0.9, None)])
    assert check_compared(cells) == [
        "FAILS: the average accuracy of first is 0.7000, that of the next best, other, 0.9000."
    ]
    assert check_compared(cells[:1]) == []


def run_command(folder, capsys, *words, code=0):
    arguments = ["--data", str(folder), "--datasets", "one,two"]
    arguments += ["--results", str(folder / "results.jsonl"), "--choices", "1", "--samples", "2"]
    assert command.main([*words[:1], *arguments, *words[1:]]) == code
    return capsys.readouterr()


def test_table1_by_command(given, folder, capsys):
    printed = run_command(folder, capsys, "table1", "--methods", "all").out
    assert "dataset" in printed
    assert printed.count("\none ") == 3
    assert "bad" in printed
    fits = len(given)
    again = run_command(folder, capsys, "table1", "--methods", "all").out
    assert again == printed
    assert len(given) == fits


def test_sweeps_by_command(given, folder, capsys):
    picture = folder / "sweep.png"
    words = ("unlabeled-sweep", "--methods", "good,bad", "--figure", str(picture))
    printed = run_command(folder, capsys, *words).out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(printed.splitlines()) == 1 + 2 * 2 * len(UNLABELED.points)


def test_figures_that_cannot_be_drawn(given, folder, capsys, monkeypatch):
    def complaint(path):
        words = ("theta-sweep", "--methods", "good", "--figure", str(path))
        return run_command(folder, capsys, *words, code=2).err

    assert complaint("a.xls") == "a.xls: the name of a figure ends in .png, .svg, .pdf\n"
    assert "cannot be written: there is no folder" in complaint(folder / "no" / "a.png")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert complaint("a.png").startswith("figures need matplotlib")
    assert given == []


def test_jobs_at_once_give_what_one_at_a_time_gives(given, folder, capsys):
    words = ("table1", "--methods", "all", "--format", "csv")
    alone = run_command(folder, capsys, *words, "--results", str(folder / "alone.jsonl")).out
    fits = len(given)
    assert run_command(folder, capsys, *words, "--jobs", "2").out == alone
    assert len(given) == fits  # the others were made in other processes


def test_trials_by_command(given, folder, capsys):
    arguments = ["table1", "--data", str(folder), "--datasets", "one", "--methods", "good"]
    arguments += ["--results", str(folder / "results.jsonl"), "--trials", "3"]
    assert command.main(arguments) == 0
    assert len(given) == 3
    with pytest.raises(SystemExit, match="2"):
        command.main([*arguments, "--samples", "2"])
    assert "not allowed with argument --trials" in capsys.readouterr().err


def test_a_method_that_is_not_there(given, folder, capsys):
    complaint = run_command(folder, capsys, "table1", "--methods", "best", code=2).err
    assert complaint == "there is no method 'best': choose among good, bad\n"


def test_registering_twice(given):
    with pytest.raises(ValueError, match="a method named 'good' is there already"):
        _methods.register_method("good", lambda *_: None)


def test_the_methods_of_the_library():
    auto, km2, true = (
        _methods.make_method(name, 0.3, 1, 2)
        for name in ("lacforest", "lacforest:km2", "lacforest:true_theta")
    )
    assert auto.theta == "auto"
    assert km2.theta.variant == "km2"
    assert true.theta == 0.3
    assert (auto.random_state, auto.n_jobs) == (1, 2)


def test_all_are_the_methods_of_the_paper():
    assert tuple(_methods.compared_methods()) == _paper.METHODS
    for name in _methods.METHODS.keys() - {"told"}:
        model = _methods.make_method(name, 0.3, 7, 2)
        given = model.get_params()
        assert given.get("random_state", 7) == 7
        assert given.get("n_jobs", 2) == 2
        if name not in ("lacforest:true_theta", "lacforest:km2"):
            assert given.get("theta") in ("auto", None), name


def test_settings_of_the_table_and_of_the_authors():
    own, published = (_methods.make_method(name, 0.5, 0, 1) for name in ("osnn", "osnn:published"))
    assert (own.threshold, published.threshold) == (0.95, "tuned")
    own, published = (
        _methods.make_method(name, 0.5, 0, 1) for name in ("pac_iforest", "pac_iforest:published")
    )
    assert (own.q, own.forests, published.q, published.forests) == (0.2, "one", 0.05, "per_class")
    assert "eulac:published" not in _methods.METHODS


def test_rows_of_a_sweep_are_in_order(experiment):
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


def test_standard_setting_is_that_of_the_paper():
    assert _learning.Setting() == Setting(50, 1000)
    assert (_learning.N_LABELED, _learning.N_TEST) == (500, 100)
