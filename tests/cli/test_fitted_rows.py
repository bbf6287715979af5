"""Predict says so where it scores the unlabelled rows of the fit, without storing the rows."""

import json
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from container_files import rewrite
from two_tables import DEPLOYED, LABELLED, fit_words

from lacforest import LACForestClassifier
from lacforest._input.row_fingerprints import row_fingerprints
from lacforest._model.container import ModelFileError
from lacforest.tabular import TabularModel, fitted_rows
from lacforest.tabular.fitted_rows import FittedRows, LabeledSketch, UnlabeledSketch
from lacforest.tabular.scorer import load_scorer

NOTE = "of the rows are unlabelled rows of the fit"


def predict_notes(run, table):
    outcome = run("predict", "model.lac", table, "-o", "s.csv", "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["notes"]


def test_a_note_about_the_table_of_the_fit(run, model, folder):
    outcome = run("predict", model, "prod.csv", "-o", "s.csv")
    assert f"note: 100% {NOTE}" in outcome.out
    assert "A model of fit --calibrate scores them by fits without them" in outcome.out
    # Order and other columns do not matter, and half of a table is enough.
    rows = pd.read_csv("prod.csv").sample(frac=1, random_state=0)[["city", "y", "x", "member"]]
    rows.assign(more=1).to_csv("same.csv", index=False)
    assert predict_notes(run, "same.csv")[0].startswith(f"100% {NOTE}")
    later = rows.assign(x=rows["x"] + 0.001)
    pd.concat([rows, later]).to_csv("half.csv", index=False)
    assert predict_notes(run, "half.csv")[0].startswith(f"50% {NOTE}")


def test_no_note_about_other_tables(run, model, folder):
    rows = pd.read_csv("prod.csv")
    rows.assign(x=rows["x"] + 0.001).to_csv("later.csv", index=False)
    assert predict_notes(run, "later.csv") == []
    rows[:5].to_csv("few.csv", index=False)
    pd.concat([rows.assign(x=rows["x"] + 0.001), rows[:5]]).to_csv("few.csv", index=False)
    assert predict_notes(run, "few.csv") == []


def test_calibrated_models_need_no_note(run, folder):
    assert run(*fit_words("--calibrate")).code == 0
    assert predict_notes(run, "prod.csv") == []


def test_an_adapted_model_has_lost_its_calibration_but_not_the_note(run, folder):
    assert run(*fit_words("--calibrate", output="first.lac")).code == 0
    assert run("adapt", "first.lac", "prod.csv", "-o", "model.lac").code == 0
    assert predict_notes(run, "prod.csv")[0].startswith(f"100% {NOTE}")


def test_a_model_that_is_fitted_on_files_forgets_earlier_rows(run, model, folder):
    again = TabularModel.load(model)
    rows = pd.read_csv("prod.csv")
    rows.assign(x=rows["x"] + 0.001).to_csv("others.csv", index=False)
    again.fit_files("labelled.csv", "kind", "others.csv")
    assert not np.isin(again.fitted_rows.marks, load_scorer(model).fitted_rows.marks).any()


def test_a_model_of_files_in_chunks_knows_their_rows(run, folder):
    assert run(*fit_words("--memory", "600")).code == 0
    assert predict_notes(run, "prod.csv")[0].startswith(f"100% {NOTE}")
    rows = pd.read_csv("prod.csv")
    rows.assign(x=rows["x"] + 0.001).to_csv("later.csv", index=False)
    assert predict_notes(run, "later.csv") == []


@pytest.mark.parametrize("n_parts", [1, 2, 7, 60])
@pytest.mark.parametrize("step", [1.0, 0.2])
def test_marks_do_not_depend_on_the_pieces(monkeypatch, n_parts, step):
    monkeypatch.setattr(fitted_rows, "_MOST_MARKS", 64)
    monkeypatch.setattr(fitted_rows, "_MOST_LABELED", 50)
    rng = np.random.default_rng(0)
    X, U = (np.round(rng.normal(size=(300, 2)) / step) for _ in range(2))
    whole = FittedRows.of(U, X)
    labeled = reduce(LabeledSketch.merge, map(LabeledSketch.of, np.array_split(X, n_parts)))
    assert len(labeled.words) <= 50
    parts = [UnlabeledSketch.of(part, labeled) for part in np.array_split(U, n_parts)]
    found = FittedRows.of_sketches(labeled, reduce(UnlabeledSketch.merge, parts))
    assert found.to_dict() == whole.to_dict()
    # A sample of the labelled rows tells the share of all of them.
    exact = np.isin(row_fingerprints(X), row_fingerprints(U)).mean()
    assert 0.0 < exact < 1.0
    assert abs(found.coincidence - exact) < 0.2


def test_an_older_file_has_no_note(run, model):
    forget = lambda header: header["attachment"].pop("fitted_rows")  # noqa: E731
    rewrite(model, change_header=forget)
    assert load_scorer(model).fitted_rows is None
    assert predict_notes(run, "prod.csv") == []


def test_rows_that_are_common_are_no_rows_of_the_fit():
    rng = np.random.default_rng(0)
    X, U = rng.integers(0, 2, (200, 3)) + 0.0, rng.integers(0, 2, (100, 3)) + 0.0
    known = FittedRows.of(U, X)
    assert known.note(known.compare(X)) is None


def test_a_few_marks_tell_about_many_rows(monkeypatch):
    monkeypatch.setattr(fitted_rows, "_MOST_MARKS", 64)
    rng = np.random.default_rng(0)
    U, others = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))
    known = FittedRows.of(U, others)
    assert len(known.marks) == 64
    assert known.compare(U).tolist() == [64, 64]
    assert known.compare(others)[1] == 0
    half = known.compare(U) + known.compare(others)
    assert known.note(half).startswith("about ")
    share = int(known.note(half).split("%")[0].split()[1])
    assert abs(share - 50) < 10


def test_missing_values_are_equal_ones(tmp_path):
    rows = DEPLOYED.copy()
    rows.loc[::3, "x"] = np.nan
    model = TabularModel(LACForestClassifier(3, theta=0.5, random_state=0))
    model.fit(LABELLED, "kind", rows).save(tmp_path / "m.lac")
    again = load_scorer(tmp_path / "m.lac")
    n_compared, n_found = again.fitted_rows.compare(again.coder.encode(rows))
    assert n_compared == n_found == len(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"marks": None}, "marks of fitted rows is not an array"),
        ({"marks": {"dtype": "<u8", "shape": [0], "bytes": ""}}, "not in ascending order"),
        ({"is_whole": 1}, "whether its marks of fitted rows are all of them"),
        ({"coincidence": 2}, "its fitted rows have no valid coincidence"),
    ],
)
@pytest.mark.parametrize("load", [load_scorer, TabularModel.load])
def test_a_damaged_file_is_refused(model, change, message, load):
    rewrite(model, change_header=lambda h: h["attachment"]["fitted_rows"].update(change))
    with pytest.raises(ModelFileError, match=message):
        load(model)
