"""The Python classes of the criteria: values computed by hand, and error messages."""

import doctest
import pickle
from fractions import Fraction

import numpy as np
import pytest
from reference import criterion as twin

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.criterion import augmented_proportions

NODES = [
    # counts, unlabelled rows
    ([30, 10], 100),
    ([0, 0], 7),  # only unlabelled rows: certainly new
    ([3, 4], 0),  # no unlabelled row: the indicator is 0
    ([0, 0], 0),
    ([90, 10], 50),  # more rows expected than present: clipped
    ([50, 50], 100),  # as many expected as present: v = 0 without the clip
    ([1, 0], 1),
]


@pytest.fixture
def criterion():
    return AugmentedGiniCriterion(theta=0.5, n_labeled=500, n_unlabeled=1000)


TOTALS = twin.Totals(Fraction(1, 2), 500, 1000)


@pytest.mark.parametrize(("counts", "n_unlabeled"), NODES)
def test_augmented_gini_agrees_with_definition_1(criterion, counts, n_unlabeled):
    new = twin.vartheta_new(counts, n_unlabeled, TOTALS)
    known = twin.vartheta_known(counts, n_unlabeled, TOTALS)
    shares = criterion.proportions(counts, n_unlabeled)
    assert shares == pytest.approx([float(share) for share in (*known, new)], abs=1e-15)
    impurity = twin.augmented_gini(counts, n_unlabeled, TOTALS)
    assert criterion.impurity(counts, n_unlabeled) == pytest.approx(float(impurity), abs=1e-15)


def test_values_worked_out_by_hand(criterion):
    # r = 0.5 * 1000 / 500 = 1; v = 1 - 40 / 100; G = 1 - .36 - .16 * (900 + 100) / 1600
    assert criterion.ratio == 1.0
    assert criterion.proportions([30, 10], 100).tolist() == pytest.approx([0.3, 0.1, 0.6])
    assert criterion.impurity([30, 10], 100) == pytest.approx(0.54)
    assert criterion.impurity([0, 0], 7) == 0.0
    # The cut separates known from new rows, so both sides are pure.
    assert criterion.reduction([40, 0], 40, [0, 0], 60) == pytest.approx(
        criterion.impurity([40, 0], 100)
    )
    assert GiniCriterion().impurity([5, 5]) == 0.5
    assert GiniCriterion().impurity([0, 0]) == 0.0
    assert GiniCriterion().reduction([5, 0], [0, 5]) == 0.5


def test_proportions_of_many_nodes(criterion):
    counts = np.array([[sum(known), n_unlabeled] for known, n_unlabeled in NODES], dtype=float)
    expected = [float(twin.vartheta_new(*node, TOTALS)) for node in NODES]
    assert augmented_proportions(counts, criterion.ratio) == pytest.approx(expected, abs=1e-15)


def test_theta_at_its_ends():
    assert AugmentedGiniCriterion(1.0, 10, 10).proportions([5], 5).tolist() == [0.0, 1.0]
    assert AugmentedGiniCriterion(0.0, 10, 10).proportions([5], 5).tolist() == [1.0, 0.0]


def test_facts_and_pickle(criterion):
    copy = pickle.loads(pickle.dumps(criterion))
    for one in (criterion, copy):
        assert (one.theta, one.n_labeled, one.n_unlabeled, one.ratio) == (0.5, 500, 1000, 1)
    assert pickle.loads(pickle.dumps(GiniCriterion())).impurity([1, 1]) == 0.5


@pytest.mark.parametrize("theta", [-0.1, 1.1, np.nan])
def test_theta_out_of_range(theta):
    with pytest.raises(ValueError, match=r"theta must lie in \[0, 1\], got"):
        AugmentedGiniCriterion(theta, 10, 10)


@pytest.mark.parametrize(("n_labeled", "n_unlabeled"), [(0, 5), (5, 0), (-1, 5), (np.nan, 5)])
def test_totals_must_be_positive(n_labeled, n_unlabeled):
    with pytest.raises(ValueError, match="totals of the training set and must be positive"):
        AugmentedGiniCriterion(0.5, n_labeled, n_unlabeled)


@pytest.mark.parametrize("counts", [[-1, 2], [np.nan, 1], [np.inf, 1]])
def test_counts_must_be_finite_and_not_negative(criterion, counts):
    message = "must be finite and not negative"
    for call in (
        lambda: criterion.proportions(counts, 1),
        lambda: criterion.impurity(counts, 1),
        lambda: GiniCriterion().impurity(counts),
    ):
        with pytest.raises(ValueError, match=f"^counts {message}"):
            call()
    with pytest.raises(ValueError, match=f"^left_counts {message}"):
        criterion.reduction(counts, 1, [1, 1], 1)
    with pytest.raises(ValueError, match=f"^right_counts {message}"):
        GiniCriterion().reduction([1, 1], counts)


@pytest.mark.parametrize("n_unlabeled", [-1, np.nan])
def test_unlabelled_rows_must_be_a_count(criterion, n_unlabeled):
    with pytest.raises(ValueError, match="unlabeled"):
        criterion.impurity([1, 1], n_unlabeled)


def test_counts_must_be_a_vector(criterion):
    with pytest.raises(ValueError, match=r"must have one count per class, got .* \(1, 2\)"):
        criterion.impurity([[1, 2]], 1)


def test_sides_must_name_the_same_classes(criterion):
    with pytest.raises(ValueError, match="must name the same classes"):
        criterion.reduction([1, 2], 1, [1], 1)
    with pytest.raises(ValueError, match="must name the same classes"):
        GiniCriterion().reduction([1, 2], [1])


def test_reductions_that_are_undefined(criterion):
    with pytest.raises(ValueError, match="undefined for a node without unlabelled rows"):
        criterion.reduction([1], 0, [1], 0)
    with pytest.raises(ValueError, match="both children of a cut must hold rows"):
        GiniCriterion().reduction([1, 1], [0, 0])


@pytest.mark.parametrize("face", [AugmentedGiniCriterion, GiniCriterion])
def test_examples_in_docstrings(face):
    examples = doctest.DocTestParser().get_doctest(face.__doc__, {}, face.__name__, None, 0)
    result = doctest.DocTestRunner().run(examples)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("size", [1e-300, 1e-200, 2.2250738585072014e-308, 1e200, 5e307])
def test_impurity_of_counts_whose_squares_leave_the_range_of_doubles(size):
    augmented = AugmentedGiniCriterion(theta=0.5, n_labeled=500, n_unlabeled=1000)
    assert GiniCriterion().impurity([size, size]) == 0.5
    assert augmented.impurity([size, size], 2 * size) == augmented.impurity([1, 1], 2)
    assert augmented.impurity([size, size], 0) == augmented.impurity([1, 1], 0)
    assert np.isfinite(augmented.impurity([size, 0], 100))
