"""Limits of leaves count rows, not the factors by which classes weigh more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.criterion import Totals
from reference.split import AugmentedRule, GiniRule

from lacforest import AugmentedGiniCriterion, GiniCriterion
from lacforest._tree.coded_columns import CodedColumns, ColumnValues
from lacforest._tree.grower import grow_trees
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.workspace import CODED_NODE, ScratchPool, StopSignal

N_KNOWN = 2
# At least 1: the twin divides by the larger of 1 and a count.
FACTORS = st.sampled_from([1.0, 1.5, 2.0, 4.0, 16.0])
THETA = 0.25


class Stumps:
    """One column of a small table, its classes, and factors of known classes."""

    def __init__(self, data, criterion):
        n_labeled, n_last = data.draw(st.integers(2, 20)), data.draw(st.integers(1, 20))
        n_rows, self.n_codes = n_labeled + n_last, data.draw(st.sampled_from([3, 12, 300]))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        self.codes = rng.integers(0, self.n_codes, n_rows)
        self.classes = np.append(rng.integers(0, N_KNOWN, n_labeled), np.full(n_last, N_KNOWN))
        self.factor = np.array([data.draw(FACTORS) for _ in range(N_KNOWN)])
        self.min_leaf = data.draw(st.integers(1, 6))
        self.n_labeled = n_labeled
        self.weight = np.append(self.factor, 1.0)[self.classes]
        if criterion == "gini":
            self.rule, self.twin = GiniCriterion(), GiniRule()
        else:
            n_known = self.weight[:n_labeled].sum()
            self.rule = AugmentedGiniCriterion(THETA, n_known, n_last)
            self.twin = AugmentedRule(Totals(THETA, n_known, n_last), gamma=0.0)

    def grow(self, n_trees, is_random):
        """Cuts of roots: codes up to this one are on the left. None is a root without a cut."""
        table = GrowthTable(
            CodedColumns([self.codes.astype(np.uint16)], [self.n_codes], [0]),
            self.classes.astype(np.uint16),
            np.ones(len(self.codes), np.uint8),
            self.n_labeled,
            N_KNOWN + 1,
            self.weight,
            self.factor,
        )
        limits = TreeLimits(max_features=1, max_depth=1, min_leaf=self.min_leaf)
        rules = GrowthRules(self.rule, limits)
        if is_random:
            values = ColumnValues([np.arange(float(self.n_codes))])
            rules = GrowthRules.with_random_cuts(self.rule, limits, values)
        seeds = np.arange(n_trees, dtype=np.uint64)
        trees = grow_trees(table, rules, seeds, None, None, StopSignal(), ScratchPool())
        roots = [tree.nodes[:1] if len(tree.nodes) > 1 else None for tree in trees]
        if is_random:
            return [None if root is None else root["threshold"][0] for root in roots]
        return [None if root is None else root.view(CODED_NODE)["last"][0] for root in roots]

    def counts(self, members, weight):
        """Rows of each class."""
        return np.bincount(self.classes[members], weight[members], N_KNOWN + 1).tolist()

    def is_allowed(self, last):
        """Whether both children have enough rows, each of which counts as one."""
        n_left = np.count_nonzero(self.codes <= last)
        return min(n_left, len(self.codes) - n_left) >= self.min_leaf

    def reduction(self, last):
        """Decrease of impurity, in which rows weigh what they weigh."""
        left = self.codes <= last
        return self.twin.reduction(self.counts(left, self.weight), self.counts(~left, self.weight))


@pytest.mark.parametrize("criterion", ["gini", "augmented"])
@given(data=st.data())
def test_the_best_cut_among_those_with_enough_rows(criterion, data):
    stumps = Stumps(data, criterion)
    (last,) = stumps.grow(1, is_random=False)
    cuts = np.unique(stumps.codes)[:-1]
    best = max((stumps.reduction(cut) for cut in cuts if stumps.is_allowed(cut)), default=0.0)
    if last is None:
        assert best == pytest.approx(0.0, abs=1e-9)
    else:
        assert stumps.is_allowed(last)
        assert stumps.reduction(last) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "augmented"])
@given(data=st.data())
def test_random_cuts_leave_enough_rows(criterion, data):
    stumps = Stumps(data, criterion)
    for last in stumps.grow(10, is_random=True):
        assert last is None or stumps.is_allowed(last)
