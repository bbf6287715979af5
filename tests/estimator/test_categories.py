"""Columns of categories in both forests: what is accepted, learned, saved, explained, refused."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._input.categories import MOST_CATEGORIES
from lacforest._model.arrays import split_features
from lacforest._model.container import ModelFileError
from lacforest.export import to_sklearn_like
from lacforest.inspection import plot_tree, shap_values

pandas = pytest.importorskip("pandas")

every_forest = pytest.mark.parametrize("cls", [LACForestClassifier, LACExtraTreesClassifier])
COLORS = ["red", "green", "blue", "black", "white", "grey"]


def make_frame(n_rows, seed=0, dtype="category"):
    """The class is a matter of colour alone, in an order that the alphabet does not have."""
    rng = np.random.default_rng(seed)
    color = rng.integers(0, 6, n_rows)
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "color": pandas.Series(np.array(COLORS, dtype=object)[color]).astype(dtype),
        }
    )
    return frame, np.array([0, 1, 2, 0, 1, 2])[color]


def fit(cls, **parameters):
    X, y = make_frame(150)
    deployed, _ = make_frame(200, seed=1)
    known = y < 2
    parameters = {"n_estimators": 20, "theta": 1 / 3, "random_state": 0} | parameters
    return cls(**parameters).fit(X[known], y[known], X_unlabeled=deployed)


def truth(y):
    return np.where(y < 2, y, -1)


# ------------------------------------------------------------------ learning


@every_forest
def test_a_column_of_type_category_is_learned_by_sets(cls):
    forest = fit(cls)
    X, y = make_frame(300, seed=2)
    assert (forest.predict(X) == truth(y)).mean() > 0.9
    assert forest.is_categorical_.tolist() == [False, True]
    assert forest.categories_[0] is None
    assert forest.categories_[1].tolist() == sorted(COLORS)


@every_forest
@pytest.mark.parametrize("chosen", [["color"], [1], [False, True], np.array([False, True])])
def test_columns_may_be_named(cls, chosen):
    X, y = make_frame(150, dtype=object)
    deployed, _ = make_frame(200, seed=1, dtype=object)
    forest = cls(20, theta=1 / 3, categorical_features=chosen, random_state=0)
    forest.fit(X[y < 2], y[y < 2], X_unlabeled=deployed)
    queries, _ = make_frame(50, seed=3)
    assert_array_equal(forest.predict_proba(queries), fit(cls).predict_proba(queries))


@every_forest
def test_codes_names_and_arrays_give_the_same_forest(cls):
    X, y = make_frame(150)
    deployed, _ = make_frame(200, seed=1)

    def coded(frame):
        codes = pandas.Categorical(frame["color"], categories=sorted(COLORS)).codes
        return np.column_stack([frame["size"], codes])

    forest = cls(20, theta=1 / 3, categorical_features=[1], random_state=0)
    forest.fit(coded(X)[y < 2], y[y < 2], X_unlabeled=coded(deployed))
    assert_array_equal(forest.predict_proba(coded(X)), fit(cls).predict_proba(X))
    of_objects = cls(20, theta=1 / 3, categorical_features=[1], random_state=0)
    of_objects.fit(X.to_numpy()[y < 2], y[y < 2], X_unlabeled=deployed.to_numpy().tolist())
    assert_array_equal(of_objects.predict_proba(X.to_numpy()), fit(cls).predict_proba(X))


def test_the_frame_of_the_user_stays_as_it_is():
    X, y = make_frame(50)
    before = X.copy()
    LACForestClassifier(3).fit(X, y).predict(X)
    pandas.testing.assert_frame_equal(X, before)


def test_without_categories_nothing_is_set():
    X, y = make_frame(50)
    forest = LACForestClassifier(3).fit(X[["size"]], y)
    assert forest.is_categorical_ is None
    assert forest.categories_ == (None,)
    with pytest.raises(ValueError, match="columns that are not numbers"):
        LACForestClassifier(3, categorical_features=None).fit(X, y)


@every_forest
def test_a_category_that_fit_has_not_seen_is_missing(cls):
    forest = fit(cls)
    X, _ = make_frame(20, seed=5)
    unseen, missing = X.copy(), X.copy()
    unseen["color"] = "purple"
    missing["color"] = None
    assert_array_equal(forest.predict_proba(unseen), forest.predict_proba(missing))


def test_a_column_that_is_always_missing_is_no_problem(tmp_path):
    X, y = make_frame(60)
    X["color"] = pandas.Series([None] * 60, dtype="category")
    forest = LACForestClassifier(3, random_state=0).fit(X, y)
    assert len(forest.categories_[1]) == 0
    forest.save(tmp_path / "forest.lac")
    loaded = LACForestClassifier.load(tmp_path / "forest.lac")
    assert_array_equal(loaded.predict_proba(X), forest.predict_proba(X))


def test_control_rows_have_categories():
    X, y = make_frame(150)
    deployed, _ = make_frame(200, seed=1)
    more, labels = make_frame(80, seed=4)
    forest = LACForestClassifier(10, random_state=0)
    known = y < 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(
            X[known],
            y[known],
            X_unlabeled=deployed,
            control=(more[labels < 2], labels[labels < 2]),
        )
    assert 0.1 < forest.theta_ < 0.6


def test_many_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3_000, 4_000)
    y = (codes * 7919 % 3_000) // 1_500
    X = pandas.DataFrame({"c": pandas.Categorical([f"v{code}" for code in codes])})
    forest = LACForestClassifier(5, random_state=0).fit(X, y)
    assert (forest.predict(X) == y).mean() > 0.999


# ------------------------------------------------------------------ files


@every_forest
@pytest.mark.parametrize("compress", [True, False])
def test_files_keep_categories(cls, compress, tmp_path):
    forest = fit(cls, categorical_features=["color"])
    path = tmp_path / "forest.lac"
    forest.save(path, compress=compress)
    loaded = cls.load(path, mmap=not compress)
    queries, _ = make_frame(50, seed=3)
    queries.loc[0, "color"] = None
    assert_array_equal(loaded.predict_proba(queries), forest.predict_proba(queries))
    assert_array_equal(
        loaded.novelty_score(queries, stage="exploration"),
        forest.novelty_score(queries, stage="exploration"),
    )
    assert loaded.categorical_features == ["color"]
    assert loaded.categories_[1].tolist() == forest.categories_[1].tolist()
    copied = pickle.loads(pickle.dumps(forest))
    assert_array_equal(copied.predict_proba(queries), forest.predict_proba(queries))
    adapted = forest.adapt(queries)
    adapted.save(path)
    assert_array_equal(cls.load(path).predict_proba(queries), adapted.predict_proba(queries))


def test_a_forged_file_is_refused(tmp_path):
    for change in ("place", "size", "features"):
        forest = fit(LACForestClassifier)
        arrays = forest._forest
        on_color = split_features(arrays.nodes["feature"]) == 1
        inner = np.flatnonzero((arrays.nodes["left"] >= 0) & on_color)
        if change == "place":
            arrays.nodes["threshold"][inner[0]] = len(arrays.sets.words)
        elif change == "size":
            arrays.sets.words[:] |= np.uint64(1 << 60)
        else:
            forest._categories = type(forest._categories)((None, None, np.array([1.0])))
        forest.save(tmp_path / "forged.lac")
        with pytest.raises(ModelFileError, match="categories"):
            LACForestClassifier.load(tmp_path / "forged.lac")


# ------------------------------------------------------------------ rows out of bag


def test_rows_out_of_bag_have_categories():
    X, y = make_frame(200)
    forest = LACForestClassifier(
        25, bootstrap=True, oob_score=True, max_features=None, random_state=0
    )
    assert forest.fit(X, y).oob_score_ == 1.0


# ------------------------------------------------------------------ looking inside


@every_forest
def test_shap_values_add_up(cls):
    forest = fit(cls)
    X, _ = make_frame(40, seed=6)
    X.loc[::7, "color"] = None
    values, base = shap_values(forest, X)
    # Values are rounded to single precision.
    assert_allclose(base + values.sum(axis=1), forest.novelty_score(X), rtol=0, atol=1e-6)
    assert np.abs(values[:, 1]).mean() > 2 * np.abs(values[:, 0]).mean()


def test_shap_values_are_those_of_one_column_per_category_of_a_stump():
    """With a single split, the set is one condition: the same as a column of its truth."""
    X, y = make_frame(80)
    forest = LACForestClassifier(1, max_depth=1, max_features=None, random_state=0).fit(X, y)
    (view,) = forest.estimators_
    codes = view.category_set(0)
    inside = np.isin(X["color"], forest.categories_[1][codes])
    values, base = shap_values(forest, X, output="all")
    expected = forest.predict_proba(X) - base
    # Two roundings to single precision of numbers below 1.
    assert_allclose(values[:, 1], expected, rtol=0, atol=2**-24)
    assert 0 < inside.sum() < len(X)


def test_text_names_categories():
    forest = fit(LACForestClassifier, max_features=None)
    text = forest.export_text()
    for part in ("color in {", "color not in {", ", or missing"):
        assert part in text
    assert any(color in text for color in COLORS)
    without_names = forest.estimators_[0].export_text()
    assert "feature_1 in {" in without_names


def test_plots_name_categories():
    plt = pytest.importorskip("matplotlib.pyplot")
    boxes = plot_tree(fit(LACForestClassifier, max_features=None), max_depth=2)
    assert any("color in {" in box.get_text() or "not in {" in box.get_text() for box in boxes)
    plt.close("all")


def test_arrays_of_thresholds_cannot_express_sets():
    with pytest.raises(ValueError, match="split categories by sets"):
        to_sklearn_like(fit(LACForestClassifier))


# ------------------------------------------------------------------ bad input


def refused(X, y, error, match, **parameters):
    forest = LACForestClassifier(2, **parameters)
    with pytest.raises(error, match=match):
        forest.fit(X, y)
    assert not hasattr(forest, "_forest")


@pytest.mark.parametrize(
    ("chosen", "match"),
    [
        (["colour"], "columns that X does not have: 'colour'"),
        ([2], "names column 2, but X has columns 0 to 1"),
        ([-1], "names column -1"),
        ([True], "a mask of 1 columns, but X has 2"),
        ("colour", 'must be "from_dtype", None, or a list'),
        ([0.5], "a vector of names, places or booleans"),
        ([[1]], "a vector of names, places or booleans"),
    ],
)
def test_columns_that_are_not_there(chosen, match):
    refused(*make_frame(20), ValueError, match, categorical_features=chosen)


def test_names_need_a_frame():
    X, y = make_frame(20)
    refused(
        X[["size"]].to_numpy(),
        y,
        ValueError,
        "not a frame with names",
        categorical_features=["size"],
    )


@pytest.mark.parametrize(
    ("column", "match"),
    [
        ([-1.0, 0.0, 1.0, 2.0], "column 0 of X is categorical and holds -1"),
        ([0.5, 0.0, 1.0, 2.0], "holds 0.5: codes of categories are whole numbers from 0 on"),
        ([np.inf, 0.0, 1.0, 2.0], "infinite category"),
        ([2.0**60, 0.0, 1.0, 2.0], r"holds 1.15292e\+18"),
    ],
)
def test_codes_that_are_none(column, match):
    refused(np.array([column]).T, [0, 1, 0, 1], ValueError, match, categorical_features=[0])


def test_negative_numbers_of_type_category_are_categories():
    X = pandas.DataFrame({"c": pandas.Categorical([-1, 0.5, 3, -1])})
    forest = LACForestClassifier(2, random_state=0).fit(X, [0, 1, 0, 1])
    assert forest.categories_[0].tolist() == [-1, 0.5, 3]


def test_categories_of_several_types():
    X = pandas.DataFrame({"c": pandas.Categorical(["a", 1, "b", 2])})
    refused(X, [0, 1, 0, 1], ValueError, "column 'c' of X has categories that are neither all text")


def test_too_many_categories():
    n_rows = MOST_CATEGORIES + 1
    X = np.arange(n_rows, dtype=float)[:, None]
    refused(
        X,
        np.arange(n_rows) % 2,
        ValueError,
        "has 65536 categories, and at most 65535",
        categorical_features=[0],
    )


def test_sparse_tables():
    refused(
        sparse.csr_array(np.eye(4)),
        [0, 1, 0, 1],
        TypeError,
        "X is sparse, and categorical",
        categorical_features=[0],
    )


@every_forest
def test_sparse_tables_are_no_ranks(cls):
    X = np.column_stack([np.arange(60) % 3 * 10, np.arange(60)])
    forest = cls(2, theta=0.5, categorical_features=[0]).fit(X, X[:, 0] // 20, X_unlabeled=X)
    for predict in (forest.predict_proba, forest.apply, forest.novelty_score):
        with pytest.raises(TypeError, match="X is sparse, and categorical_features need a dense"):
            predict(sparse.csr_array(X))


def test_kinds_of_categories_must_agree():
    X, y = make_frame(30)
    numbers = X.assign(color=np.arange(30) % 6)
    numbers["color"] = numbers["color"].astype("category")
    forest = LACForestClassifier(2, theta=0.5)
    with pytest.raises(ValueError, match="of X_unlabeled holds numbers, but column 'color'"):
        forest.fit(X, y, X_unlabeled=numbers)
    forest.fit(X, y)
    with pytest.raises(ValueError, match="column 'color' of X holds numbers, but its categories"):
        forest.predict(numbers)


def test_other_columns_at_prediction():
    X, _ = make_frame(30)
    forest = fit(LACForestClassifier)
    with pytest.raises(ValueError, match="X has 1 features, but LACForestClassifier is expecting"):
        forest.predict(X[["color"]])
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(X[["color", "size"]])


def test_parameters_are_kept_by_clone():
    forest = LACForestClassifier(categorical_features=["color"])
    assert clone(forest).categorical_features == ["color"]


def test_polars_frames():
    polars = pytest.importorskip("polars")
    X, y = make_frame(60)
    columns = {"size": X["size"].to_numpy(), "color": X["color"].astype(str).to_list()}
    frame = polars.DataFrame(columns).with_columns(polars.col("color").cast(polars.Categorical))
    forest = LACForestClassifier(5, random_state=0).fit(frame, y)
    expected = LACForestClassifier(5, random_state=0).fit(X, y)
    assert_array_equal(forest.predict_proba(frame), expected.predict_proba(X))
