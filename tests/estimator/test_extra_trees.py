"""LACExtraTreesClassifier under the contract of LACForestClassifier."""

import pickle
from dataclasses import fields

import joblib
import numpy as np
import pytest
from container_files import rewrite
from forests import assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from two_blobs import U, X, assert_same_vars, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.arrays import ForestArrays
from lacforest._model.container import ModelFileError
from lacforest.inspection import new_versus_known_importances

REFINEMENTS = ["both", "hard", "sampled", "deepen"]
SMALL = {"n_estimators": 6, "n_explorers": 5, "theta": 0.5, "random_state": 0}


def small_trees(**parameters):
    return LACExtraTreesClassifier(**SMALL | parameters)


def fitted_trees(**parameters):
    return small_trees(**parameters).fit(X, y, X_unlabeled=U)


def assert_same_trees(one, other):
    assert_same_forest(one, other)
    assert (one._explored is None) == (other._explored is None)
    if one._explored is not None:
        for field in fields(ForestArrays):
            assert_array_equal(
                getattr(one._explored, field.name), getattr(other._explored, field.name)
            )


# ---------------------------------------------------------------------------- what it learns


@pytest.mark.parametrize("refinement", REFINEMENTS)
def test_it_finds_the_third_blob(refinement):
    trees = fitted_trees(refinement=refinement, n_estimators=50, n_explorers=50)
    assert trees.predict([[0, 0, 0], [4, 0, 0], [2, 6, 0]]).tolist() == [0, 1, -1]
    assert trees.pseudo_labels_[40:].mean() > 0.9
    assert_allclose(trees.predict_proba(U).sum(axis=1), 1.0)
    assert_array_equal(trees.novelty_score(U), trees.predict_proba(U)[:, trees.new_class_index_])


def test_exploration_scores_of_training_rows_are_those_of_the_fit():
    trees = fitted_trees()
    assert_allclose(trees.novelty_score(U, "exploration"), trees.unlabeled_score_, atol=1e-12)


@pytest.mark.parametrize(("given", "same_as"), [("auto", 3), (None, 3), (0.5, 1), ("sqrt", 1)])
def test_features_of_step_one(given, same_as):
    # Step II draws one feature of three; four times as many exceed the number of features.
    assert_same_trees(
        fitted_trees(max_explored_features=given), fitted_trees(max_explored_features=same_as)
    )


@pytest.mark.parametrize(
    ("refinement", "n_trees"), [("both", 6), ("hard", 6), ("sampled", 6), ("deepen", 5)]
)
def test_how_many_trees_predict(refinement, n_trees):
    trees = fitted_trees(refinement=refinement)
    assert len(trees.estimators_) == n_trees
    phases = set(np.concatenate([tree.phase for tree in trees.estimators_]).tolist())
    assert phases == ({1, 2} if refinement == "deepen" else {2})


def test_one_tree_is_enough_for_both_kinds():
    trees = fitted_trees(n_estimators=1)
    assert len(trees.estimators_) == 1
    assert_same_trees(trees, fitted_trees(n_estimators=1, refinement="hard").set_params())


def test_hard_trees_come_first():
    both, hard = fitted_trees(), fitted_trees(refinement="hard")
    for i in range(3):
        assert_array_equal(both.estimators_[i].threshold, hard.estimators_[i].threshold)


def test_without_unlabelled_rows_it_is_a_plain_forest():
    trees = small_trees(n_estimators=30).fit(X, y)
    assert trees.classes_.tolist() == [0, 1]
    assert trees.theta_ is None
    assert (trees.predict(X) == y).all()
    with pytest.raises(ValueError, match="without unlabelled rows"):
        trees.novelty_score(X)


def test_importances_of_both_kinds():
    trees = fitted_trees(n_estimators=50, n_explorers=50)
    assert_allclose(trees.feature_importances_.sum(), 1.0)
    # Only the second feature separates new from known rows; the third is noise.
    new = new_versus_known_importances(trees)
    assert new.argmax() == 1
    assert new[2] < 0.2


@pytest.mark.parametrize("theta", [0.001, 0.999])
@pytest.mark.parametrize("refinement", REFINEMENTS)
def test_theta_near_its_ends(theta, refinement):
    trees = fitted_trees(theta=theta, refinement=refinement, n_estimators=20)
    called_new = (trees.predict(U) == -1).mean()
    if theta > 0.5:
        assert called_new > 0.3
    elif refinement != "deepen":  # with it, a leaf of Step I without labelled rows is new
        assert called_new == 0.0


@pytest.mark.parametrize("refinement", REFINEMENTS)
def test_missing_values_and_sparse_tables(refinement):
    holed = U.copy()
    holed[::5, 0] = np.nan
    trees = small_trees(refinement=refinement).fit(X, y, X_unlabeled=holed)
    assert np.isfinite(trees.predict_proba(holed)).all()
    cut, dense = sparse.csr_array(np.where(np.abs(X) > 1, X, 0)), np.where(np.abs(X) > 1, X, 0)
    spread = np.where(np.abs(U) > 1, U, 0)
    one = small_trees(refinement=refinement).fit(cut, y, X_unlabeled=sparse.csc_array(spread))
    assert_same_trees(one, small_trees(refinement=refinement).fit(dense, y, X_unlabeled=spread))


@pytest.mark.parametrize("refinement", ["hard", "deepen"])
def test_weights_count_rows(refinement):
    # Cuts depend on values only, so a duplicate row and a row of weight two give the same trees.
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = small_trees(refinement=refinement).fit(X, y, sample_weight=weight, X_unlabeled=U)
    repeated = small_trees(refinement=refinement).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight), X_unlabeled=U
    )
    assert_array_equal(weighted.predict_proba(U), repeated.predict_proba(U))


