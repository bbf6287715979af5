"""PAC-iForest: out-of-bag scores, the threshold and its guarantee."""

import numpy as np
import pytest
from blobs import U, X, X_test, y
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import baselines as naive
from sklearn.ensemble import IsolationForest

from lacforest.baselines import OVRSVMClassifier, PACIsolationForestClassifier
from lacforest.baselines._isolation import IsolationTrees, average_path_length
from lacforest.baselines._pac_iforest import pac_threshold

scores = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)
thetas = st.sampled_from([0.1, 0.25, 0.5, 0.8, 1.0])


@settings(max_examples=100)
@given(nominal=scores, mixed=scores, theta=thetas, q=st.sampled_from([0.0, 0.05, 0.2, 1.0]))
def test_threshold_is_the_naive_twin(nominal, mixed, theta, q):
    expected = naive.pac_threshold(nominal, mixed, theta, q)
    assert pac_threshold(np.array(nominal), np.array(mixed), theta, q) == expected


@given(nominal=scores, mixed=scores, q=st.sampled_from([0.1, 0.3, 0.7]))
def test_if_all_is_new_the_threshold_is_a_quantile(nominal, mixed, q):
    threshold = pac_threshold(np.array(nominal), np.array(mixed), 1.0, q)
    below = [value for value in {*nominal, *mixed} if naive.share_up_to(mixed, value) <= q + 1e-9]
    assert threshold == max(below, default=min([*nominal, *mixed]))


@given(nominal=scores, q=st.sampled_from([0.1, 0.3]), theta=thetas)
def test_if_both_samples_are_the_same_theta_does_not_matter(nominal, q, theta):
    sample = np.array(nominal)
    assert pac_threshold(sample, sample, theta, q) == pac_threshold(sample, sample, 1.0, q)


@given(nominal=scores, mixed=scores, theta=thetas)
def test_the_threshold_rises_with_q(nominal, mixed, theta):
    found = [pac_threshold(np.array(nominal), np.array(mixed), theta, q) for q in (0, 0.1, 0.5, 1)]
    assert found == sorted(found)


def test_nothing_new_gives_no_threshold():
    assert pac_threshold(np.ones(3), np.ones(3), 0.0, 0.1) == np.inf


def test_path_lengths_of_random_trees():
    expected = [naive.usual_length(n) for n in range(6)]
    assert_allclose(average_path_length(np.arange(6)), expected)


def grown(n_trees, max_samples, seed):
    """A forest of scikit-learn, and its trees as they are kept here."""
    theirs = IsolationForest(n_estimators=n_trees, max_samples=max_samples, random_state=seed)
    return theirs.fit(X), IsolationTrees.freeze(theirs, max_samples)


def test_scores_of_unseen_rows_are_those_of_scikit_learn():
    theirs, trees = grown(20, 32, 7)
    assert_allclose(trees.score(X_test, None), -theirs.score_samples(X_test))


def test_out_of_bag_scores_are_the_naive_twin():
    theirs, trees = grown(12, 40, 3)
    found = trees.out_of_bag_score(X, theirs.estimators_samples_, None)
    for i in range(0, len(X), 7):
        lengths = [
            naive.path_length(tree.tree_, X[i])
            for tree, seen in zip(theirs.estimators_, theirs.estimators_samples_, strict=True)
            if i not in seen
        ]
        expected = 2 ** (-np.mean(lengths) / naive.usual_length(40)) if lengths else np.nan
        assert found[i] == pytest.approx(expected, nan_ok=True)


def test_rows_that_every_tree_saw_have_no_score():
    theirs, trees = grown(1, 60, 0)
    seen = theirs.estimators_samples_
    found = trees.out_of_bag_score(X, seen, None)
    assert np.isnan(found[seen[0]]).all()
    assert np.isnan(found).sum() == 60


def test_the_lowest_score_over_classes_counts():
    model = PACIsolationForestClassifier(theta=0.5, n_estimators=10, random_state=0)
    model.fit(X, y, X_unlabeled=U)
    assert len(model._forests) == 3
    by_class = [forest.score(X_test, None) for forest in model._forests]
    assert_array_equal(model.novelty_score(X_test), np.min(by_class, axis=0))
    one = PACIsolationForestClassifier.paper_table(theta=0.5, random_state=0)
    assert len(one.fit(X, y, X_unlabeled=U)._forests) == 1


def test_labels_are_those_of_the_svm_or_new():
    model = PACIsolationForestClassifier(theta=0.5, n_estimators=20, q=0.1, random_state=0)
    model.fit(X, y, X_unlabeled=U)
    is_new = model.novelty_score(X_test) >= model.threshold_
    values = OVRSVMClassifier().fit(X, y)._machines.decision_values(X_test)
    assert_array_equal(model.predict(X_test), np.where(is_new, -1, values.argmax(axis=1)))
    assert is_new.any()
    assert not is_new.all()


def test_a_larger_q_calls_fewer_rows_new():
    counts = [
        PACIsolationForestClassifier(theta=0.5, n_estimators=20, q=q, random_state=0)
        .fit(X, y, X_unlabeled=U)
        .predict(X_test)
        .tolist()
        .count(-1)
        for q in (0.0, 0.2, 0.6, 1.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_class_of_one_row():
    rows, labels = np.vstack([X, [[5.0, 5.0]]]), np.append(y, 3)
    model = PACIsolationForestClassifier(theta=0.5, n_estimators=10, random_state=0)
    model.fit(rows, labels, X_unlabeled=U)
    assert np.isfinite(model.novelty_score(X_test)).all()


def test_no_row_that_a_tree_did_not_see():
    model = PACIsolationForestClassifier(theta=0.5, n_estimators=3)
    with pytest.raises(ValueError, match="every labelled row was seen by every tree"):
        model.fit([[0.0], [1.0]], [0, 1], X_unlabeled=U[:, :1])


@pytest.mark.parametrize(("epsilon", "rows"), [(0.05, 7865), (0.1, 1967)])
def test_rows_for_the_guarantee(epsilon, rows):
    assert PACIsolationForestClassifier.rows_for_guarantee(0.5, epsilon, 0.05) == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.1, 0.05), "theta, epsilon and delta must be positive, and delta below 1"),
        ((0.5, 0.0, 0.05), "theta, epsilon and delta must be positive, and delta below 1"),
        ((0.5, 0.1, 1.0), "theta, epsilon and delta must be positive, and delta below 1"),
        ((1.5, 0.1, 0.05), r"theta must lie in \[0, 1\], got 1.5"),
    ],
)
def test_no_guarantee_for_nonsense(arguments, message):
    with pytest.raises(ValueError, match=message):
        PACIsolationForestClassifier.rows_for_guarantee(*arguments)
