"""Views of a fitted forest: trees, paths, importances, scores and text."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from forests import n_explored, path
from numpy.testing import assert_allclose, assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import AugmentedGiniCriterion, GiniCriterion

ARRAYS = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left"]
ARRAYS += ["phase", "depth", "value", "n_labeled", "n_unlabeled", "impurity"]
weight = np.random.default_rng(0).integers(1, 4, size=len(X)) / 2

U_holed = U.copy()
U_holed[::7, 1] = np.nan
KINDS = {
    "default": fitted_forest(),
    "plain": small_forest().fit(X, y),
    "weights": small_forest().fit(X, y, sample_weight=weight, X_unlabeled=U),
    "missing": small_forest().fit(X, y, X_unlabeled=U_holed),
    "shallow": fitted_forest(max_depth=2, max_features=None),
    "large leaves": fitted_forest(min_samples_leaf=9),
    "text": small_forest(new_label="m").fit(X, np.where(y, "z", "a"), X_unlabeled=U),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def unlabelled_of(kind):
    return {"plain": U[:0], "missing": U_holed}.get(kind, U)


def paths_by_tree(forest, table):
    """Dense 0/1 arrays of shape (n_rows, n_nodes) from decision_path, one per tree."""
    indicator, start = forest.decision_path(table)
    dense = indicator.toarray()
    return [dense[:, first:end] for first, end in pairwise(start)]


# ---------------------------------------------------------------------------- shape of trees


@every_kind
def test_arrays_describe_a_tree(kind):
    for tree in KINDS[kind].estimators_:
        nodes = np.arange(tree.node_count)
        leaf = tree.children_left == -1
        assert all(len(getattr(tree, name)) == tree.node_count for name in ARRAYS)
        assert_array_equal(tree.children_right[leaf], -1)
        assert_array_equal(tree.feature[leaf], -2)
        assert_array_equal(tree.threshold[leaf], -2.0)
        assert_array_equal(tree.missing_go_to_left[leaf], False)
        assert (tree.children_left[~leaf] > nodes[~leaf]).all()
        assert_array_equal(tree.children_right[~leaf], tree.children_left[~leaf] + 1)
        children = np.concatenate([tree.children_left[~leaf], tree.children_right[~leaf]])
        assert_array_equal(np.sort(children), nodes[1:])  # each but the root has one parent
        assert ((tree.feature[~leaf] >= 0) & (tree.feature[~leaf] < 3)).all()
        assert_array_equal(tree.depth[tree.children_left[~leaf]], tree.depth[~leaf] + 1)
        assert_array_equal(tree.depth[tree.children_right[~leaf]], tree.depth[~leaf] + 1)
        assert tree.n_leaves == leaf.sum()
        assert tree.max_depth == tree.depth.max()
        assert f"node_count={tree.node_count}" in repr(tree)


@every_kind
def test_step_one_is_a_tree_at_the_head(kind):
    for tree in KINDS[kind].estimators_:
        n_first = n_explored(tree)
        assert_array_equal(tree.phase, np.where(np.arange(tree.node_count) < n_first, 1, 2))
        if kind == "plain":
            assert n_first == 0
            continue
        assert n_first >= 1
        # Both children of a node belong to the same step, and no node of Step I is below Step II.
        inner = tree.children_left >= 0
        left, right = tree.children_left[inner], tree.children_right[inner]
        assert_array_equal(tree.phase[left], tree.phase[right])
        assert (tree.phase[left] >= tree.phase[inner]).all()


@every_kind
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_cannot_be_written(kind, name):
    array = getattr(KINDS[kind].estimators_[0], name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[0]


def test_trees_are_a_sequence():
    views = fitted_forest().estimators_
    assert len(views) == 5
    assert_array_equal(views[-1].threshold, views[4].threshold)
    assert [tree.node_count for tree in views[1:3]] == [views[1].node_count, views[2].node_count]
    assert len(list(views)) == 5
    with pytest.raises(IndexError):
        views[5]


# ---------------------------------------------------------------------------- counts in nodes


@every_kind
def test_counts_are_those_of_the_rows_that_pass(kind):
    forest = KINDS[kind]
    unlabeled = unlabelled_of(kind)
    row_weight = weight if kind == "weights" else np.ones(len(X))
    labelled_paths = paths_by_tree(forest, X)
    unlabelled_paths = paths_by_tree(forest, unlabeled) if len(unlabeled) else None
    for t, tree in enumerate(forest.estimators_):
        counts = np.stack([(row_weight * (y == label)) @ labelled_paths[t] for label in (0, 1)], 1)
        assert_allclose(tree.n_labeled, counts.sum(axis=1), rtol=1e-6, atol=1e-6)
        totals = counts
        if unlabelled_paths is not None:
            everyone = unlabelled_paths[t].sum(axis=0)
            pseudo = unlabelled_paths[t][forest.pseudo_labels_].sum(axis=0)
            assert_allclose(
                tree.n_unlabeled, np.where(tree.phase == 1, everyone, pseudo), atol=1e-6
            )
            totals = np.insert(counts, forest.new_class_index_, pseudo, axis=1)
        # A node of Step I may hold neither labelled nor pseudo-labelled rows.
        known = totals.sum(axis=1) > 0
        shares = totals[known] / totals[known].sum(axis=1, keepdims=True)
        assert_allclose(tree.value[known], shares, rtol=1e-6, atol=1e-7)


@every_kind
def test_impurity_is_that_of_the_counts(kind):
    forest = KINDS[kind]
    criterion = None
    if kind != "plain":
        criterion = AugmentedGiniCriterion(forest.theta_, forest.n_labeled_, len(U))
    row_weight = weight if kind == "weights" else np.ones(len(X))
    labelled_paths = paths_by_tree(forest, X)
    for t, tree in enumerate(forest.estimators_):
        counts = np.stack([(row_weight * (y == label)) @ labelled_paths[t] for label in (0, 1)], 1)
        for node in range(tree.node_count):
            if tree.phase[node] == 1:
                expected = criterion.impurity(counts[node], tree.n_unlabeled[node])
            else:
                expected = GiniCriterion().impurity([*counts[node], tree.n_unlabeled[node]])
            assert tree.impurity[node] == pytest.approx(expected, abs=1e-6)


@every_kind
def test_children_share_the_rows_of_their_parent(kind):
    for tree in KINDS[kind].estimators_:
        inner = np.flatnonzero(tree.children_left >= 0)
        left, right = tree.children_left[inner], tree.children_right[inner]
        total = tree.n_labeled[left] + tree.n_labeled[right]
        assert_allclose(total, tree.n_labeled[inner], rtol=1e-6, atol=1e-6)
        same_step = tree.phase[left] == tree.phase[inner]
        total = (tree.n_unlabeled[left] + tree.n_unlabeled[right])[same_step]
        assert_allclose(total, tree.n_unlabeled[inner][same_step], rtol=1e-6, atol=1e-6)


@every_kind
def test_distributions_sum_to_one(kind):
    for tree in KINDS[kind].estimators_:
        leaf = tree.children_left == -1
        assert_allclose(tree.value[leaf].sum(axis=1), 1.0, rtol=1e-6)
        held = tree.value.sum(axis=1) > 0
        assert_allclose(tree.value[held].sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["default", "weights", "missing"])
def test_unlabelled_rows_are_counted_in_whole_numbers(kind):
    # Their weight is 1, independent of the weights of labelled rows.
    for tree in KINDS[kind].estimators_:
        assert_array_equal(tree.n_unlabeled, np.rint(tree.n_unlabeled))


@every_kind
def test_probabilities_are_the_mean_of_leaf_distributions(kind):
    forest = KINDS[kind]
    leaves = forest.apply(U_holed)
    values = [tree.value[leaf] for leaf, tree in zip(leaves.T, forest.estimators_, strict=True)]
    assert_allclose(forest.predict_proba(U_holed), np.mean(values, axis=0), rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------------------- paths


@every_kind
def test_paths_lead_to_leaves_as_trees_say(kind):
    forest, rows = KINDS[kind], U_holed[:20]
    leaves = forest.apply(rows)
    assert leaves.shape == (20, 5)
    assert leaves.dtype == np.int32
    for t, (passed, tree) in enumerate(
        zip(paths_by_tree(forest, rows), forest.estimators_, strict=True)
    ):
        for i, row in enumerate(rows):
            nodes = path(tree, row)
            assert_array_equal(np.flatnonzero(passed[i]), np.sort(nodes))
            assert leaves[i, t] == nodes[-1]
        assert set(passed.ravel().tolist()) <= {0, 1}


def test_decision_paths_number_the_nodes_of_all_trees():
    forest = fitted_forest()
    indicator, start = forest.decision_path(U)
    sizes = [tree.node_count for tree in forest.estimators_]
    assert_array_equal(start, np.concatenate([[0], np.cumsum(sizes)]))
    assert indicator.shape == (len(U), sum(sizes))
    assert indicator.format == "csr"
    start[:] = 0  # it is the caller's own array
    assert_array_equal(forest.decision_path(U)[1][1:], np.cumsum(sizes))


# ---------------------------------------------------------------------------- the whole forest


@every_kind
def test_predict_names_the_most_probable_class(kind):
    forest = KINDS[kind]
    probabilities = forest.predict_proba(U)
    assert_array_equal(forest.predict(U), forest.classes_[probabilities.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert_array_equal(forest.predict_log_proba(U), np.log(probabilities))


@every_kind
def test_importances_sum_to_one(kind):
    importances = KINDS[kind].feature_importances_
    assert importances.shape == (3,)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("cap", [None, 0.5])
def test_importances_by_their_definition(cap):
    """Decrease of augmented Gini per unlabelled row plus that of Gini per row of Step II."""
    forest = fitted_forest(bootstrap=False, pseudo_cap=cap, gamma=0.1)
    n_pseudo = forest.pseudo_labels_.sum() if cap is None else cap * len(X)
    shares = []
    for tree in forest.estimators_:
        gini = 1 - (tree.value**2).sum(axis=1)
        rows = tree.weighted_n_node_samples
        assert rows[0] == len(X) + n_pseudo
        weights = {1: tree.n_unlabeled * tree.impurity / len(U), 2: rows * gini / rows[0]}
        decrease = np.zeros(3)
        for node in np.flatnonzero(tree.children_left >= 0):
            left, right = tree.children_left[node], tree.children_right[node]
            loss = weights[tree.phase[left]]
            decrease[tree.feature[node]] += loss[node] - loss[left] - loss[right]
        assert set(tree.phase) == {1, 2}
        shares.append(decrease / decrease.sum())
    assert_allclose(forest.feature_importances_, np.mean(shares, axis=0), rtol=1e-6)


def test_importances_find_the_features_that_matter():
    importances = fitted_forest(n_estimators=50).feature_importances_
    assert importances[2] < importances[:2].min()  # the third column is noise


def test_importances_are_zero_if_nothing_is_split():
    forest = small_forest().fit(np.ones((60, 3)), y)
    assert_array_equal(forest.feature_importances_, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plain"])
def test_scores_of_step_one_are_those_that_chose_the_pseudo_labels(kind):
    forest = KINDS[kind]
    scores = forest.novelty_score(unlabelled_of(kind), stage="exploration")
    assert_array_equal(scores, forest.unlabeled_score_)  # same bits
    chosen = forest.pseudo_labels_
    assert chosen.sum() == len(U) // 2
    assert scores[chosen].min() >= scores[~chosen].max()
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plain"])
def test_novelty_is_the_probability_of_the_new_class(kind):
    forest = KINDS[kind]
    column = forest.predict_proba(U)[:, forest.new_class_index_]
    assert_array_equal(forest.novelty_score(U), column)


# ---------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        (5, ValueError, "tree is 5, but the forest has 5: count from 0 to 4"),
        (-6, ValueError, "tree must be at least -5"),
        (1.5, TypeError, "tree must be an integer"),
    ],
)
def test_text_of_a_tree_that_does_not_exist(tree, error, message):
    forest = small_forest(n_estimators=5).fit(X, y, X_unlabeled=U)
    with pytest.raises(error, match=message):
        forest.export_text(tree)
    assert forest.export_text(-1) == forest.export_text(4)


def test_text_marks_steps_and_names_features_and_classes():
    names = ["length", "width", "noise"]
    forest = small_forest().fit(
        pd.DataFrame(X, columns=names), np.where(y, "iris", "rose"), X_unlabeled=U
    )
    tree, text = forest.estimators_[1], forest.export_text(1)
    lines = text.splitlines()
    assert len(lines) == tree.node_count
    assert sum(line.startswith("I  ") for line in lines) == n_explored(tree)
    assert sum(line.startswith("II ") for line in lines) == tree.node_count - n_explored(tree)
    assert lines[0].startswith(f"I  root  [labelled=60 unlabelled={len(U)} impurity=")
    assert sum("->" in line for line in lines) == tree.n_leaves
    assert any("-> <new>" in line for line in lines)
    assert any("-> iris" in line for line in lines)
    assert {name for name in names if name in text} == {names[f] for f in tree.feature if f >= 0}
    assert ("or missing" in text) == (tree.node_count > 1)


def test_text_without_names():
    text = small_forest().fit(X, y).export_text()
    assert text.startswith("II root  [labelled=60 unlabelled=0 impurity=0.5000]")
    assert "feature_0" in text


def test_text_with_too_few_names():
    with pytest.raises(ValueError, match="feature_names has 2 names, but there are 3"):
        fitted_forest().estimators_[0].export_text(["a", "b"])


def test_text_of_a_tree_that_is_not_there():
    with pytest.raises(IndexError):
        fitted_forest().export_text(5)