def test_rows_marked_in_y():
    marked = small_trees(unlabeled_label=9).fit(np.vstack([X, U]), [*y, *[9] * len(U)])
    assert_same_trees(marked, fitted_trees())


# ---------------------------------------------------------------------------- determinism


@pytest.mark.parametrize("refinement", REFINEMENTS)
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_any_number_of_threads(refinement, n_jobs):
    assert_same_trees(
        fitted_trees(refinement=refinement, n_jobs=n_jobs),
        fitted_trees(refinement=refinement, n_jobs=1),
    )


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_any_backend(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        assert_same_trees(fitted_trees(), clone(small_trees()).fit(X, y, X_unlabeled=U))
    assert_same_trees(fitted_trees(n_jobs=2), fitted_trees())


def test_more_trees_leave_the_first_ones_alone():
    few, many = fitted_trees(refinement="hard"), fitted_trees(refinement="hard", n_estimators=9)
    for one, other in zip(few.estimators_, many.estimators_, strict=False):
        assert_array_equal(one.threshold, other.threshold)


def test_another_seed_is_another_forest():
    assert (fitted_trees().predict_proba(U) != fitted_trees(random_state=1).predict_proba(U)).any()


# ---------------------------------------------------------------------------- files


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("refinement", ["both", "deepen"])
def test_save_and_load(tmp_path, refinement, compress):
    trees = fitted_trees(refinement=refinement)
    trees.save(tmp_path / "model.lac", compress=compress)
    loaded = LACExtraTreesClassifier.load(tmp_path / "model.lac", mmap=not compress)
    assert_same_trees(loaded, trees)
    assert loaded.get_params() == trees.get_params()
    assert_array_equal(loaded.predict_proba(U), trees.predict_proba(U))
    assert_array_equal(
        loaded.novelty_score(U, "exploration"), trees.novelty_score(U, "exploration")
    )


def test_pickle():
    trees = fitted_trees()
    assert_same_trees(pickle.loads(pickle.dumps(trees)), trees)


def test_each_class_loads_its_own_files(tmp_path):
    fitted_trees().save(tmp_path / "model.lac")
    with pytest.raises(ModelFileError, match="holds a LACExtraTreesClassifier, not a LACForestCl"):
        LACForestClassifier.load(tmp_path / "model.lac")


def test_files_whose_steps_disagree_are_refused(tmp_path):
    path = tmp_path / "model.lac"
    fitted_trees().save(path, compress=False)
    other = small_trees().fit(X, np.arange(len(y)) % 3, X_unlabeled=U)

    def swap(arrays):
        for field in ("nodes", "tree_start", "leaf_values", "n_explored", "explored_counts"):
            arrays["explored." + field] = getattr(other._explored, field)

    rewrite(path, swap)
    with pytest.raises(
        ModelFileError,
        match=r"array explored\.leaf_values has 4 entries in a dimension where classes is 3",
    ):
        LACExtraTreesClassifier.load(path)


# ---------------------------------------------------------------------------- bad parameters


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_explorers": 0}, ValueError, "n_explorers must be at least 1, got 0"),
        ({"n_explorers": 2.5}, TypeError, "n_explorers must be an integer, got 2.5"),
        ({"min_explored_leaf": 0}, ValueError, "min_explored_leaf must be at least 1, got 0"),
        ({"max_explored_features": "all"}, ValueError, 'max_explored_features must be "auto"'),
        ({"max_explored_features": 9}, ValueError, "max_explored_features must lie between 1 and"),
        ({"gamma": 0.6}, ValueError, r"gamma must lie in \[0, 0.5\], got 0.6"),
        ({"cuts": "best"}, ValueError, "cuts must be one of random, every, got 'best'"),
        ({"refinement": None}, ValueError, "refinement must be one of both, hard, sampled, deepen"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1"),
        ({"theta": 1.0}, ValueError, "theta must lie strictly between 0 and 1"),
    ],
)
def test_bad_parameters(parameters, error, match):
    trees = fitted_trees().set_params(**parameters)
    before = dict(vars(trees))
    with pytest.raises(error, match=match):
        trees.fit(X, y, X_unlabeled=U)
    assert_same_vars(before, vars(trees))


@pytest.mark.parametrize("refinement", REFINEMENTS)
def test_nothing_to_explore(refinement):
    with pytest.warns(UserWarning, match="Step I found no feasible split.*min_explored_leaf=200"):
        trees = fitted_trees(min_explored_leaf=200, refinement=refinement)
    assert trees.pseudo_labels_.tolist() == [True] * 40 + [False] * 40


@pytest.mark.parametrize(("n_rows", "n_trees"), [(10_000, 300), (10_001, 200)])
def test_many_rows_need_fewer_trees(n_rows, n_trees):
    forest = LACExtraTreesClassifier(
        n_explorers=5, theta=0.5, max_samples=50, max_depth=2, random_state=0
    )
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n_rows, 2))
    forest.fit(table[:5000], np.arange(5000) % 2, X_unlabeled=table[5000:])
    assert len(forest.estimators_) == n_trees
    assert forest.n_estimators == "auto"


def test_an_automatic_number_of_trees_is_for_extra_trees():
    with pytest.raises(TypeError, match="n_estimators must be an integer, got 'auto'"):
        LACForestClassifier("auto").fit(X, y)
    with pytest.raises(TypeError, match="n_estimators must be an integer, got 'many'"):
        LACExtraTreesClassifier("many").fit(X, y)
