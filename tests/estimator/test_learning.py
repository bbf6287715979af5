"""Accuracy of forests on digits, and progress messages."""

import joblib
import numpy as np
import pytest
from forests import assert_same_forest
from packaging.version import Version
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier

NEW = -1


def digits_with_half_the_classes_hidden(seed):
    """Labelled rows of digits 0 to 4; deployed and test rows of all ten."""
    table, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(digit))
    labelled, deployed, test = np.split(order, [len(order) // 3, 2 * len(order) // 3])
    labelled = labelled[digit[labelled] < 5]
    truth = np.where(digit < 5, digit, NEW)
    theta = float((truth[deployed] == NEW).mean())
    return table[labelled], digit[labelled], table[deployed], table[test], truth[test], theta


def test_hidden_digits_are_found():
    # Splits have a standard deviation of 0.017 in accuracy and 0.007 in AUC, so the test uses the
    # mean over eight splits. Measured: accuracy 0.941, AUC 0.985; the plain forest reaches 0.499
    # and, scored by its uncertainty, 0.971.
    scores = []
    for seed in range(8):
        X, y, deployed, X_test, truth, theta = digits_with_half_the_classes_hidden(seed)
        forest = LACForestClassifier(100, theta=theta, random_state=seed)
        forest.fit(X, y, X_unlabeled=deployed)
        plain = RandomForestClassifier(100, random_state=seed).fit(X, y)
        doubt = 1 - plain.predict_proba(X_test).max(axis=1)
        scores.append(
            (
                (forest.predict(X_test) == truth).mean(),
                roc_auc_score(truth == NEW, forest.novelty_score(X_test)),
                (plain.predict(X_test) == truth).mean(),
                roc_auc_score(truth == NEW, doubt),
            )
        )
    accuracy, auc, plain_accuracy, plain_auc = np.mean(scores, axis=0)
    assert accuracy > 0.93
    assert auc > 0.97
    # A forest without a new class misclassifies every hidden digit, and its uncertainty separates
    # new from known rows less well.
    assert accuracy > plain_accuracy + 0.3
    assert auc > plain_auc + 0.005


def test_pseudo_labels_find_most_new_rows():
    # Half of U is the third blob.
    forest = small_forest(n_estimators=50).fit(X, y, X_unlabeled=U)
    assert forest.pseudo_labels_[40:].mean() > 0.8
    assert forest.pseudo_labels_.sum() == 40


@pytest.mark.parametrize("options", [{}, {"bootstrap": True}, {"max_depth": 6}, {"gamma": 0.05}])
def test_known_and_new_blobs_are_told_apart(options):
    forest = small_forest(n_estimators=50, **options).fit(X, y, X_unlabeled=U)
    assert forest.predict([[0, 0, 0], [4, 0, 0], [2, 6, 0]]).tolist() == [0, 1, NEW]
    assert (forest.predict(X) == y).mean() > 0.9


def test_a_plain_forest_learns_like_that_of_scikit_learn():
    table, digit = load_digits(return_X_y=True)
    parts = table[::2], digit[::2], table[1::2], digit[1::2]
    ours = LACForestClassifier(100, random_state=0).fit(*parts[:2])
    theirs = RandomForestClassifier(100, bootstrap=False, random_state=0).fit(*parts[:2])
    assert abs(ours.score(*parts[2:]) - theirs.score(*parts[2:])) < 0.02


# ---------------------------------------------------------------------------- progress


def test_silence(capsys):
    fitted_forest()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_printed_and_changes_nothing(capsys, n_jobs):
    forest = fitted_forest(verbose=1, n_jobs=n_jobs, n_estimators=12)
    output = "".join(capsys.readouterr())
    if n_jobs > 1 or Version(joblib.__version__) >= Version("1.5"):
        assert output.count("12 out of  12") == 2  # once per step
    assert_same_forest(forest, fitted_forest(n_estimators=12))
