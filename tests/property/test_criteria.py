"""Definition 1 and Gini impurity in the compiled core."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from reference import criterion as twin
from strategies import Children, children

from lacforest import AugmentedGiniCriterion, GiniCriterion

# With counts below 2**14, the sums are exact to a few units in the last place.
CLOSE = {"rel": 1e-12, "abs": 1e-12}


def compiled(cut):
    return AugmentedGiniCriterion(float(cut.theta), cut.n_labeled, cut.n_unlabeled)


def totals(cut):
    return twin.Totals(cut.theta, cut.n_labeled, cut.n_unlabeled)


@given(cut=children())
def test_proportions_are_definition_1(cut):
    found = compiled(cut).proportions(cut.node, cut.node_unlabeled)
    expected = [
        *twin.vartheta_known(cut.node, cut.node_unlabeled, totals(cut)),
        twin.vartheta_new(cut.node, cut.node_unlabeled, totals(cut)),
    ]
    assert found == pytest.approx([float(share) for share in expected], **CLOSE)


@given(cut=children())
def test_proportions_sum_to_one_where_rows_are(cut):
    assume(sum(cut.node) > 0)
    shares = compiled(cut).proportions(cut.node, cut.node_unlabeled)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1.0, **CLOSE)


@given(cut=children())
def test_impurity_is_definition_1(cut):
    found = compiled(cut).impurity(cut.node, cut.node_unlabeled)
    expected = twin.augmented_gini(cut.node, cut.node_unlabeled, totals(cut))
    assert found == pytest.approx(float(expected), **CLOSE)


@given(cut=children())
def test_impurity_lies_in_the_unit_interval(cut):
    for counts, n_unlabeled in [
        (cut.left, cut.left_unlabeled),
        (cut.right, cut.right_unlabeled),
        (cut.node, cut.node_unlabeled),
    ]:
        assert -1e-12 <= compiled(cut).impurity(counts, n_unlabeled) <= 1.0
        assert 0.0 <= GiniCriterion().impurity(counts) <= 1.0


@given(cut=children())
def test_impurity_without_augmented_rows_is_gini(cut):
    # v = 0 where labelled rows explain all unlabelled ones, and where there are no unlabelled rows.
    criterion = compiled(cut)
    assume(sum(cut.node) > 0)
    plain = pytest.approx(float(twin.gini(cut.node)), **CLOSE)
    assert GiniCriterion().impurity(cut.node) == plain
    assert criterion.impurity(cut.node, 0) == plain
    if criterion.proportions(cut.node, cut.node_unlabeled)[-1] == 0:
        assert criterion.impurity(cut.node, cut.node_unlabeled) == plain


@given(cut=children(), n_unlabeled=st.integers(1, 1000))
def test_a_pure_augmented_node_has_no_impurity(cut, n_unlabeled):
    nobody = [0] * len(cut.node)
    assert compiled(cut).proportions(nobody, n_unlabeled).tolist() == [*map(float, nobody), 1.0]
    assert compiled(cut).impurity(nobody, n_unlabeled) == 0.0


@given(cut=children(), k=st.integers(0, 5), count=st.integers(1, 1000))
def test_a_node_of_one_known_class_is_pure_where_nothing_is_new(cut, k, count):
    alone = [0] * len(cut.node)
    alone[k % len(alone)] = count
    assert GiniCriterion().impurity(alone) == 0.0
    # theta = 0 and a node that is the whole set: every unlabelled row is explained.
    nothing_new = AugmentedGiniCriterion(0.0, count, cut.n_unlabeled)
    assert nothing_new.impurity(alone, cut.n_unlabeled) == pytest.approx(0.0, abs=1e-12)


@given(cut=children())
def test_estimated_new_rows_of_siblings_add_up(cut):
    # n_u v estimates the number of new rows. Without the clip, the children sum to the node; with
    # the clip, their sum can only be larger.
    criterion = compiled(cut)

    def n_new(counts, n_unlabeled):
        return n_unlabeled * criterion.proportions(counts, n_unlabeled)[-1]

    left, right = n_new(cut.left, cut.left_unlabeled), n_new(cut.right, cut.right_unlabeled)
    node = n_new(cut.node, cut.node_unlabeled)
    assert left + right >= node - 1e-9
    unclipped = all(
        criterion.ratio * sum(counts) <= n_unlabeled
        for counts, n_unlabeled in [
            (cut.left, cut.left_unlabeled),
            (cut.right, cut.right_unlabeled),
        ]
    )
    if unclipped:
        assert left + right == pytest.approx(node, rel=1e-12, abs=1e-9)


@given(cut=children())
# First, one side has unlabelled rows only; second, both sides are exactly at the clip.
@example(cut=Children([0], 3, [5], 5, 0, 5, 8))
@example(cut=Children([2], 2, [3], 3, 0, 5, 5))
def test_constant_time_loss_is_the_reduction_of_definition_1(cut):
    sides = cut.left, cut.left_unlabeled, cut.right, cut.right_unlabeled
    expected = twin.augmented_reduction(*sides, totals(cut))
    assert compiled(cut).reduction(*sides) == pytest.approx(float(expected), **CLOSE)


@given(cut=children())
def test_gini_reduction_is_exact_and_never_negative(cut):
    assume(sum(cut.left) > 0 and sum(cut.right) > 0)
    found = GiniCriterion().reduction(cut.left, cut.right)
    assert found == pytest.approx(float(twin.gini_reduction(cut.left, cut.right)), **CLOSE)
    assert found >= -1e-12


@given(cut=children())
def test_reduction_does_not_depend_on_the_names_of_sides_and_classes(cut):
    criterion = compiled(cut)
    found = criterion.reduction(cut.left, cut.left_unlabeled, cut.right, cut.right_unlabeled)
    swapped = criterion.reduction(
        cut.right[::-1], cut.right_unlabeled, cut.left[::-1], cut.left_unlabeled
    )
    assert found == pytest.approx(swapped, **CLOSE)


@given(cut=children())
def test_augmented_reduction_of_a_copy_is_zero(cut):
    # Children with the same proportions as their node do not reduce the impurity.
    assume(cut.right_unlabeled > 0)
    doubled = AugmentedGiniCriterion(float(cut.theta), 2 * cut.n_labeled, 2 * cut.n_unlabeled)
    same = cut.right, cut.right_unlabeled
    assert doubled.reduction(*same, *same) == pytest.approx(0.0, abs=1e-12)
