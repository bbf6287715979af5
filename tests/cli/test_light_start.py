"""Commands that only apply a model start without scikit-learn, and score as it would."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from container_files import rewrite
from sklearn.base import clone
from two_tables import DEPLOYED, LABELLED, fit_words

import lacforest.ensemble
from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.container import ModelFileError
from lacforest._model.frozen import FrozenForest
from lacforest.discovery import NewClassGroups
from lacforest.ensemble.registry import FORESTS
from lacforest.mixture import BestBin
from lacforest.tabular import TableCoder, TabularModel, scorer
from lacforest.tabular.scorer import TableScorer, load_scorer

HEAVY = {"sklearn", "scipy", "joblib"}
FORMS = {
    "forest": LACForestClassifier(n_estimators=7, theta=0.5, random_state=0),
    "extra trees": LACExtraTreesClassifier(n_estimators=7, theta=0.5, random_state=0),
    "estimator of theta": LACForestClassifier(n_estimators=7, theta=BestBin(), random_state=0),
    "new label": LACForestClassifier(n_estimators=7, theta=0.5, new_label="a", random_state=0),
}


def heavy_modules(*words):
    """What is imported of scikit-learn and the like by a command in a process of its own."""
    code = (
        "import json, sys; from lacforest.cli import main; code = main(sys.argv[1:]); "
        "print(json.dumps([code, *sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
    )
    code, *modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return HEAVY & set(modules)


def odd_rows():
    """Rows with missing values and a city that no fit has seen."""
    rows = DEPLOYED.copy()
    rows.loc[3:9, "x"] = np.nan
    rows["city"] = rows["city"].astype(object)
    rows.loc[12:15, "city"] = "Graz"
    rows.loc[20:22, "city"] = None
    return rows


def fitted(forest, categories="native"):
    return TabularModel(clone(forest), TableCoder(categories)).fit(LABELLED, "kind", DEPLOYED)


def check_same_scores(path, rows):
    light, whole = load_scorer(path), TabularModel.load(path)
    assert type(light) is TableScorer
    assert type(light.forest) is FrozenForest
    pd.testing.assert_frame_equal(light.predict(rows), whole.predict(rows), check_exact=True)
    assert light.output_columns == whole.output_columns
    assert (light.target, light.version, light.notes) == (whole.target, whole.version, whole.notes)
    return light, whole


# ---------------------------------------------------------------------------- imports


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predict_starts_without_scikit_learn(run, folder, suffix):
    run(*fit_words("--theta", "auto"))  # so that the file names an estimator of theta
    DEPLOYED.to_parquet("prod.parquet")
    words = ("predict", "model.lac", f"prod.{suffix}", "-o", f"s.{suffix}", "--keep", "city")
    assert heavy_modules(*words) == set()
    light = (folder / f"s.{suffix}").read_bytes()
    # With --explain the ordinary model is loaded; its other columns are the same.
    assert run(*words[:-3], "again.csv", "--keep", "city", "--explain", 1).code == 0
    again = pd.read_csv("again.csv").drop(columns="reasons")
    if suffix == "csv":
        again.to_csv("again.csv", index=False, lineterminator="\n")
        assert (folder / "again.csv").read_bytes() == light


def test_inspect_starts_without_scikit_learn(model):
    assert heavy_modules("inspect", model) == set()


@pytest.mark.parametrize("more", [["--explain", "1"], ["--budget", "3"]], ids=["explain", "rule"])
def test_other_options_bring_it_in(run, folder, more):
    run(*fit_words("--calibrate"))
    assert "sklearn" in heavy_modules("predict", "model.lac", "prod.csv", "-o", "s.csv", *more)


# ---------------------------------------------------------------------------- same scores


@pytest.mark.parametrize("categories", ["native", "ordinal", "onehot"])
@pytest.mark.parametrize("form", FORMS)
def test_scores_are_the_same(tmp_path, form, categories):
    path = tmp_path / "model.lac"
    fitted(FORMS[form], categories).save(path)
    light, whole = check_same_scores(path, odd_rows())
    assert light.forest.new_class_index_ == whole.forest.new_class_index_
    tree, other = light.forest.estimators_[0], whole.forest.estimators_[0]
    np.testing.assert_array_equal(tree.impurity, other.impurity)


def test_scores_of_a_forest_adapted_to_a_batch_are_the_same(tmp_path):
    model = fitted(FORMS["forest"])
    model.forest = model.forest.adapt(model.coder.encode(DEPLOYED[:50]))
    assert model.forest._class_factors is not None
    model.save(tmp_path / "model.lac")
    check_same_scores(tmp_path / "model.lac", odd_rows())


@pytest.mark.parametrize("with_names", [False, True])
@pytest.mark.parametrize("has_new", [False, True])
def test_scores_of_a_forest_alone_are_the_same(tmp_path, with_names, has_new):
    X, new = LABELLED[["x", "y"]], DEPLOYED[["x", "y"]]
    if not with_names:
        X, new = X.to_numpy(), new.to_numpy()
    forest = LACForestClassifier(n_estimators=5, theta=0.5, random_state=0)
    forest.fit(X, LABELLED["kind"], X_unlabeled=new if has_new else None)
    forest.save(tmp_path / "model.lac")
    rows = DEPLOYED.rename(columns={} if with_names else {"x": "X0", "y": "X1"})
    light, _ = check_same_scores(tmp_path / "model.lac", rows)
    assert "without a column coding" in light.notes[0]


# ---------------------------------------------------------------------------- other files


def test_calibrated_models_and_groups_need_the_whole_model(tmp_path):
    model = fitted(FORMS["forest"])
    X = model.coder.encode(LABELLED)
    model.groups = NewClassGroups().fit(
        model.coder.encode(DEPLOYED)[40:], X_labeled=X, y_labeled=LABELLED["kind"]
    )
    model.save(tmp_path / "groups.lac")
    assert load_scorer(tmp_path / "groups.lac").groups is not None
    calibrated = TabularModel(clone(FORMS["forest"]), calibration_size=0.3)
    calibrated.fit(LABELLED, "kind", DEPLOYED).save(tmp_path / "calibrated.lac")
    loaded = load_scorer(tmp_path / "calibrated.lac")
    assert isinstance(loaded, TabularModel)
    assert loaded.calibrator is not None


def test_every_forest_may_be_in_a_file():
    assert set(scorer._CLASSES) == {forest.__name__ for forest in FORESTS.values()}
    assert all(hasattr(lacforest.ensemble, name) for name in scorer._CLASSES)


DAMAGE = {
    "n_jobs": lambda header: header["parameters"].update(n_jobs=0),
    "it contains a BestBin, not a forest": lambda header: header.update(estimator="BestBin"),
    "theta is invalid": lambda header: header.update(theta=2.0),
    "the number of labelled rows is invalid": lambda header: header.update(n_labeled=0),
}


@pytest.mark.parametrize("load", [load_scorer, TabularModel.load])
@pytest.mark.parametrize("message", DAMAGE)
def test_damaged_files_are_refused_alike(tmp_path, load, message):
    path = tmp_path / "model.lac"
    fitted(FORMS["forest"], "ordinal").forest.save(path, compress=False)
    assert load(path).forest.n_labeled_ == len(LABELLED)
    rewrite(path, change_header=DAMAGE[message])
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_predict_reports_missing_columns_and_bad_values_in_one_run(run, model):
    table = DEPLOYED.drop(columns="city").astype({"x": object})
    table.loc[3, "x"] = "tall"
    table.to_csv("prod.csv", index=False)
    outcome = run("predict", "model.lac", "prod.csv", "-o", "s.csv")
    assert (outcome.code, outcome.new_files) == (2, [])
    assert outcome.err.splitlines() == [
        "lacforest: 2 problems:",
        "- prod.csv has no column 'city'; it has 'x', 'y', 'member'",
        "- prod.csv, line 5: 'tall' in column 'x', which must contain numbers",
    ]
