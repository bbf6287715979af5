"""The suite of tables: its protocol, its figures, and the command."""

import json

import numpy as np
import pytest

from lacforest.experiments import _suite, _suite_tables, command
from lacforest.experiments._learning import (
    LearningExperiment,
    LearningJob,
    LearningOptions,
    Setting,
)
from lacforest.experiments._suite import CHECKING, DEVELOPMENT, REGIMES, MethodScores
from lacforest.experiments._suite_tables import draw_suite, render_suite

PAPER = REGIMES["paper"]
# Accuracy by table and method, in two splits.
ACCURACY = {
    "letter": {"ours": [0.80, 0.90], "other": [0.70, 0.90]},
    "segment": {"ours": [0.60, 0.60], "other": [0.65, 0.67]},
    "magic": {"ours": [0.50, 0.50], "other": [0.50, 0.50]},
}


def make_results(accuracy=ACCURACY, setting=PAPER):
    return [
        (
            LearningJob(table, setting, choice, 0, method),
            {"accuracy": value, "macro_f1": value / 2},
        )
        for table, methods in accuracy.items()
        for method, values in methods.items()
        for choice, value in enumerate(values)
    ]


def test_tables_of_choosing_and_of_checking_are_apart():
    assert not set(DEVELOPMENT) & set(CHECKING)
    assert len(DEVELOPMENT) + len(CHECKING) >= 20
    assert REGIMES["paper"] == Setting()


def test_keys_of_earlier_results_remain():
    assert Setting(50, 1000).key == "50/1000"
    assert Setting(50, 1000, 60).key == "50/1000/60"


def test_ranks_and_leads():
    scores = MethodScores.of(make_results(), PAPER, "accuracy")
    assert scores.tables == ["letter", "segment", "magic"]
    assert scores.mean_ranks.tolist() == pytest.approx([(1 + 2 + 1.5) / 3, (2 + 1 + 1.5) / 3])
    lead = scores.lead(1)
    by_table = np.array([0.05, -0.06, 0.0])
    assert lead.mean == pytest.approx(by_table.mean())
    assert lead.error == pytest.approx(by_table.std(ddof=1) / 3**0.5)
    assert (lead.n_ahead, lead.worst, lead.worst_mean) == (1, "segment", pytest.approx(-0.06))
    assert lead.worst_error == pytest.approx(0.01)


def test_no_error_of_one_table_or_one_split():
    one = {"letter": {"ours": [0.8], "other": [0.7]}}
    lead = MethodScores.of(make_results(one), PAPER, "accuracy").lead(1)
    assert (lead.error, lead.worst_error) == (None, None)


def test_groups_of_tables_are_told_apart():
    table = json.loads(render_suite(make_results(), {"paper": PAPER}, "json"))["table"]
    found = {(row["group"], row["method"]): row for row in table}
    assert found["checking", "ours"]["n_tables"] == 1
    assert found["development", "other"]["lead"] == pytest.approx(-0.005)
    assert found["all", "ours"]["macro_f1"] == pytest.approx((0.85 + 0.6 + 0.5) / 6)
    assert found["all", "ours"]["lead"] is None


def test_tables_with_too_few_rows_are_left_out(given, folder):
    options = LearningOptions(
        "suite",
        ["one"],
        ["good"],
        (Setting(), Setting(50, 9000, 60)),
        n_choices=2,
        n_samples=1,
        drops_small=True,
        folder=folder,
    )
    jobs = LearningExperiment(options).jobs()
    assert list(jobs) == ["one/50/1000/0/0/good", "one/50/1000/1/0/good"]


def drawn(results, regimes, monkeypatch):
    """The figure of `draw_suite`, instead of a file."""
    figures = []
    monkeypatch.setattr(_suite_tables, "save_figure", lambda figure, path: figures.append(figure))
    draw_suite(results, regimes, "suite.png")
    return figures[0]


def test_the_picture_shows_leads_with_their_errors(monkeypatch):
    panel, *_ = drawn(make_results(), {"paper": PAPER}, monkeypatch).axes
    assert panel.get_title() == "paper: θ = 0.5\n500 labelled + 1,000 unlabelled"
    (other,) = panel.containers
    dots, _, (bars,) = other.lines
    assert other.get_label() == "other"
    assert dots.get_xdata().tolist() == pytest.approx([-5, 6, 0])
    widths = [np.ptp(segment[:, 0]) for segment in bars.get_segments()]
    assert widths == pytest.approx([10, 2, 0])


def test_the_picture_divides_development_from_checking(monkeypatch):
    panel, *_ = drawn(make_results(), {"paper": PAPER}, monkeypatch).axes
    labels = [label.get_text() for label in panel.get_yticklabels()]
    places = dict(zip(labels, panel.get_yticks(), strict=True))
    beside = {text.get_text(): text.xy[1] for text in panel.texts}
    assert beside["checking"] == beside["development"]
    assert max(places["letter"], places["segment"]) < beside["checking"] < places["magic"]
    alone = {"letter": ACCURACY["letter"]}
    assert not drawn(make_results(alone), {"paper": PAPER}, monkeypatch).axes[0].texts


def test_panels_of_a_row_share_their_axis(monkeypatch):
    regimes = dict(list(REGIMES.items())[:3])
    results = [entry for setting in regimes.values() for entry in make_results(setting=setting)]
    first, second, third, hidden = drawn(results, regimes, monkeypatch).axes
    joined = first.get_shared_x_axes()
    assert joined.joined(first, second)
    assert not joined.joined(first, third)
    assert third.get_visible()
    assert not hidden.get_visible()


def test_one_split_has_no_bars(monkeypatch):
    one = {"letter": {"ours": [0.8], "other": [0.7]}}
    panel, *_ = drawn(make_results(one), {"paper": PAPER}, monkeypatch).axes
    assert panel.containers[0].lines[2] == ()


def run(folder, *words):
    arguments = ["suite", "--data", str(folder), "--results", str(folder / "results.jsonl")]
    return command.main([*arguments, "--methods", "good,bad", "--choices", "1", *words])


def test_the_suite_by_command(given, folder, capsys, monkeypatch):
    monkeypatch.setattr(_suite, "REGIMES", {"paper": Setting(), "few labels": Setting(50, 400, 60)})
    # Stands in for a table of the suite.
    (folder / "one.npz").rename(folder / "mfcc_.npz")
    monkeypatch.setattr("lacforest.experiments._suite_tables._GROUPS", {"all": ("mfcc_", "two")})
    words = ("--datasets", "mfcc_,two", "--figure", str(folder / "suite.png"))
    assert run(folder, *words) == 0
    printed = capsys.readouterr().out
    assert "few labels: 60 labelled and 400 unlabelled rows, theta 0.50." in printed
    assert (folder / "suite.png").read_bytes().startswith(b"\x89PNG")
    fits = len(given)
    assert fits == 2 * 2 * 2
    assert run(folder, *words) == 0
    assert capsys.readouterr().out == printed
    assert len(given) == fits


def test_a_regime_that_is_not_there(given, folder, capsys):
    assert run(folder, "--datasets", "one", "--regimes", "paper,none") == 2
    message = "there is no regime 'none': choose among " + ", ".join(REGIMES)
    assert capsys.readouterr().err == message + "\n"
