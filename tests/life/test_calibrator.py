"""NoveltyCalibrator on data where the right answer is known."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from separate_classes import draw

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.baselines import EULACClassifier
from lacforest.calibration import NoveltyCalibrator
from lacforest.calibration.files import decode_calibrator, encode_calibrator
from lacforest.calibration.scores import label_rows, ranking_score


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    return draw(rng, a=60, b=60), draw(rng, a=40, b=40, c=40), draw(rng, a=50, b=50, c=40)


@pytest.fixture(scope="module")
def calibrator(tables):
    (X, y), (U, _), _ = tables
    forest = LACExtraTreesClassifier(20, n_explorers=20, theta=0.3, random_state=0)
    return NoveltyCalibrator(forest, calibration_size=40, random_state=0).fit(X, y, X_unlabeled=U)


def test_calibration_rows_are_held_out_by_class(calibrator, tables):
    (X, _), _, _ = tables
    assert len(calibrator.calibration_scores_) == 40
    rows = calibrator._rows
    assert sorted(np.unique(rows.y, return_counts=True)[1]) == [40, 40]
    assert len(rows.X) + len(rows.X_calibration) == len(X)
    assert not set(map(tuple, rows.X)) & set(map(tuple, rows.X_calibration))


def test_a_class_of_one_row_stays_in_the_fit(tables):
    (X, y), (U, _), _ = tables
    y = np.where(np.arange(len(y)) == 7, "single", y)
    forest = LACForestClassifier(2, theta=0.3, random_state=0)
    fitted = NoveltyCalibrator(forest, random_state=0).fit(X, y, X_unlabeled=U)
    assert (fitted._rows.y == "single").sum() == 1


class _Votes:
    """A fitted classifier whose scores and probabilities are given."""

    classes_, new_class_index_ = np.array(["<new>", "a", "b"]), 0
    unlabeled_score_ = None

    def predict_proba(self, X):
        return np.array([[1.0, 0.0, 0.0], [0.4, 0.1, 0.5], [0.2, 0.7, 0.1]])

    def novelty_score(self, X, stage="final"):
        return np.array([0.5, 0.5, 0.7]) if stage == "final" else np.array([0.3, 0.2, 0.1])


def test_labels_by_a_rule_of_ones_own():
    is_new = np.array([False, False, True])
    # The first row has no vote for a known class, and is not called new all the same.
    assert label_rows(_Votes(), None, is_new).tolist() == ["a", "b", "<new>"]


def test_ties_are_broken_by_the_exploration_score():
    assert np.argsort(ranking_score(_Votes(), None)).tolist() == [1, 0, 2]


def test_new_rows_are_flagged_and_others_named(calibrator, tables):
    X, y = tables[2]
    predicted = calibrator.set_params(max_fpr=0.05).predict(X)
    calibrator.set_params(max_fpr=None)
    assert (predicted[y == "c"] == "<new>").mean() > 0.9
    assert (predicted == y)[y != "c"].mean() > 0.85
    assert_array_equal(predicted == "<new>", calibrator.p_value(X) <= 2 / 41)


def test_select(calibrator, tables):
    X, y = tables[2]
    found = calibrator.select(X, fdr=0.2)
    assert (found.mask & (y == "c")).sum() >= 36
    assert found.p_values[found.mask].max() == found.threshold < found.p_values[~found.mask].min()
    assert 0 < found.estimated_fdr <= 0.2
    assert "rows selected at a false discovery rate of 0.2" in str(found)


@pytest.mark.parametrize("n_rows", [1, 7, 50, 140])
def test_a_budget_is_spent_exactly(calibrator, tables, n_rows):
    found = calibrator.select(tables[2][0], n_rows=n_rows)
    assert found.mask.sum() == len(found.rows) == n_rows


def test_rows_of_the_fit_are_refused(calibrator, tables):
    U = tables[1][0]
    for judge in (calibrator.p_value, lambda X: calibrator.select(X, fdr=0.1)):
        with pytest.raises(ValueError, match="120 of 120 rows are among the unlabelled rows"):
            judge(U)
    with pytest.raises(ValueError, match="use select_unlabeled"):
        calibrator.p_value(U[:1])


def test_a_few_equal_rows_are_no_rows_of_the_fit(calibrator, tables):
    """Tables of whole numbers hold some rows twice; 40 calibration rows cannot show how many."""
    fresh, U = tables[2][0], tables[1][0]
    chance = np.concatenate([fresh, U[:5]])
    assert calibrator.p_value(chance).shape == (145,)
    with pytest.raises(ValueError, match="30 of 170 rows are among the unlabelled rows"):
        calibrator.p_value(np.concatenate([fresh, U[:30]]))


def test_rows_of_the_fit_are_judged_by_the_other_half(calibrator, tables):
    _, (U, z), (fresh, _) = tables
    found = calibrator.select_unlabeled(fdr=0.2)
    assert (found.mask & (z == "c")).sum() >= 36
    scores, p_values, is_fitted = calibrator.judge(np.concatenate([fresh[:3], U]))
    assert_array_equal(is_fitted, np.arange(123) >= 3)
    assert_array_equal(p_values[3:], found.p_values)
    assert_array_equal(scores[3:], calibrator.unlabeled_scores())
    assert_array_equal(p_values[:3], calibrator.p_value(fresh[:3]))
    in_sample = calibrator.estimator_.novelty_score(U)
    assert not np.allclose(scores[3:], in_sample)


def test_probabilities_follow_the_score(calibrator, tables):
    X, y = tables[2]
    probability = calibrator.new_probability(X)
    assert probability[y == "c"].mean() > 0.8 > 0.2 > probability[y != "c"].mean()
    order = np.argsort(ranking_score(calibrator.estimator_, X), kind="stable")
    assert (np.diff(probability[order]) >= 0).all()


def test_a_file_keeps_it(calibrator, tables):
    stored = encode_calibrator(calibrator)
    again = decode_calibrator(stored, calibrator.estimator_)
    X = np.concatenate([tables[2][0], tables[1][0]])
    for mine, theirs in zip(again.judge(X), calibrator.judge(X), strict=True):
        assert_array_equal(mine, theirs)
    with pytest.raises(ValueError, match="among the unlabelled rows"):
        again.p_value(tables[1][0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": None}, "scores is not an array"),
        ({"coincidence": 2}, "no valid coincidence"),
        ({"fitted_rows": {"dtype": "<u8", "shape": [0], "bytes": ""}}, "one score per"),
        ({"fold_known": {"dtype": "<f8", "shape": [0], "bytes": ""}}, "no scores by halves"),
        ({"scores": {"dtype": "<f4", "shape": [0], "bytes": ""}}, "another type or shape"),
    ],
)
def test_a_damaged_file_is_refused(calibrator, change, message):
    with pytest.raises(ValueError, match=message):
        decode_calibrator(encode_calibrator(calibrator) | change, calibrator.estimator_)


def test_the_same_seed_gives_the_same_result(tables):
    (X, y), (U, _), (fresh, _) = tables
    forest = LACForestClassifier(10, theta=0.3, random_state=0)
    found = [
        NoveltyCalibrator(forest, random_state=3).fit(X, y, X_unlabeled=U).p_value(fresh)
        for _ in range(2)
    ]
    assert_array_equal(*found)


def test_equal_rows_are_allowed_where_they_are_common():
    rng = np.random.default_rng(0)
    X, U = rng.integers(0, 2, (80, 2)).astype(float), rng.integers(0, 2, (80, 2)).astype(float)
    y = np.repeat([0, 1], 40)
    forest = LACForestClassifier(3, theta=0.3, random_state=0)
    calibrator = NoveltyCalibrator(forest, random_state=0).fit(X, y, X_unlabeled=U)
    assert len(calibrator.p_value(rng.integers(0, 2, (30, 2)).astype(float))) == 30


def test_methods_without_probabilities_have_p_values(tables):
    (X, y), (U, _), (fresh, z) = tables
    method = EULACClassifier(theta=0.3, random_state=0)
    calibrator = NoveltyCalibrator(method, max_fpr=0.1, random_state=0).fit(X, y, X_unlabeled=U)
    assert (calibrator.p_value(fresh)[z == "c"] <= 0.1).mean() > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_fpr": 1.5}, "max_fpr must lie strictly between 0 and 1, got 1.5"),
        ({"confidence": 0.9}, "confidence is about max_fpr: give max_fpr too"),
        ({"calibration_size": 1.0}, "calibration_size must lie strictly between 0 and 1"),
        ({"calibration_size": 1}, "cannot be held out by class"),
    ],
)
def test_bad_parameters(tables, parameters, message):
    (X, y), (U, _), _ = tables
    forest = LACForestClassifier(2, theta=0.3, random_state=0)
    with pytest.raises(ValueError, match=re.escape(message)):
        NoveltyCalibrator(forest, **parameters).fit(X, y, X_unlabeled=U)


def test_bad_calls(calibrator, tables):
    X = tables[2][0]
    with pytest.raises(ValueError, match="needs at least 230 calibration rows, got 40"):
        calibrator.threshold(0.01, 0.9)
    with pytest.raises(ValueError, match="predict needs max_fpr"):
        calibrator.predict(X)
    with pytest.raises(ValueError, match="either fdr or n_rows"):
        calibrator.select(X)
    with pytest.raises(ValueError, match="n_rows=999 rows cannot be selected from 140"):
        calibrator.select(X, n_rows=999)
    with pytest.warns(UserWarning, match="needs some 333 calibration rows, but there are 40"):
        calibrator.select(X, fdr=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda labels: labels[:-1], "y has 119 labels, but X has 120 rows"),
        (lambda labels: np.append(labels, "a"), "y has 121 labels, but X has 120 rows"),
        (lambda labels: [None, *labels[1:]], "y contains NaN: None among the labels"),
        (lambda labels: np.ma.masked_array(labels, mask=np.arange(120) == 4), "entry 4 is masked"),
    ],
    ids=["few", "many", "missing", "masked"],
)
def test_labels_that_do_not_belong_to_the_rows(tables, change, message):
    (X, y), (U, _), _ = tables
    with pytest.raises(ValueError, match=message):
        NoveltyCalibrator(LACForestClassifier(2, theta=0.3)).fit(X, change(y), X_unlabeled=U)


@pytest.mark.parametrize("form", [sparse.coo_array, sparse.bsr_matrix])
def test_every_sparse_format_has_rows(tables, form):
    (X, y), (U, _), _ = tables
    forest = LACForestClassifier(2, theta=0.3, random_state=0)
    plain = NoveltyCalibrator(forest, random_state=0).fit(X, y, X_unlabeled=U)
    found = NoveltyCalibrator(forest, random_state=0).fit(form(X), y, X_unlabeled=form(U))
    assert_array_equal(found.unlabeled_scores(), plain.unlabeled_scores())


def test_columns_of_text(tables):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    (X, y), (U, _), (fresh, _) = tables
    X, U, fresh = (
        pandas.DataFrame(rows).add_prefix("x").assign(city=rng.choice(["Bern", "Oslo"], len(rows)))
        for rows in (X, U, fresh)
    )
    U.loc[3, "city"] = None
    forest = LACForestClassifier(5, theta=0.3, random_state=0, categorical_features=["city"])
    calibrator = NoveltyCalibrator(forest, random_state=0).fit(X, y, X_unlabeled=U)
    assert calibrator.judge(U)[2].all()
    assert calibrator.judge(U.astype({"city": "category"}))[2].all()
    other = U.assign(city=U["city"].replace({"Bern": "Oslo", "Oslo": "Bern"}))
    assert calibrator.judge(other)[2].sum() == 1  # the row without a city
    assert not calibrator.judge(fresh)[2].any()


def test_marked_rows_are_refused(tables):
    (X, y), (U, _), _ = tables
    forest = LACForestClassifier(2, unlabeled_label="?")
    with pytest.raises(ValueError, match="pass unlabelled rows as X_unlabeled"):
        NoveltyCalibrator(forest).fit(X, y, X_unlabeled=U)
