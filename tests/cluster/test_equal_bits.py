"""A forest grown on partitions equals the local one bit for bit, however rows are divided."""

import numpy as np
import pytest
from forests import assert_same_forest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from partitions import FORESTS, blobs, fit_local, fit_parts, partition
from strategies import problems, seeds

import lacforest._coding.bins as coding
import lacforest.dask.fitting as fitting
from lacforest.dask import DaskLACExtraTreesClassifier, DaskLACForestClassifier

both = pytest.mark.parametrize("kind", FORESTS)


def cuts_of(n_rows):
    return st.lists(st.integers(0, n_rows), max_size=6)


def local_forest(kind, X, y, U, weight, options):
    """The local forest, or None where the sample of a tree lacks rows of a kind."""
    try:
        return fit_local(kind, 3, X, y, U, weight, **options)
    except ValueError as error:
        if "the sample of a tree holds none" in str(error):
            return None
        raise


@settings(max_examples=40)
@given(
    data=st.data(), problem=problems(with_weight=True), seed=seeds, kind=st.sampled_from(FORESTS)
)
def test_any_partitions_give_the_local_forest(data, problem, seed, kind):
    X, y, U = problem.X, problem.y, problem.X_unlabeled
    assume(problem.n_unlabeled > 0)
    n_rows = len(X) + len(U)
    options = {
        "theta": problem.theta,
        "max_features": problem.max_features,
        "rows_per_tree": data.draw(st.sampled_from([n_rows, max(1, int(0.8 * n_rows))])),
        "max_bins": data.draw(st.sampled_from([2, 5, 255])),
        "known_shares": "labeled",
        "random_state": seed,
    }
    if kind is DaskLACExtraTreesClassifier:
        options |= {
            "n_explorers": 3,
            "refinement": data.draw(st.sampled_from(["both", "hard", "sampled", "deepen"])),
            "cuts": data.draw(st.sampled_from(["random", "every"])),
        }
    else:
        options |= {"gamma": problem.gamma, "bootstrap": data.draw(st.booleans())}
    local = local_forest(kind, X, y, U, problem.weight, options)
    assume(local is not None)
    parts = partition(
        X,
        y,
        U,
        None if problem.weight is None else np.asarray(problem.weight, dtype=float),
        data.draw(cuts_of(len(X))),
        data.draw(cuts_of(len(U))),
    )
    assert_same_forest(local, fit_parts(kind(3, **options), parts))


@both
def test_rows_in_order_of_class_estimated_theta_and_shares(kind):
    X, y, U = blobs()
    order = np.argsort(y, kind="stable")
    X, y, U = X[order], y[order], U[np.argsort(U[:, 0])]
    U = np.concatenate([U, X[y == 2]])  # other shares than labelled
    options = {"rows_per_tree": 250, "max_bins": 16, "random_state": 1, "known_shares": "auto"}
    local = fit_local(kind, 6, X, y, U, theta="auto", **options)
    assert local.known_shares_interval_ is not None
    found = fit_parts(
        kind(6, theta="auto", **options),
        partition(X, y, U, cuts=[0, 60, 60, 200], unlabeled_cuts=[7, 100, len(U)]),
    )
    assert_same_forest(local, found)
    assert (local.theta_, local.n_labeled_) == (found.theta_, found.n_labeled_)
    assert_array_equal(local.known_shares_, found.known_shares_)
    assert_array_equal(local.column_shift_, found.column_shift_)
    assert [f.text for f in local.fit_findings_] == [f.text for f in found.fit_findings_]


@both
def test_bins_and_labels_beyond_the_subsample(kind, monkeypatch):
    monkeypatch.setattr(coding, "SAMPLED_ROWS", 120)
    monkeypatch.setattr(fitting, "SAMPLED_ROWS", 120)
    X, y, U = blobs()
    options = {"rows_per_tree": 200, "max_bins": 16, "random_state": 1, "theta": 0.5}
    options["known_shares"] = "labeled"
    local = fit_local(kind, 6, X, y, U, **options)
    parts = partition(X, y, U, cuts=[10, 200], unlabeled_cuts=[33])
    found = fit_parts(kind(6, **options), parts)
    assert_array_equal(local._forest.nodes, found._forest.nodes)
    assert_array_equal(local.unlabeled_score_, found.unlabeled_score_)


@both
def test_marked_rows_and_no_unlabeled_rows(kind):
    X, y, U = blobs()
    options = {"rows_per_tree": 200, "max_bins": 30, "random_state": 4, "theta": 0.5}
    stacked, labels = np.vstack([X, U]), np.concatenate([y, np.full(len(U), -7)])
    order = np.random.default_rng(0).permutation(len(labels))
    stacked, labels = stacked[order], labels[order]
    local = fit_local(kind, 4, stacked, labels, unlabeled_label=-7, **options)
    parts = partition(stacked, labels, cuts=[50, 333])
    assert_same_forest(local, fit_parts(kind(4, unlabeled_label=-7, **options), parts))

    order = np.argsort(labels == -7, kind="stable")  # all unlabelled rows in the last partition
    stacked, labels = stacked[order], labels[order]
    local = fit_local(kind, 4, stacked, labels, unlabeled_label=-7, **options)
    parts = partition(stacked, labels, cuts=[50, len(X)])
    assert_same_forest(local, fit_parts(kind(4, unlabeled_label=-7, **options), parts))

    plain = fit_local(kind, 4, X, y, **options)
    assert_same_forest(plain, fit_parts(kind(4, **options), partition(X, y, cuts=[50, 51])))


def test_whole_weights_of_classes():
    X, y, U = blobs()
    options = {"rows_per_tree": 200, "max_bins": 30, "random_state": 4, "theta": 0.5}
    options["class_weight"] = {0: 3, 2: 0}
    kind = DaskLACForestClassifier
    local = fit_local(kind, 4, X, y, U, **options)
    assert_same_forest(local, fit_parts(kind(4, **options), partition(X, y, U, cuts=[9])))
    assert local.n_labeled_ == 3 * (y == 0).sum() + (y == 1).sum()


def test_more_unlabeled_rows_in_a_sample_than_rows_in_the_table():
    X, y, U = np.zeros((10, 1)), np.zeros(10, dtype=int), np.zeros((36, 1))
    options = {"rows_per_tree": 46, "bootstrap": True, "theta": 0.01, "random_state": 1}
    options |= {"known_shares": "labeled", "max_bins": 2}
    local = fit_local(DaskLACForestClassifier, 3, X, y, U, **options)
    assert local._forest.explored_counts[0].tolist() == [19, 47]
    found = fit_parts(DaskLACForestClassifier(3, **options), partition(X, y, U, unlabeled_cuts=[9]))
    assert_same_forest(local, found)


@both
def test_local_forest_and_file(kind, tmp_path):
    X, y, U = blobs()
    options = {"rows_per_tree": 200, "random_state": 4, "theta": 0.5}
    found = fit_parts(kind(4, **options), partition(X, y, U))
    local = found.to_local()
    assert type(local) is kind._local
    assert local.get_params()["max_samples"] == 200
    assert_array_equal(local.predict_proba(U), found.predict_proba(U))
    found.save(tmp_path / "model.lac")
    loaded = kind._local.load(tmp_path / "model.lac")
    assert_array_equal(loaded.predict_proba(U), found.predict_proba(U))
    with pytest.raises(TypeError, match=f"load .* by {kind._local.__name__}.load"):
        kind.load(tmp_path / "model.lac")
