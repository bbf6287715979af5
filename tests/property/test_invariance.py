"""Changes of the data that do not change the forest or its predictions."""

import numpy as np
from forests import assert_same_forest, border_is_tied, n_explored
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import Problem, increasing_maps, permutations, problems, seeds

# A fit of three trees takes 3 ms and drawing a problem about as long.
several = settings(max_examples=100)


@several
@given(problem=problems(), seed=seeds, exponent=st.integers(-30, 30))
def test_scaling_by_a_power_of_two_changes_no_prediction(problem, seed, exponent):
    # Powers of two scale midpoints without rounding, so this holds for every row.
    scaled = problem.with_table(problem.everyone * 2.0**exponent)
    forest, other = problem.fit(random_state=seed), scaled.fit(random_state=seed)
    assert_array_equal(forest.unlabeled_score_, other.unlabeled_score_)
    assert_array_equal(forest.predict_proba(problem.everyone), other.predict_proba(scaled.everyone))
    for tree, scaled_tree in zip(forest.estimators_, other.estimators_, strict=True):
        inner = tree.children_left >= 0
        assert_array_equal(tree.threshold[inner] * 2.0**exponent, scaled_tree.threshold[inner])


@several
@given(problem=problems(), seed=seeds, data=st.data())
def test_an_increasing_map_changes_no_row_that_took_part(problem, seed, data):
    """Trees depend only on the order of values; thresholds depend on the values.

    A threshold lies midway between two values of its node, and an increasing map moves that middle
    relative to values of rows that are not in the node. In Step II those are the unlabelled rows
    without a pseudo-label. All other rows take the same path.
    """
    table = problem.everyone
    mapped_table = np.column_stack(
        [data.draw(increasing_maps(column), label="mapped column") for column in table.T]
    )
    mapped = problem.with_table(mapped_table)
    forest, other = problem.fit(random_state=seed), mapped.fit(random_state=seed)
    assert_array_equal(forest.unlabeled_score_, other.unlabeled_score_)
    assert_array_equal(forest.pseudo_labels_, other.pseudo_labels_)
    part = np.concatenate([np.ones(len(problem.X), dtype=bool), forest.pseudo_labels_])
    assert_array_equal(forest.apply(table[part]), other.apply(mapped_table[part]))
    assert_array_equal(forest.predict_proba(table[part]), other.predict_proba(mapped_table[part]))


@several
@given(problem=problems(with_weight=True), seed=seeds, data=st.data())
def test_the_order_of_labelled_rows_does_not_matter(problem, seed, data):
    order = data.draw(permutations(len(problem.X)), label="order")
    shuffled = problem.but(X=problem.X[order], y=problem.y[order], weight=problem.weight[order])
    assert_same_forest(problem.fit(random_state=seed), shuffled.fit(random_state=seed))


@several
@given(problem=problems(), seed=seeds, data=st.data())
def test_the_order_of_unlabelled_rows_permutes_their_scores(problem, seed, data):
    order = data.draw(permutations(problem.n_unlabeled), label="order")
    shuffled = problem.but(X_unlabeled=problem.X_unlabeled[order])
    forest, other = problem.fit(random_state=seed), shuffled.fit(random_state=seed)
    assert_array_equal(forest.unlabeled_score_[order], other.unlabeled_score_)
    # Among equal scores, the earlier row gets the pseudo-label, and the order has changed.
    if not border_is_tied(forest):
        assert_array_equal(forest.pseudo_labels_[order], other.pseudo_labels_)
        assert_array_equal(
            forest.predict_proba(problem.everyone), other.predict_proba(problem.everyone)
        )


@several
@given(problem=problems(with_weight=True), seed=seeds)
def test_an_integer_weight_is_a_repeated_row(problem, seed):
    repeated = problem.but(
        X=np.repeat(problem.X, problem.weight, axis=0),
        y=np.repeat(problem.y, problem.weight),
        weight=None,
    )
    assert_same_forest(problem.fit(random_state=seed), repeated.fit(random_state=seed))


