"""Sets of categories: compiled forests against naive ones, and what must not matter."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from forests import assert_same_forest, border_is_tied
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.categories import order_of_categories
from reference.criterion import Totals
from reference.extra_trees import deepen, grow_extra_trees
from reference.forest import grow_forest, n_pseudo_labels, top_rows
from reference.split import AugmentedRule, GiniRule, Rows
from sklearn.base import clone
from strategies import Problem, categorical_problems, seeds

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.tree_view import TreeViews
from lacforest.inspection import shap_values
from lacforest.mixture import ThetaWarning

slow = settings(max_examples=60)
N_TREES = 2


def expected_splits(tree, n_categories):
    """children_left, feature, cut or set, missing_go_to_left of every node."""
    found = []
    for node in tree:
        if node.cut is None:
            found.append((-1, -2, -2.0, False))
        elif node.cut.feature in n_categories:
            inside = tuple(sorted(node.cut.inside))
            found.append((node.left, node.cut.feature, inside, node.cut.missing_left))
        else:
            cut = node.cut
            found.append((node.left, cut.feature, cut.threshold, cut.missing_left))
    return found


def found_splits(view):
    found = []
    for node in range(view.node_count):
        codes = view.category_set(node)
        cut = view.threshold[node] if codes is None else tuple(codes.tolist())
        assert np.isnan(view.threshold[node]) == (codes is not None)
        facts = view.children_left[node], view.feature[node], cut, view.missing_go_to_left[node]
        found.append(tuple(facts))
    return found


def assert_same_splits(views, trees, problem):
    for view, tree in zip(views, trees, strict=True):
        assert found_splits(view) == expected_splits(tree, problem.n_categories)


def queries_of(problem):
    """Rows of the problem, and rows with categories that the fit has not seen."""
    unseen = problem.everyone.copy()
    unseen[:, list(problem.categorical)] += 1_000
    return np.vstack([problem.everyone, unseen])


def naive_values(problem, values):
    """Unseen categories are missing."""
    known = problem.n_categories
    return [
        float("nan") if feature in known and not value < known[feature] else value
        for feature, value in enumerate(values)
    ]


@slow
@given(problem=categorical_problems(), seed=seeds)
def test_every_cut_agrees_with_the_naive_forest(problem, seed):
    forest = problem.fit(N_TREES, random_state=seed)
    naive = grow_forest(problem, N_TREES, seed, False, forest.pseudo_labels_.tolist())
    assert_same_splits(forest.estimators_, naive.trees, problem)
    assert_allclose(forest.unlabeled_score_, naive.scores, rtol=0, atol=1e-12)
    if not border_is_tied(forest):
        n_pseudo = n_pseudo_labels(problem.theta, problem.n_unlabeled)
        assert forest.pseudo_labels_.tolist() == top_rows(naive.scores, n_pseudo)
    queries = queries_of(problem)
    expected = [naive.probabilities(naive_values(problem, row)) for row in queries.tolist()]
    order = forest._column_order()
    assert_allclose(forest.predict_proba(queries), np.array(expected)[:, order], atol=1e-6)


@slow
@given(problem=categorical_problems(with_weight=True), seed=seeds)
def test_weights_agree_with_the_naive_forest(problem, seed):
    forest = problem.fit(N_TREES, random_state=seed)
    naive = grow_forest(problem, N_TREES, seed, False, forest.pseudo_labels_.tolist())
    assert_same_splits(forest.estimators_, naive.trees, problem)


@slow
@given(problem=categorical_problems(), seed=seeds, refinement=st.sampled_from(["hard", "deepen"]))
def test_random_cuts_agree_with_the_naive_forest(problem, seed, refinement):
    forest = LACExtraTreesClassifier(
        N_TREES,
        theta=problem.theta,
        n_explorers=N_TREES,
        refinement=refinement,
        max_features=problem.max_features,
        known_shares="labeled",
        categorical_features=list(problem.categorical),
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Step I found no feasible split", UserWarning)
        forest.fit(problem.X, problem.y, X_unlabeled=problem.X_unlabeled)
    naive = grow_extra_trees(
        problem, N_TREES, N_TREES, N_TREES, 3, seed, forest.pseudo_labels_.tolist()
    )
    if refinement == "deepen":
        naive = deepen(problem, naive, seed, N_TREES)
    else:
        views = TreeViews(forest._explored, None, np.arange(problem.n_known + 1))
        assert_same_splits(views, naive.explored, problem)
    assert_same_splits(forest.estimators_, naive.trees, problem)
    assert_allclose(forest.unlabeled_score_, naive.scores, rtol=0, atol=1e-12)


@slow
@given(problem=categorical_problems(), seed=seeds)
def test_codes_and_values_route_alike(problem, seed):
    forest = problem.fit(N_TREES, random_state=seed)
    scores = forest.novelty_score(problem.X_unlabeled, stage="exploration")
    assert_allclose(scores, forest.unlabeled_score_, rtol=0, atol=1e-12)


# ------------------------------------------------------------------ the best of all sets


def one_column(codes, classes, n_known):
    return Rows(
        [[float(code)] for code in codes],
        list(classes),
        [1] * len(codes),
        n_known,
        {0: max(codes) + 1},
    )


def best_of_all_sets(rows, rule):
    """The largest reduction over all sets of categories, and over the cuts of the order."""
    everyone = range(len(rows.values))
    ordered = [c for _, c in order_of_categories(rows, everyone, 0, rule.known_mass)]

    def reduction(left):
        sides = [[], []]
        for row in everyone:
            sides[rows.values[row][0] not in left].append(row)
        return rule.reduction(*(rows.counts(side) for side in sides))

    sets = [left for size in range(1, len(ordered)) for left in combinations(ordered, size)]
    cuts = [ordered[:size] for size in range(1, len(ordered))]
    return max(map(reduction, sets)), max(map(reduction, cuts))


category_rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=4, max_size=60
).filter(lambda rows: len({code for code, _ in rows}) > 1)


@settings(max_examples=200)
@given(given_rows=category_rows)
def test_with_two_classes_no_set_is_better_than_a_cut_of_the_order(given_rows):
    codes, classes = zip(*given_rows, strict=True)
    best, cut = best_of_all_sets(one_column(codes, classes, 1), GiniRule())
    assert cut >= best - 1e-12


@settings(max_examples=200)
@given(given_rows=category_rows)
def test_in_step_one_with_one_known_class_no_set_is_better(given_rows):
    # Every category has an unlabelled row, and one of them a labelled one.
    codes = sorted({code for code, _ in given_rows})
    given_rows = [*given_rows, *((code, 1) for code in codes), (codes[0], 0)]
    codes, classes = zip(*given_rows, strict=True)
    n_unlabeled = sum(classes)
    n_labeled = len(classes) - n_unlabeled
    # So small a ratio that every category has more unlabelled rows than its labelled ones stand
    # for: v of Definition 1 is nowhere clipped, and the loss is concave.
    least = min(
        (sum(k for c, k in given_rows if c == code) + 1e-9)
        / (sum(1 - k for c, k in given_rows if c == code) + 1e-12)
        for code in set(codes)
    )
    theta = 1 - min(0.99, 0.99 * least * n_labeled / n_unlabeled)
    rule = AugmentedRule(Totals(theta, n_labeled, n_unlabeled), 0.0)
    best, cut = best_of_all_sets(one_column(codes, classes, 1), rule)
    assert cut >= best - 1e-9


# ------------------------------------------------------------------ what must not matter


def stump(codes, y, **parameters):
    X = np.column_stack([codes]).astype(float)
    return LACForestClassifier(1, max_depth=1, random_state=0, **parameters).fit(X, y)


def gini_after(forest, codes, y):
    """Rows times impurity, summed over the leaves of the first tree."""
    leaves = forest.apply(np.column_stack([codes]).astype(float))[:, 0]
    loss = 0.0
    for leaf in np.unique(leaves):
        counts = np.unique(y[leaves == leaf], return_counts=True)[1]
        loss += counts.sum() - (counts**2).sum() / counts.sum()
    return loss


labelled_categories = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=5, max_size=60
)


@settings(max_examples=100)
@given(rows=labelled_categories, seed=seeds)
def test_names_of_categories_do_not_matter(rows, seed):
    # Two classes: with more, categories that tie along the principal direction, or two directions
    # of equal variance, are told apart by their codes.
    codes, y = np.array(rows).T
    y = np.minimum(y, 1)
    renamed = np.random.default_rng(seed).permutation(20)[codes]
    one = stump(codes, y, categorical_features=[0])
    other = stump(renamed, y, categorical_features=[0])
    assert_allclose(gini_after(one, codes, y), gini_after(other, renamed, y), rtol=1e-9)


@settings(max_examples=100)
@given(rows=labelled_categories, seed=seeds)
def test_names_in_the_same_order_do_not_matter(rows, seed):
    codes, y = np.array(rows).T
    names = np.sort(np.random.default_rng(seed).permutation(20)[:7])
    one = stump(codes, y, categorical_features=[0])
    other = stump(names[codes], y, categorical_features=[0])
    X, renamed = codes[:, None].astype(float), names[codes][:, None].astype(float)
    assert_array_equal(one.predict_proba(X), other.predict_proba(renamed))


@settings(max_examples=100)
@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=5, max_size=60))
def test_two_categories_are_a_column_of_zeros_and_ones(rows):
    codes, y = np.array(rows).T
    X = codes[:, None].astype(float)
    categories, numbers = stump(codes, y, categorical_features=[0]), stump(codes, y)
    assert_array_equal(categories.predict_proba(X), numbers.predict_proba(X))
    missing = [[np.nan]]
    assert_array_equal(categories.predict_proba(missing), numbers.predict_proba(missing))


def a_problem(n_rows=200, n_categories=100, n_known=3):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_known + 1, n_rows)
    codes = rng.integers(0, n_categories, n_rows) // (n_known + 1) * (n_known + 1) + y
    table = np.column_stack([np.unique(codes, return_inverse=True)[1], rng.normal(size=n_rows)])
    table[::9, 0] = np.nan
    table = table.astype(float)
    known = (y < n_known) & (np.arange(n_rows) < n_rows // 2)
    return Problem(table[known], y[known], table[~known], 0.3, 0.01, 1, categorical=(0,))


@pytest.mark.parametrize("cls", [LACForestClassifier, LACExtraTreesClassifier])
def test_threads_do_not_matter(cls):
    problem = a_problem()

    def fit(n_jobs):
        forest = cls(20, theta=0.3, categorical_features=[0], n_jobs=n_jobs, random_state=3)
        return forest.fit(problem.X, problem.y, X_unlabeled=problem.X_unlabeled)

    assert_same_forest(fit(1), fit(3))


@pytest.mark.parametrize("max_bins", [None, 16])
def test_bins_leave_categories_alone(max_bins):
    problem = a_problem()
    forest = problem.fit(3, max_bins=max_bins)
    assert len(forest.categories_[0]) > 16
    sizes = [len(view.category_set(0)) for view in forest.estimators_ if view.feature[0] == 0]
    assert max(sizes) > 8


def test_an_estimate_of_theta_uses_categories():
    problem = a_problem(600)

    def estimate(categorical):
        forest = LACForestClassifier(5, categorical_features=categorical, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ThetaWarning)
            forest.fit(problem.X, problem.y, X_unlabeled=problem.X_unlabeled)
        return forest.theta_

    new = 1 - (problem.n_unlabeled - 600 // 4) / problem.n_unlabeled
    assert abs(estimate([0]) - new) < 0.12 < abs(estimate(None) - new)


# ------------------------------------------------------------------ fast paths


@pytest.mark.parametrize("cls", [LACForestClassifier, LACExtraTreesClassifier])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_go_where_single_rows_go(cls, dtype):
    """Large slices of rows are divided by eights, but not by a set of categories."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 9, 400), rng.normal(size=400)]).astype(dtype)
    y = np.isin(X[:, 0], [0, 3, 4, 7]) + 0
    forest = cls(10, categorical_features=[0], random_state=0).fit(X, y)
    queries = X.copy()
    queries[::11, 0] = np.nan
    singly = np.vstack([forest.predict_proba(row[np.newaxis]) for row in queries])
    assert_array_equal(forest.predict_proba(queries), singly)
    assert_array_equal(forest.predict_proba(np.asfortranarray(queries)), singly)


@pytest.mark.parametrize("n_features", [3, 24])
def test_shap_values_of_two_categories_are_those_of_zeros_and_ones(n_features):
    """A set of one of two categories is a cut. Long paths have more features than a key has."""
    rng = np.random.default_rng(4)
    X = (rng.random((1500, n_features)) < 0.12).astype(np.float64)
    y = X.argmax(axis=1) % 2
    forest = LACForestClassifier(3, max_features=None, random_state=0).fit(X, y)
    chosen = np.arange(1, n_features)
    by_sets = clone(forest).set_params(categorical_features=chosen).fit(X, y)
    queries = X[:50]
    expected, base = shap_values(forest, queries, output="all")
    values, own_base = shap_values(by_sets, queries, output="all")
    assert_allclose(values, expected, atol=1e-12)
    assert_allclose(own_base, base)
    # No feature is split twice on a path.
    assert (max(view.depth.max() for view in forest.estimators_) > 16) == (n_features > 16)
