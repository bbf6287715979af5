"""Selection digit by digit against sorting, and sums that do not depend on order or groups."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from partitions import cut

from lacforest._growing.plan import n_pseudo_labels, pseudo_labels
from lacforest._input.training_data import WeightGroups, exact_sum
from lacforest.dask.engine import InProcessEngine
from lacforest.dask.selection import mark_highest

some_scores = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.0, np.nextafter(0.5, 1), 5e-324]), st.floats(0.0, 1.0)
)


@given(
    scores=st.lists(some_scores, min_size=1, max_size=40),
    theta=st.floats(0.0, 1.0),
    data=st.data(),
)
def test_selection_equals_a_stable_sort(scores, theta, data):
    scores = np.array(scores)
    cuts = data.draw(st.lists(st.integers(0, len(scores)), max_size=5))
    n_marked = n_pseudo_labels(len(scores), theta)
    marks = mark_highest(InProcessEngine(), cut(scores, cuts), n_marked)
    assert_array_equal(np.concatenate(marks), pseudo_labels(scores, theta))


weights = st.one_of(st.floats(1e-6, 1e6), st.integers(1, 2**40).map(float))


@given(groups=st.lists(st.tuples(weights, st.integers(1, 2**40)), max_size=10))
def test_sums_are_rounded_once(groups):
    values = np.array([weight for weight, _ in groups])
    counts = np.array([count for _, count in groups], dtype=np.int64)
    exact = sum((Fraction(weight) * count for weight, count in groups), Fraction(0))
    assert exact_sum(values, counts) == float(exact)


@given(rows=st.lists(st.tuples(st.integers(0, 2), weights), min_size=1, max_size=20))
def test_totals_do_not_depend_on_groups(rows):
    classes = np.array([code for code, _ in rows])
    weight = np.array([own for _, own in rows])
    factor = np.array([0.3, 1.0, 1.7])
    one_by_one = WeightGroups.of(classes.astype(np.uint16), weight, 3)
    pairs, counts = np.unique(np.column_stack([classes, weight]), axis=0, return_counts=True)
    grouped = WeightGroups(pairs[:, 0].astype(int), pairs[:, 1], counts)
    found, expected = (groups.totals(5, 3, 2, factor) for groups in (grouped, one_by_one))
    assert_array_equal(found.class_totals, expected.class_totals)
    assert (found.labeled_total, found.labeled_size) == (
        expected.labeled_total,
        expected.labeled_size,
    )
    assert found.n_labeled == expected.n_labeled == len(rows)