def assert_same_exploration(forest, other):
    """Step I has the same cuts. Step II may differ, as labelled rows gain weight over new ones."""
    for tree, other_tree in zip(forest.estimators_, other.estimators_, strict=True):
        assert n_explored(tree) == n_explored(other_tree)
        left = tree.children_left
        inner = np.flatnonzero((left >= 0) & (left < n_explored(tree)))
        assert_array_equal(tree.feature[inner], other_tree.feature[inner])
        assert_array_equal(tree.threshold[inner], other_tree.threshold[inner])


@several
@given(problem=problems(with_weight=True), seed=seeds, exponent=st.integers(1, 8))
def test_the_unit_of_weights_does_not_matter_to_step_one(problem, seed, exponent):
    # Definition 1 uses labelled rows as shares of n_l. (This does not hold for weights below 1,
    # where min_samples_leaf=1 has an effect.)
    forest = problem.fit(random_state=seed)
    other = problem.but(weight=problem.weight * 2.0**exponent).fit(random_state=seed)
    assert_array_equal(forest.unlabeled_score_, other.unlabeled_score_)
    assert_same_exploration(forest, other)


# Sums of tenths depend on the order of addition: a side without labelled rows may come out at
# -4e-16 of them, which is not less than gamma * n_l = 0.
_TENTHS = Problem(
    X=np.array([[0.0], [1.0], [2.0]]),
    y=np.array([0, 1, 0]),
    X_unlabeled=np.array([[0.5], [9.0]]),
    theta=0.3,
    gamma=0.0,
    max_features=1,
    weight=np.array([25, 23, 22]),
)


@several
@given(problem=problems(with_weight=True), seed=seeds, factor=st.sampled_from([1.1, 3.3, 10 / 3]))
@example(problem=_TENTHS, seed=0, factor=0.1)
def test_weights_need_not_be_whole_numbers(problem, seed, factor):
    forest = problem.fit(random_state=seed)
    other = problem.but(weight=problem.weight * factor).fit(random_state=seed)
    assert_allclose(forest.unlabeled_score_, other.unlabeled_score_, rtol=0, atol=1e-12)
    assert_same_exploration(forest, other)


def test_weights_meet_a_bound_where_repeated_rows_do():
    # gamma * n_l is 2.0000000002, so two rows are too few, in integer or in weighted counts.
    table = np.array([[0.0], [1.0]])
    unlabeled = np.repeat(table, 4, axis=0)
    weighted = Problem(
        table, np.array([0, 1]), unlabeled, 0.5, 0.25 * (1 + 1e-10), 1, np.array([2, 6])
    )
    repeated = weighted.but(
        X=np.repeat(table, [2, 6], axis=0), y=np.repeat([0, 1], [2, 6]), weight=None
    )
    assert_same_forest(weighted.fit(), repeated.fit())


@several
@given(problem=problems(with_weight=True), seed=seeds, data=st.data())
def test_weight_zero_is_an_absent_row(problem, seed, data):
    n_rows = len(problem.X)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    # A row of weight zero still defines its class, so every class keeps another row here.
    assume(len(np.unique(problem.y[kept])) == problem.n_known)
    zeroed = problem.but(weight=np.where(kept, problem.weight, 0))
    absent = problem.but(X=problem.X[kept], y=problem.y[kept], weight=problem.weight[kept])
    assert_same_forest(zeroed.fit(random_state=seed), absent.fit(random_state=seed))


@several
@given(problem=problems(), seed=seeds)
def test_unit_weights_are_no_weights(problem, seed):
    weighted = problem.but(weight=np.ones(len(problem.X)))
    assert_same_forest(problem.fit(random_state=seed), weighted.fit(random_state=seed))


@several
@given(problem=problems(with_missing=False), seed=seeds, single=st.booleans())
def test_memory_order_and_a_wider_type_do_not_matter(problem, seed, single):
    dtype = np.float32 if single else np.float64
    table = problem.everyone.astype(dtype)
    rows = problem.with_table(table)
    columns = problem.with_table(np.asfortranarray(table.astype(np.float64)))
    assert_same_forest(rows.fit(random_state=seed), columns.fit(random_state=seed))
